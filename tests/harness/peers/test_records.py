from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from harness.peers.board import Board, opened
from harness.peers.records import ages_ms, complete, write_deliveries, write_publications
from harness.peers.turns import PublisherTurn, SubscriberTurn
from harness.traces import DELIVERIES, MATCHES, PUBLICATIONS, SEEN, SUBSCRIPTIONS, Dataset

MS = 1_000_000


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Board]:
    with opened(tmp_path / "board", 2, 1) as board:
        yield board


def rows(dataset: Dataset, folder: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = pq.read_table(dataset.folder(folder)).to_pylist()
    return found


def test_a_run_of_a_peer_has_the_datasets_of_any_run(tmp_path: Path, board: Board) -> None:
    publishers = [PublisherTurn(place, 1.0, board) for place in range(2)]
    subscriber = SubscriberTurn(0, board)
    events = [publishers[0].take(), publishers[1].take(), publishers[1].take()]
    for _, payload in (events[2], events[0]):
        subscriber.note(1.0, payload)
    publishers[0].times_ns[0] = 0
    publishers[1].times_ns[1] = 10 * MS
    subscriber.times_ns[0], subscriber.times_ns[1] = 13 * MS, 1 * MS
    write_publications(tmp_path, publishers, 2)
    write_deliveries(tmp_path, [subscriber], 2, 2)
    complete(tmp_path, 1, 2)
    assert {(row["publisher"], row["sequence"], row["broker"]) for row in rows(PUBLICATIONS, tmp_path)} == {
        ("publish-0", 1, "S1"),
        ("publish-1", 1, "S2"),
        ("publish-1", 2, "S2"),
    }
    assert [(row["position"], row["publisher"], row["sequence"]) for row in rows(DELIVERIES, tmp_path)] == [
        (0, "publish-1", 2),
        (1, "publish-0", 1),
    ]
    assert {(row["subscriber"], row["sequence"]) for row in rows(MATCHES, tmp_path)} == {
        ("subscribe-0", 1),
        ("subscribe-0", 2),
    }
    assert rows(SUBSCRIPTIONS, tmp_path) == [{"subscriber": "subscribe-0", "broker": "S1", "ordered": True}]
    assert rows(SEEN, tmp_path) == []
    assert ages_ms(tmp_path, 5 * MS, 20 * MS) == (3.0, 3.0)
    assert ages_ms(tmp_path, 0, 5 * MS) == (1.0, 1.0)
