"""The source as Spark calls it, without Spark: a driver that is made anew was killed."""

import json
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import attrs
import pytest
import trustme
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import StructType

from broker.client.blocking import Publisher, connect
from broker.errors import ConcordError, ConnectionFailedError, GapError, SubscriptionEndedError
from broker.server.settings import Tls
from broker.spark import held
from broker.spark.reader import ConcordStreamReader
from tests.broker.client.stage import Stage, stage
from tests.broker.server.overlay import settings

SCHEMA = StructType().add("n", "integer").add("_gap", "string").add("_position", "long")

Offset = dict[str, Any]
Rows = list[tuple[object, ...]]


@attrs.define
class Driver:
    """A driver, which calls the reader as Spark does; offsets go through its checkpoint as JSON."""

    options: dict[str, str]
    reader: ConcordStreamReader

    def initial(self) -> Offset:
        return through_checkpoint(self.reader.initialOffset())

    def latest(self, start: Offset, count: int = 0) -> Offset:
        """The end of the next batch, as soon as so many positions have come."""
        while True:
            end = through_checkpoint(self.reader.latestOffset(start, ReadAllAvailable()))
            if not count or sum(end[each]["position"] - start[each]["position"] for each in end) >= count:
                return end

    def behind_the_gap(self, start: Offset, position: int) -> Offset:
        """The end of the next batch, as soon as it is at this position of another subscription."""
        while True:
            ((name, mark),) = self.latest(start).items()
            if mark["id"] != start[name]["id"] and mark["position"] == position:
                return {name: mark}

    def ask_until_it_fails(self, start: Offset) -> None:
        while True:
            start = self.latest(start)

    def rows(self, start: Offset, end: Offset) -> Rows:
        """The rows of a batch; tasks run in other processes."""
        found: Rows = []
        for partition in self.reader.partitions(start, end):
            task = pickle.dumps((ConcordStreamReader(SCHEMA, self.options), partition))
            reader, shipped = pickle.loads(task)  # noqa: S301 - what stands in the line above
            found += reader.read(shipped)
        return found

    def numbers(self, start: Offset, end: Offset) -> list[object]:
        return [row[0] for row in self.rows(start, end)]


def through_checkpoint(offset: Offset) -> Offset:
    found: Offset = json.loads(json.dumps(offset))
    return found


@pytest.fixture(scope="module")
def broker() -> Iterator[Stage]:
    with stage() as made:
        yield made


@pytest.fixture(scope="module")
def publisher(broker: Stage) -> Iterator[Publisher]:
    with connect(broker.address, name="source") as client, client.advertise("exists(n)") as made:
        yield made


@contextmanager
def driver(broker: Stage, durable: str, **options: str) -> Iterator[Driver]:
    """A driver, as long as it lives."""
    given = {"broker": broker.address, "durable": durable, **options}
    if "filters" not in given:
        given.setdefault("filter", "exists(n)")
    reader = ConcordStreamReader(SCHEMA, given)
    try:
        yield Driver(given, reader)
    finally:
        reader.stop()


def publish(publisher: Publisher, *numbers: int) -> None:
    for number in numbers:
        publisher.publish({"n": number})
    publisher.flush()


def test_every_batch_is_had_once_though_drivers_die_at_any_moment(
    broker: Stage, publisher: Publisher
) -> None:
    with driver(broker, "kills") as first:
        start = first.initial()
        publish(publisher, 1, 2, 3)
        one = first.latest(start, 3)
        assert first.numbers(start, one) == [1, 2, 3]
    with driver(broker, "kills") as second:  # The first one was killed before the batch was committed.
        publish(publisher, 4)
        assert second.initial() == start
        assert second.numbers(start, one) == [1, 2, 3]
        assert second.numbers(start, one) == [1, 2, 3]
        two = second.latest(one, 1)
        assert second.numbers(one, two) == [4]
        second.reader.commit(one)
    with driver(broker, "kills") as third:  # The second one was killed while the next batch ran.
        assert third.numbers(one, two) == [4]
        assert third.latest(two) == two
    with connect(broker.address, name="spark") as client:
        (kept,) = [each for each in client.durable_subscriptions() if each["durable"] == "kills"]
    assert kept["taken"] == kept["emitted"] == 4


