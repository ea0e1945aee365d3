"""Any field of an ordering plugin changes by itself, drawn by chance: numbers, truth values, containers.

Generic over attrs, so that new fields are among them. Types stay as they are: a change of type is found by
the first use, and ends the broker. Pending messages about routes stay as they are, too: they are known to
this broker alone, and nobody can ask for them.
"""

from collections import deque
from collections.abc import Iterator
from random import Random

import attrs

from broker.core import BrokerCore
from ordering.interface import Context, Measures, Note

LEFT_ALONE = (Context, Measures, Note)
"""Options, counters that nothing is decided by, and messages."""


def damage(core: BrokerCore, random: Random) -> str:
    """Change one field of the plugin's state; return which, "" if it has none."""
    plugin = getattr(core.ordering, "watched", core.ordering)
    places = [
        (owner, field) for owner in _objects(plugin) for field in _fields(owner) if _is_state(owner, field)
    ]
    if not places:
        return ""
    owner, field = random.choice(places)
    before = getattr(owner, field)
    after = _other(before, core, random)
    setattr(owner, field, after)
    change = f", {after} and not {before}" if isinstance(before, int) else ""
    return f"{core.name} has {field} of a {type(owner).__name__} wrong{change}"


def _objects(plugin: object) -> Iterator[object]:
    """Yield the plugin, and the objects of attrs classes in its containers, each once."""
    seen, found = {id(plugin)}, [plugin]
    while found:
        owner = found.pop(0)
        yield owner
        for field in _fields(owner):
            value = getattr(owner, field)
            for each in _members(value):
                if (
                    attrs.has(type(each))
                    and _is_event(each)
                    and not isinstance(each, LEFT_ALONE)
                    and id(each) not in seen
                ):
                    seen.add(id(each))
                    found.append(each)


def _members(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, list | deque | set | tuple) else []


def _is_event(each: object) -> bool:
    """Return whether a pending item is one of events, and no message about routes."""
    item = getattr(each, "item", ())
    return isinstance(item, tuple) or hasattr(item, "sequence")


def _fields(owner: object) -> list[str]:
    kind = type(owner)
    if not attrs.has(kind) or not kind.__module__.startswith("ordering."):
        return []
    return [each.name for each in attrs.fields(kind)]


def _is_state(owner: object, field: str) -> bool:
    return isinstance(getattr(owner, field), bool | int | list | deque | dict | set)


def _other(value: object, core: BrokerCore, random: Random) -> object:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        opened = core._hops.opened  # noqa: SLF001 - it changes what nobody may change
        return random.choice((0, value + 1, max(0, value - 1), opened & random.getrandbits(8)))
    changed = value.copy()  # type: ignore[attr-defined]  # a container
    if not changed:
        return changed
    if isinstance(changed, dict):
        del changed[random.choice(list(changed))]
        return changed
    items = list(changed)
    events = [number for number, each in enumerate(items) if _is_event(each)]
    if not events:
        return changed
    number = random.choice(events)
    match random.randrange(3):
        case 0:
            del items[number]
        case 1:
            items.append(items[number])
        case _ if len(events) == len(items):
            random.shuffle(items)
    return type(value)(items)  # type: ignore[call-arg]  # as above
