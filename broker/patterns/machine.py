"""The detector: a deterministic machine from deliveries, in their order, to matches.

Theory of operation: every event that can be the first of a match begins a partial match. A partial match
takes the first event that fits its next step, and is a match when no step is left. Where conditions say that
all events of a match have a value in common, partial matches are kept by that value.

Laws:

* What comes out follows from the events that one of the pattern's filters matches, from their order, and from
  the times in them. Other events, clocks and how the events came change nothing. So detectors agree on events
  that they get in one order, whatever else they subscribe to.
* The time of the detector is the greatest time of these events so far. A partial match whose first event is
  older by more than the span is over; and all events of a match lie within the span.
* Every event begins at most one match. An event may be in several.
* At most `limit` partial matches are kept. Beyond, the oldest is dropped, which is announced.
* A gap is passed on in its place. What was begun before it goes on, unless the pattern has events that must
  not happen: they may have happened in the gap.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Final, Generic

from attrs import define, field, frozen
from sortedcontainers import SortedSet

from broker.client.delivery import Gap
from broker.filters.values import Value, flattened, is_number
from broker.patterns.conditions import kind_of
from broker.patterns.language import NS_PER_S
from broker.patterns.pattern import Condition, Pattern, Step, Taken, advanced

PARTIALS_LIMIT: Final = 10_000
"""Partial matches kept at once: some MB, and more than people look at."""

Label = tuple[type, Value] | None
"""The value that all events of a match share, with its type; None where there is none."""


@frozen
class PatternMatch(Generic[Taken]):
    """A match: the events that each name has taken, in the order of their delivery."""

    events: Mapping[str, tuple[Taken, ...]]

    def __getitem__(self, name: str) -> Taken:
        """Return the event of that name, the first one if there are several."""
        return self.events[name][0]


@frozen
class Evicted:
    """So many partial matches were dropped here, because there were too many."""

    count: int

    def __str__(self) -> str:
        return f"{self.count} partial matches were dropped here: there were too many"


@define(eq=False)
class PartialMatch(Generic[Taken]):
    """What has happened of a pattern, and the step that is left."""

    number: int
    label: Label
    left: Step
    events: dict[str, tuple[Taken, ...]]
    first_ns: int
    earliest_ns: int
    latest_ns: int

    @property
    def place(self) -> tuple[int, int]:
        """Return where it stands among all: the first one is over first."""
        return self.first_ns, self.number


@frozen
class _Arrived(Generic[Taken]):
    """An event, its time, its attributes by path, and the names whose filters match it."""

    event: Taken
    time_ns: int
    values: Mapping[str, Value]
    names: frozenset[str]


@define(eq=False)
class Detector(Generic[Taken]):
    """Finds a pattern in deliveries. `take` is called with each of them, and with each gap."""

    pattern: Pattern
    limit: int = PARTIALS_LIMIT
    _key: Mapping[str, str] = field(init=False)
    _conditions: Mapping[str, tuple[Condition, ...]] = field(init=False)
    _partials: dict[Label, dict[int, PartialMatch[Taken]]] = field(factory=dict, init=False)
    _places: "SortedSet[tuple[int, int]]" = field(factory=SortedSet, init=False)
    _by_number: dict[int, PartialMatch[Taken]] = field(factory=dict, init=False)
    _number: int = field(default=0, init=False)
    _now_ns: int | None = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        if self.limit < 1:
            raise ValueError(f"limit: expected 1 or more, got {self.limit}")
        self._key = self.pattern.key
        self._conditions = {
            each.name: tuple(one for one in self.pattern.conditions if each.name in one.names)
            for each in self.pattern.filters
        }

    @property
    def partial_count(self) -> int:
        """Return how many partial matches there are."""
        return len(self._by_number)

    def take(self, item: Taken | Gap) -> Sequence[PatternMatch[Taken] | Gap | Evicted]:
        """Return what a delivery, or a gap, makes complete, in the order in which it began."""
        if isinstance(item, Gap):
            if self.pattern.absent:
                for each in list(self._by_number.values()):
                    self._drop(each)
            return (item,)
        arrived = self._arrived(item)
        if arrived is None:
            return ()
        self._pass_time(arrived.time_ns)
        found: list[PatternMatch[Taken] | Gap | Evicted] = []
        for partial in self._concerned(arrived):
            found += self._offered(partial, arrived)
        found += self._begun(arrived)
        return found

    def _arrived(self, event: Taken) -> _Arrived[Taken] | None:
        """Return what of an event matters, None if nothing does."""
        attributes = event.attributes
        names = frozenset(each.name for each in self.pattern.filters if each.filter.match(attributes))
        if not names:
            return None
        values = flattened(attributes)
        if not self.pattern.time:
            return _Arrived(event, event.published_ns, values, names)
        time = values.get(self.pattern.time)
        if not is_number(time) or not -_TIME_MAX_S < time < _TIME_MAX_S:
            return None
        return _Arrived(event, round(time * NS_PER_S), values, names)

    def _pass_time(self, time_ns: int) -> None:
        """Drop the partial matches that are over."""
        self._now_ns = time_ns if self._now_ns is None else max(self._now_ns, time_ns)
        while self._places and self._places[0][0] < self._now_ns - self.pattern.within_ns:
            self._drop(self._by_number[self._places[0][1]])

    def _concerned(self, arrived: _Arrived[Taken]) -> list[PartialMatch[Taken]]:
        """Return the partial matches that may take the event, or that it may end."""
        labels = dict.fromkeys(self._label(name, arrived) for name in sorted(arrived.names))
        found = [each for label in labels for each in self._partials.get(label, {}).values()]
        return found if len(labels) == 1 else sorted(found, key=_number)

    def _label(self, name: str, arrived: _Arrived[Taken]) -> Label:
        if not self._key:
            return None
        value = arrived.values.get(self._key[name])
        kind = kind_of(value)
        return None if kind is None else (kind, value)

    def _offered(
        self, partial: PartialMatch[Taken], arrived: _Arrived[Taken]
    ) -> Iterator[PatternMatch[Taken]]:
        """Offer an event to a partial match."""
        earliest_ns = min(partial.earliest_ns, arrived.time_ns)
        latest_ns = max(partial.latest_ns, arrived.time_ns)
        is_soon = latest_ns - earliest_ns <= self.pattern.within_ns
        found = advanced(partial.left, lambda name: is_soon and self._takes(name, partial.events, arrived))
        if found is not None and found[1] is None:
            self._drop(partial)
            yield PatternMatch(_with(partial.events, found[0], arrived.event))
        elif any(self._takes(each.name, partial.events, arrived) for each in self.pattern.absent):
            self._drop(partial)
        elif found is not None and found[1] is not None:
            partial.left = found[1]
            partial.events = _with(partial.events, found[0], arrived.event)
            partial.earliest_ns, partial.latest_ns = earliest_ns, latest_ns

    def _begun(self, arrived: _Arrived[Taken]) -> Iterator[PatternMatch[Taken] | Evicted]:
        """Begin a partial match with the event, if it is the first of one."""
        found = advanced(self.pattern.steps, lambda name: self._takes(name, {}, arrived))
        if found is None:
            return
        name, left = found
        events = _with({}, name, arrived.event)
        if left is None:
            yield PatternMatch(events)
            return
        label = self._label(name, arrived)
        if self._key and label is None:
            return
        self._number += 1
        time_ns = arrived.time_ns
        partial = PartialMatch(self._number, label, left, events, time_ns, time_ns, time_ns)
        if time_ns < (self._now_ns or 0) - self.pattern.within_ns:
            return
        self._keep(partial)
        if len(self._by_number) > self.limit:
            self._drop(next(iter(self._by_number.values())))
            yield Evicted(1)

    def _takes(self, name: str, events: Mapping[str, tuple[Taken, ...]], arrived: _Arrived[Taken]) -> bool:
        """Return whether an event fits a name beside those that were taken before."""
        if name not in arrived.names:
            return False
        bound = events.keys() | {name}
        return all(
            each.test(values)
            for each in self._conditions[name]
            if each.names <= bound
            for values in _readings(each, name, arrived.values, events)
        )

    def _keep(self, partial: PartialMatch[Taken]) -> None:
        self._by_number[partial.number] = partial
        self._partials.setdefault(partial.label, {})[partial.number] = partial
        self._places.add(partial.place)

    def _drop(self, partial: PartialMatch[Taken]) -> None:
        del self._by_number[partial.number]
        self._places.remove(partial.place)
        alike = self._partials[partial.label]
        del alike[partial.number]
        if not alike:
            del self._partials[partial.label]


_TIME_MAX_S: Final = 1e12
"""Times of attributes lie within 30,000 years."""


def _number(partial: PartialMatch[Taken]) -> int:
    return partial.number


def _with(events: Mapping[str, tuple[Taken, ...]], name: str, event: Taken) -> dict[str, tuple[Taken, ...]]:
    return {**events, name: (*events.get(name, ()), event)}


def _readings(
    condition: Condition,
    name: str,
    values: Mapping[str, Value],
    events: Mapping[str, tuple[Taken, ...]],
) -> Iterable[Mapping[str, Value]]:
    """Return what a condition reads: the new event as `name`, and each combination of the others."""
    others = sorted(condition.names - {name})
    for chosen in product(*(events[each] for each in others)):
        by_name = {
            name: values,
            **{each: flattened(event.attributes) for each, event in zip(others, chosen, strict=True)},
        }
        yield {f"{event}.{path}": by_name[event].get(path) for event, path in condition.reads}