def test_a_batch_that_begins_is_not_acknowledged_by_being_read_again(
    broker: Stage, publisher: Publisher
) -> None:
    with driver(broker, "again") as first:
        start = first.initial()
        publish(publisher, 1, 2)
        end = first.latest(start, 2)
    for _ in range(2):
        with driver(broker, "again") as another:
            assert another.numbers(start, end) == [1, 2]


def test_batches_have_their_limits_and_a_larger_one_can_be_read_again(
    broker: Stage, publisher: Publisher
) -> None:
    with driver(broker, "limits", max_events="30") as first:
        start = first.initial()
        publish(publisher, *range(100))
        end = first.latest(start, 30)
        assert end["limits"]["position"] == 30
    with driver(broker, "limits", max_events="3") as second:
        assert second.numbers(start, end) == [*range(30)]
        after = second.latest(end, 3)
        assert second.numbers(end, after) == [30, 31, 32]
    with driver(broker, "limits") as third, pytest.raises(GapError, match="30 deliveries"):
        third.rows(start, end)


def test_a_query_of_what_is_there_now_ends_with_it(broker: Stage, publisher: Publisher) -> None:
    with driver(broker, "now") as first:
        first.initial()
    publish(publisher, *range(25))
    with driver(broker, "now", max_events="10") as second:
        second.reader.prepareForTriggerAvailableNow()
        offset, found = second.initial(), []
        while (end := second.latest(offset)) != offset:
            found += second.numbers(offset, end)
            offset = end
            publish(publisher, 99)
        assert found == [*range(25)]


def test_each_filter_is_a_partition_with_its_own_order(broker: Stage, publisher: Publisher) -> None:
    with driver(broker, "both", filters='["n < 2", "n >= 2"]') as only:
        start = only.initial()
        publish(publisher, 3, 1, 2, 0)
        end = only.latest(start, 4)
        assert [each.filter for each in only.reader.partitions(start, end)] == ["n < 2", "n >= 2"]  # type: ignore[attr-defined] # it is ours
        assert only.numbers(start, end) == [1, 0, 3, 2]


def test_a_second_driver_takes_over_and_the_first_one_fails(broker: Stage, publisher: Publisher) -> None:
    with driver(broker, "fenced") as first:
        start = first.initial()
        publish(publisher, 1)
        with driver(broker, "fenced") as second:
            assert second.numbers(start, second.latest(start, 1)) == [1]
            with pytest.raises(SubscriptionEndedError):
                first.ask_until_it_fails(start)


def test_a_gap_fails_the_query_unless_it_is_wanted() -> None:
    with stage() as broker, connect(broker.address) as client, client.advertise("exists(n)") as publisher:
        with driver(broker, "gaps") as first:
            start = first.initial()
            publish(publisher, 1, 2)
            one = first.latest(start, 2)
            broker.restart()
            with pytest.raises(GapError, match="does not know any more"):
                first.ask_until_it_fails(one)
            publish(publisher, 3)
        with driver(broker, "gaps") as second, pytest.raises(GapError, match="does not know any more"):
            second.rows(start, one)
        with driver(broker, "gaps", gaps="log") as third:
            assert third.numbers(one, third.behind_the_gap(one, 1)) == [3]


