"""The state of a core as a value: equal values mean states that behave alike.

The walk follows attributes and containers from the core and names objects by the order in which it meets
them, so that states of two cores compare. It leaves out fields that only cache or measure.
"""

from collections import deque
from collections.abc import Hashable, Mapping
from typing import Final

from broker.core import BrokerCore
from broker.filters import Filter
from broker.matching import MatchingIndex
from broker.messages import Publication

LEFT_OUT: Final = frozenset({"_handlers", "ways", "_questions", "_fan_outs", "measures", "_context"})
"""The fields that a core keeps for explanations, counts, or could compute again from the rest."""

_VALUES: Final = (str, int, float, bytes, frozenset, Filter, type(None))


def fingerprint(core: BrokerCore) -> Hashable:
    """Return the state of a core whose effects have been taken."""
    return _Walk().of(core)


class _Walk:
    def __init__(self) -> None:
        self._names: dict[int, int] = {}

    def of(self, thing: object) -> Hashable:  # noqa: PLR0911 - one line per kind of thing
        if isinstance(thing, _VALUES):
            return thing
        if isinstance(thing, Publication):
            return thing.publisher, thing.sequence, thing.ordered, thing.mark
        if isinstance(thing, tuple):
            return tuple(map(self.of, thing))
        if isinstance(thing, list | deque):
            return "list", *map(self.of, thing)
        if isinstance(thing, Mapping):
            return "map", *((self.of(key), self.of(value)) for key, value in thing.items())
        if isinstance(thing, set):
            return "set", *sorted(map(self.of, thing), key=repr)
        if isinstance(thing, MatchingIndex) or callable(thing):
            return type(thing).__name__
        return self._object(thing)

    def _object(self, thing: object) -> Hashable:
        name = self._names.get(id(thing))
        if name is not None:
            return "known", name
        self._names[id(thing)] = len(self._names)
        fields = getattr(type(thing), "__attrs_attrs__", None)
        names = [field.name for field in fields] if fields is not None else list(vars(thing))
        inner = (self.of(getattr(thing, each)) for each in names if each not in LEFT_OUT)
        return type(thing).__name__, *inner
