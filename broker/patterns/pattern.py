"""A pattern as it was read: which events follow which, what they have in common, and how soon.

Laws:

* A step takes one event at a time. What is taken, and what is left to take, depends on the step and on which
  names may take the event; of alternatives the first one written is taken.
* Nothing here knows a clock: times are numbers that events bring.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, TypeVar, Union

from attrs import evolve, frozen

from broker.filters import Filter, parse
from broker.filters.values import Attributes, Value


class Timed(Protocol):
    """What a detector takes: deliveries are such events."""

    @property
    def attributes(self) -> Attributes:
        """Return what filters match."""

    @property
    def published_ns(self) -> int:
        """Return when its publisher published it, in nanoseconds since 1970."""


Taken = TypeVar("Taken", bound=Timed)


@frozen
class NamedFilter:
    """So many events that a filter matches, under one name."""

    name: str
    filter: Filter
    times: int = 1


@frozen
class InTurn:
    """Steps one after the other."""

    parts: "tuple[Step, ...]"


@frozen
class InAnyTurn:
    """Steps that all happen, in whatever order, also one within the other."""

    parts: "tuple[Step, ...]"


@frozen
class FirstOf:
    """Steps of which one happens: the one that begins first."""

    parts: "tuple[Step, ...]"


Step = Union[NamedFilter, InTurn, InAnyTurn, FirstOf]  # noqa: UP007 - it names itself
Advance = tuple[str, Step | None]
"""The name that took an event, and what is left to happen."""


def advanced(step: Step, takes: Callable[[str], bool]) -> Advance | None:
    """Return what an event makes of a step, None if it does not take it."""
    match step:
        case NamedFilter(name, _, times):
            if not takes(name):
                return None
            return name, evolve(step, times=times - 1) if times > 1 else None
        case InTurn((first, *rest)):
            found = advanced(first, takes)
            return None if found is None else (found[0], _joined(InTurn, found[1], rest))
        case FirstOf(parts):
            return next(filter(None, (advanced(part, takes) for part in parts)), None)
        case InAnyTurn(parts):
            for at, part in enumerate(parts):
                found = advanced(part, takes)
                if found is not None:
                    return found[0], _joined(InAnyTurn, found[1], [*parts[:at], *parts[at + 1 :]])
    return None


def _joined(kind: type[InTurn] | type[InAnyTurn], first: Step | None, rest: list[Step]) -> Step | None:
    parts = rest if first is None else [first, *rest]
    return parts[0] if len(parts) == 1 else kind(tuple(parts))


def named_filters(step: Step) -> Iterator[NamedFilter]:
    """Yield all filters with a name."""
    if isinstance(step, NamedFilter):
        yield step
    else:
        for part in step.parts:
            yield from named_filters(part)


Holds = Callable[[Mapping[str, Value]], bool]


@frozen
class Condition:
    """What events have in common. `test` gets the attribute of each path that it names."""

    reads: tuple[tuple[str, str], ...]
    """The names and paths that it compares."""

    test: Holds
    is_equality: bool = False

    @property
    def names(self) -> frozenset[str]:
        """Return the names that it compares."""
        return frozenset(name for name, _ in self.reads)


@frozen
class Pattern:
    """Steps, what must not happen between the first and the last event, conditions, and a span of time.

    `time` is the path of the attribute with an event's time in seconds; without one it is the time at which
    its publisher published it.
    """

    steps: Step
    absent: tuple[NamedFilter, ...]
    conditions: tuple[Condition, ...]
    within_ns: int
    time: str = ""

    @property
    def filters(self) -> tuple[NamedFilter, ...]:
        """Return all filters with a name, those of absent events last."""
        return (*named_filters(self.steps), *self.absent)

    @property
    def filter(self) -> Filter:
        """Return the filter of all events that a detector needs.

        Raises:
            FilterError: it exceeds a limit.
        """
        return parse(" or ".join(f"({each.filter})" for each in self.filters))

    @property
    def key(self) -> Mapping[str, str]:
        """Return for each name the path whose value all events of a match share; empty if there is none."""
        names = {each.name for each in self.filters}
        for seed in dict.fromkeys(read for each in self.conditions for read in each.reads):
            found = self._equal_to(seed)
            if found.keys() == names:
                return found
        return {}

    def _equal_to(self, seed: tuple[str, str]) -> dict[str, str]:
        """Return the paths that equalities tie to one, one for each name."""
        found = dict([seed])
        size = 0
        while len(found) > size:
            size = len(found)
            for each in self.conditions:
                if each.is_equality:
                    (one, path), (other, other_path) = each.reads
                    if found.get(one) == path:
                        found.setdefault(other, other_path)
                    elif found.get(other) == other_path:
                        found.setdefault(one, path)
        return found