def test_a_broker_without_memory_leaves_a_gap_that_is_the_same_for_every_driver() -> None:
    with stage() as broker, driver(broker, "life", gaps="rows") as first:
        start = first.initial()
        with connect(broker.address) as client, client.advertise("exists(n)") as publisher:
            publish(publisher, 1, 2)
            one = first.latest(start, 2)
            assert first.numbers(start, one) == [1, 2]
            broker.restart()
            first.behind_the_gap(one, 0)
            publish(publisher, 3)
            two = first.behind_the_gap(one, 1)
            assert [row[:2] for row in first.rows(one, two)] == [(None, "forgotten"), (3, None)]
            assert two["life"]["id"] != one["life"]["id"]
            first.reader.stop()
            with driver(broker, "life", gaps="rows") as second:
                assert [row[:2] for row in second.rows(one, two)] == [(None, "forgotten"), (3, None)]
            with driver(broker, "life", gaps="rows") as third:  # The batch before it is lost for good.
                assert [row[:2] for row in third.rows(start, one)] == [(None, "forgotten")]
                assert third.numbers(one, third.behind_the_gap(one, 1)) == [3]


def test_a_broker_with_a_journal_delivers_the_batch_again_after_it_was_restarted(tmp_path: Path) -> None:
    kept = attrs.evolve(settings("B1"), journal=tmp_path / "journal")
    with stage(kept) as broker:
        with driver(broker, "kept") as first:
            start = first.initial()
            with connect(broker.address) as client, client.advertise("exists(n)") as publisher:
                publish(publisher, 1, 2)
            one = first.latest(start, 2)
        broker.restart()
        with driver(broker, "kept") as second:
            assert second.numbers(start, one) == [1, 2]


def test_it_connects_with_tls_and_proves_who_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    server = authority.issue_cert("127.0.0.1")
    server.cert_chain_pems[0].write_to_path(str(tmp_path / "cert.pem"))
    server.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    users = tmp_path / "users.toml"
    users.write_text(f"[users.etl]\ntoken_sha256 = '{sha256(b'secret').hexdigest()}'\nsubscribe = 'True'\n")
    wanted = settings("B1", auth=users, tls=Tls(tmp_path / "cert.pem", tmp_path / "key.pem"))
    with stage(wanted) as broker:
        with driver(broker, "safe", tls_ca=str(tmp_path / "ca.pem"), token="secret") as first:
            start = first.initial()
        monkeypatch.setenv("CONCORD_TOKEN", "secret")
        with driver(broker, "safe", tls_ca=str(tmp_path / "ca.pem")) as second:
            assert second.initial() == start
        monkeypatch.setenv("CONCORD_TOKEN", "other")
        with driver(broker, "safe", tls_ca=str(tmp_path / "ca.pem")) as third, pytest.raises(ConcordError):
            third.initial()
        with driver(broker, "safe", tls="true") as fourth, pytest.raises(ConnectionFailedError):
            fourth.initial()


def test_an_offset_of_a_subscription_that_is_not_named_any_more_is_refused(broker: Stage) -> None:
    with driver(broker, "renamed") as only, pytest.raises(ValueError, match="other"):
        only.rows({}, {"other": held.StreamMark("A", 1).content()})


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"broker": ""}, "'broker' is missing"),
        ({"durable": ""}, "'durable' is missing"),
        ({"filters": "[1]"}, "list of filters"),
        ({"filters": '["n > 1"]', "filter": "n > 1"}, "either filter, or filters"),
        ({"filter": "n >"}, "column 4"),
        ({"gaps": "no"}, "gaps: expected one of"),
        ({"max_bytes": "33554433"}, "max_bytes: expected"),
        ({"tls": "maybe"}, "tls: expected true or false"),
        ({"tls_cert": "a.pem"}, "belong together"),
    ],
)
def test_an_option_that_cannot_be_is_refused(options: dict[str, str], text: str) -> None:
    given = {"broker": "127.0.0.1:1", "durable": "d", **({} if "filters" in options else {"filter": "n > 1"})}
    with pytest.raises(Exception, match=text):
        ConcordStreamReader(SCHEMA, given | options)


def test_rows_for_gaps_need_a_column() -> None:
    options = {"broker": "127.0.0.1:1", "durable": "d", "filter": "n > 1", "gaps": "rows"}
    with pytest.raises(ValueError, match="_gap STRING"):
        ConcordStreamReader(StructType().add("n", "integer"), options)
