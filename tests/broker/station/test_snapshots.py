"""A station made of its snapshot, or of its records, does what the one that never stopped does."""

from collections.abc import Callable
from contextlib import suppress
from random import Random

import attrs
import cbor2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.errors import StationError
from broker.filters import parse
from broker.station import Station, SubscriptionTerms, inputs, recover, snapshot_of
from broker.station.filter_values import filters_from, values_of
from ordering import plugins
from ordering.fifo import Fifo
from tests.broker.station.stations import ROUTING, Stations, publication

STEPS = 50


@pytest.mark.parametrize("ordering", ["fifo", "pairwise", "sequencer", "published"])
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_double_made_before_every_step_does_the_same_and_so_does_a_replay(ordering: str, seed: int) -> None:
    stations = Stations(ordering, Random(seed))
    stations.start()
    for _ in range(STEPS):
        stations.step()
    for name, recorded in stations.brokers.items():
        expected = snapshot_of(recorded.station)
        for snapshot, records in (
            (None, recorded.records),
            (recorded.snapshot, recorded.records[recorded.snapshot_at :]),
        ):
            if snapshot is not None or len(records) == len(recorded.records):
                again = recover(name, plugins.load(ordering), ordering, snapshot, records, ROUTING)
                assert again is not None
                assert snapshot_of(again) == expected


def applies_first(self: Station, missed_renewals_max: int) -> None:
    self.core.sweep(missed_renewals_max)
    self._record(inputs.Swept(missed_renewals_max))


def records_nothing(self: Station, missed_renewals_max: int) -> None:
    self.core.sweep(missed_renewals_max)


@pytest.mark.parametrize("wrong", [applies_first, records_nothing])
def test_a_station_that_touches_its_core_before_it_records_is_noticed(
    wrong: Callable[[Station, int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    stations = Stations("fifo", Random(0))
    stations.start()
    monkeypatch.setattr(Station, "sweep", wrong)
    with pytest.raises(AssertionError, match="an input was applied"):
        stations.do("B1", lambda station: station.sweep(3))


def station(name: str = "B1", ordering: str = "pairwise") -> Station:
    made = Station(name, plugins.load(ordering), "i", ordering_name=ordering)
    wanted = parse("kind == 'a' or 1 < price <= 2.5 or text.startswith('x')")
    made.subscribe("s", SubscriptionTerms(wanted, ordered=True))
    made.advertise("p", parse("True"))
    made.publish("p", [publication("p", 1, "a"), publication("p", 2, "a")])
    made.take()
    return made


def test_positions_and_deliveries_are_in_the_snapshot() -> None:
    again = recover("B1", plugins.load("pairwise"), "pairwise", snapshot_of(station()), ())
    assert again is not None
    (batch,) = again.subscriptions["s"].after(0)
    assert len(batch) == 2
    assert again.subscriptions["s"].emitted == 2
    assert again.publishers["p"].taken == 2


@pytest.mark.parametrize(
    ("name", "ordering", "says"),
    [("B2", "pairwise", "by the broker B1, and this is B2"), ("B1", "fifo", "ordering 'pairwise'")],
)
def test_a_snapshot_of_another_broker_or_plugin_is_refused(name: str, ordering: str, says: str) -> None:
    with pytest.raises(StationError, match=says):
        recover(name, plugins.load(ordering), ordering, snapshot_of(station()), ())


def test_another_format_is_refused_with_what_to_do() -> None:
    written = cbor2.loads(snapshot_of(station()))
    with pytest.raises(StationError, match=r"format 0\.9 .* start the version that wrote it"):
        recover("B1", plugins.load("pairwise"), "pairwise", cbor2.dumps(["0.9", *written[1:]]), ())


@given(st.data())
def test_a_damaged_snapshot_is_refused_or_read_and_runs_nothing(data: st.DataObject) -> None:
    snapshot = bytearray(snapshot_of(station()))
    for _ in range(data.draw(st.integers(1, 3))):
        snapshot[data.draw(st.integers(0, len(snapshot) - 1))] = data.draw(st.integers(0, 255))
    with suppress(StationError):
        again = recover("B1", plugins.load("pairwise"), "pairwise", bytes(snapshot), ())
        assert isinstance(again, Station)


@pytest.mark.parametrize(
    "name", ["os:system", "subprocess:Popen", "broker.core.broker:BrokerCore", "ordering:x"]
)
def test_a_class_that_may_not_be_in_a_snapshot_is_never_made(name: str) -> None:
    written = cbor2.loads(snapshot_of(station()))
    written[4][3].append([name, "args"])
    with pytest.raises(StationError, match="snapshot"):
        recover("B1", plugins.load("pairwise"), "pairwise", cbor2.dumps(written), ())


@attrs.define(eq=False)
class Opaque(Fifo):
    """A plugin that keeps what nobody can write down."""

    kept: object = attrs.field(factory=lambda: {"open": object()})


def test_a_plugin_that_keeps_what_cannot_be_written_fails_at_the_first_snapshot() -> None:
    made = Station("B1", lambda context: Opaque(context), ordering_name="opaque")  # noqa: PLW0108 - typed
    with pytest.raises(StationError, match="cannot be part of a snapshot"):
        snapshot_of(made)
    assert isinstance(made.core.ordering, Opaque)


def test_filters_with_constraints_in_common_are_printed_as_before() -> None:
    texts = [f"symbol == '{name}' and price > {low}" for name in "ab" for low in ("0", "0.5")]
    filters = [parse(text) for text in texts]
    restored = filters_from(values_of(filters))
    assert restored == filters
    assert list(map(str, restored)) == list(map(str, filters))
    assert len({id(constraint) for each in restored for _, constraint in each.conjunctions[0]}) == len(texts)
