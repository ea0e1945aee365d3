"""Makes a schedule that breaks a promise as small as can be, so that it breaks the same kind of promise.

A schedule is a list of actions, and any part of it is a schedule too. So shrinking is leaving out: first
all actions of one broker, one publisher, one subscription; then two brokers become one; then runs of actions
go, longer ones first; single deliveries become `drain`, and kinds become one kind.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

from broker.routing import DEFAULT, Routing
from harness.simulator.outcome import of_actions
from harness.simulator.world import Action
from ordering.interface import OrderingFactory

ROUNDS_MAX: Final = 8
"""Each round costs some thousand runs of a small schedule; later rounds gain next to nothing."""

Schedule = tuple[Action, ...]
Fails = Callable[[Schedule], bool]


def shrink(actions: Schedule, kind: str, ordering: OrderingFactory, routing: Routing = DEFAULT) -> Schedule:
    """Return a smaller schedule with a fault of the same kind."""

    def fails(candidate: Schedule) -> bool:
        return of_actions(candidate, ordering, routing=routing).has(kind)

    if not fails(actions):
        return actions
    for _ in range(ROUNDS_MAX):
        before = actions
        for candidates in (_without_names, _merged, _calmer, _drained, _simpler):
            actions = _improved(actions, candidates, fails)
        actions = _shorter(actions, fails)
        if actions == before:
            break
    return of_actions(actions, ordering, routing=routing).actions


def _improved(
    actions: Schedule, candidates: Callable[[Schedule], Iterator[Schedule]], fails: Fails
) -> Schedule:
    for candidate in candidates(actions):
        if _cost(candidate) < _cost(actions) and fails(candidate):
            return _improved(candidate, candidates, fails)
    return actions


def _cost(actions: Schedule) -> tuple[int, int]:
    return len(actions), sum(len(str(word)) for action in actions for word in action)


def _without_names(actions: Schedule) -> Iterator[Schedule]:
    """Yield the schedule without one broker, publisher or subscription."""
    named = {"start", "advertise", "subscribe"}
    for name in dict.fromkeys(str(action[1]) for action in actions if action[0] in named):
        yield tuple(action for action in actions if not _mentions(action, name))


def _mentions(action: Action, name: str) -> bool:
    for word in action[1:]:
        parts = str(word).replace("<", ">").partition(".")[0].split(">")
        if name in parts:
            return action[0] != "crash" or action[1] == name
    return False


def _merged(actions: Schedule) -> Iterator[Schedule]:
    """Yield the schedule with one broker merged into another, with its clients and neighbours."""
    names = list(dict.fromkeys(str(action[1]) for action in actions if action[0] == "start"))
    for gone in names:
        for other in names:
            if gone != other:
                kept = (action for action in actions if action[0] != "start" or action[1] != gone)
                yield tuple(_renamed(action, gone, other) for action in kept)


def _renamed(action: Action, gone: str, other: str) -> Action:
    pattern = rf"\b{re.escape(gone)}\b"
    return tuple(re.sub(pattern, other, word) if isinstance(word, str) else word for word in action)


def _calmer(actions: Schedule) -> Iterator[Schedule]:
    """Yield the schedule with one publication that has read nothing, or one subscription that is ordered."""
    for place, action in enumerate(actions):
        if action[0] == "publish" and len(action) > 3:  # noqa: PLR2004 - there is more than name and kind
            yield (*actions[:place], action[:3], *actions[place + 1 :])
        if action[0] == "subscribe" and action[-1] == "unordered":
            yield (*actions[:place], action[:-1], *actions[place + 1 :])


def _drained(actions: Schedule) -> Iterator[Schedule]:
    """Yield the schedule with a run of deliveries replaced by `drain`."""
    start = 0
    while start < len(actions):
        end = start
        while end < len(actions) and actions[end][0] in ("deliver", "drain"):
            end += 1
        if end - start > 1:
            yield (*actions[:start], ("drain",), *actions[end:])
        start = end + 1


def _simpler(actions: Schedule) -> Iterator[Schedule]:
    """Yield the schedule with one kind of event for all."""
    place = {"advertise": 3, "subscribe": 3, "publish": 2}
    yield tuple(
        (*action[: place[action[0]]], "a", *action[place[action[0]] + 1 :]) if action[0] in place else action
        for action in actions
    )


def _shorter(actions: Schedule, fails: Fails) -> Schedule:
    """Leave out runs of actions, from half of them down to single ones."""
    size = max(1, len(actions) // 2)
    while True:
        start = 0
        while start < len(actions):
            candidate = actions[:start] + actions[start + size :]
            if fails(candidate):
                actions = candidate
            else:
                start += size
        if size == 1:
            return actions
        size //= 2
