"""The writer as Spark calls it, without Spark: a writer that is made anew is another driver."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from pyspark.sql import Row
from pyspark.sql import types as t

from broker.client.blocking import connect
from broker.errors import GapError, NotAdvertisedError
from broker.spark.record import BatchRecord, RecordFile
from broker.spark.writer import ConcordStreamWriter, PublisherForgottenError
from tests.broker.client.stage import Stage, stage
from tests.sources import ROOT

SCHEMA = t.StructType().add("n", "integer").add("_payload", "binary")
MANY = 10_000

PUBLISHING: str = """
import sys
from broker.spark.writer import ConcordStreamWriter, EventsMessage
from pyspark.sql.types import StructType
address, state, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
options = {"broker": address, "filter": "exists(n)", "state": state}
writer = ConcordStreamWriter(StructType().add("n", "integer"), options, overwrite=False)
writer.commit([EventsMessage([({"n": n}, bytes(1000), True) for n in range(count)])], 0)
"""


@pytest.fixture(scope="module")
def broker() -> Iterator[Stage]:
    with stage() as made:
        yield made


def writer(broker: Stage, state: Path, **options: str) -> ConcordStreamWriter:
    given = {"broker": broker.address, "filter": "exists(n)", "state": str(state), **options}
    return ConcordStreamWriter(SCHEMA, given, overwrite=False)


def commit(made: ConcordStreamWriter, batch: int, *partitions: Sequence[int]) -> None:
    """Run a batch as Spark does: tasks write, the driver commits."""
    made.commit([made.write(Row(n=n, _payload=b"") for n in part) for part in partitions], batch)


def test_a_batch_that_runs_twice_is_published_once_and_numbers_go_on(broker: Stage, tmp_path: Path) -> None:
    with connect(broker.address) as client, client.subscribe("exists(n)") as deliveries:
        commit(writer(broker, tmp_path), 0, [1, 2], [3])
        commit(writer(broker, tmp_path), 0, [3, 1], [2])
        commit(writer(broker, tmp_path), 1)
        commit(writer(broker, tmp_path), 2, [4])
        found = [deliveries.next(timeout_s=20) for _ in range(4)]
        assert [(each.attributes["n"], each.sequence) for each in found] == [(1, 1), (2, 2), (3, 3), (4, 4)]
        assert len({each.publisher for each in found}) == 1
    with pytest.raises(ValueError, match="batch 1 was published before batch 2"):
        commit(writer(broker, tmp_path), 1, [5])


def test_nested_columns_are_nested_attributes(broker: Stage, tmp_path: Path) -> None:
    inner = t.StructType().add("w", t.ArrayType(t.IntegerType())).add("h", "integer")
    options = {"broker": broker.address, "filter": "box.h is None", "state": str(tmp_path)}
    nested = ConcordStreamWriter(t.StructType().add("box", inner), options, overwrite=False)
    with connect(broker.address) as client, client.subscribe("7 in box.w") as deliveries:
        nested.commit([nested.write(iter([Row(box=Row(w=[7, 8], h=None))]))], 0)
        assert deliveries.next(timeout_s=20).attributes == {"box": {"w": [7, 8], "h": None}}


def test_a_driver_that_is_killed_while_it_publishes_leaves_the_rest_to_the_next(
    broker: Stage, tmp_path: Path
) -> None:
    program = [sys.executable, "-c", PUBLISHING, broker.address, str(tmp_path), str(MANY)]
    with (
        connect(broker.address) as client,
        client.subscribe("exists(n)", bound_bytes=64 << 20) as deliveries,
        subprocess.Popen(program, cwd=ROOT) as process,  # noqa: S603 - the program above
    ):
        found = [deliveries.next(timeout_s=20).attributes["n"]]
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        record = RecordFile(str(tmp_path)).read()
        assert record is not None
        assert not record.is_done
        commit(writer(broker, tmp_path), 0, range(MANY - 1, -1, -1))
        found += [deliveries.next(timeout_s=20).attributes["n"] for _ in range(MANY - 1)]
        assert found == [*range(MANY)]
        with pytest.raises(TimeoutError):
            deliveries.next(timeout_s=0)


def test_where_nobody_knows_what_was_published_the_query_fails_or_publishes_all_of_it(tmp_path: Path) -> None:
    with stage() as broker, connect(broker.address) as client, client.subscribe("exists(n)") as deliveries:
        commit(writer(broker, tmp_path), 0, [1])
        first = deliveries.next(timeout_s=20)
        broker.restart()
        with pytest.raises(GapError):
            deliveries.next(timeout_s=20)
        # The driver was killed before it could say that the batch is done.
        RecordFile(str(tmp_path)).write(BatchRecord(0, first.publisher, 1, (({"n": 1}, b"", True),)))
        with pytest.raises(PublisherForgottenError, match="in_doubt='repeat'"):
            commit(writer(broker, tmp_path, retry="true"), 0, [1])
        commit(writer(broker, tmp_path, in_doubt="repeat"), 0, [1])
        again = deliveries.next(timeout_s=20)
        assert again.attributes == first.attributes
        assert again.publisher != first.publisher


def test_rows_that_the_filter_does_not_cover_are_refused_before_anything_is_published(
    broker: Stage, tmp_path: Path
) -> None:
    with pytest.raises(NotAdvertisedError, match="n > 5"):
        writer(broker, tmp_path, filter="n > 5").write(
            iter([Row(n=6, _payload=None), Row(n=5, _payload=None)])
        )


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"broker": ""}, "'broker' is missing"),
        ({"filter": ""}, "'filter' is missing"),
        ({"state": ""}, "checkpointLocation, or state"),
        ({"state": "nowhere://x"}, "no place where a record can be kept"),
        ({"in_doubt": "no"}, "in_doubt: expected"),
    ],
)
def test_an_option_that_cannot_be_is_refused(options: dict[str, str], text: str) -> None:
    given = {"broker": "127.0.0.1:1", "filter": "n > 1", "state": "/nowhere", **options}
    with pytest.raises(ValueError, match=text):
        ConcordStreamWriter(SCHEMA, given, overwrite=False)


def test_events_cannot_be_taken_back() -> None:
    with pytest.raises(ValueError, match="append"):
        ConcordStreamWriter(SCHEMA, {}, overwrite=True)
