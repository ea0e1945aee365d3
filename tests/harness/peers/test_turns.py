from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.peers.board import Board, BoardPhase, opened
from harness.peers.turns import PublisherTurn, SubscriberTurn, publish_by_calls
from harness.peers.workload import BATCH, PAYLOAD_BYTES, WINDOW, number_of, numbered


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Board]:
    with opened(tmp_path / "board", 2, 2) as board:
        yield board


def test_the_processes_of_a_measurement_see_one_board(tmp_path: Path, board: Board) -> None:
    with opened(tmp_path / "board", 2, 2) as other:
        board.enter(BoardPhase.FLAT_OUT)
        board.published[1] = 7
        other.delivered[0] = 5
        assert other.phase == BoardPhase.FLAT_OUT
        assert list(other.published) == [0, 7]
        assert board.in_flight() == 7
        other.delivered[1] = 3
        assert board.in_flight() == 4


def test_nobody_publishes_before_all_are_connected(board: Board) -> None:
    grant = PublisherTurn(0, 100.0, board).ask(1.0)
    assert (grant.count, grant.is_over) == (0, False)
    assert grant.wait_s > 0


def test_publishing_ends_with_the_phase(board: Board) -> None:
    board.enter(BoardPhase.STOPPING)
    assert PublisherTurn(0, 100.0, board).ask(1.0).is_over


def test_the_slowest_subscriber_is_never_more_than_a_window_behind(board: Board) -> None:
    board.enter(BoardPhase.FLAT_OUT)
    turn = PublisherTurn(0, 100.0, board)
    while count := turn.ask(1.0).count:
        assert count <= BATCH
        for _ in range(count):
            turn.take()
    assert board.in_flight() == WINDOW
    board.delivered[0] = 10
    assert turn.ask(1.0).count == 0
    board.delivered[1] = 3
    assert turn.ask(1.0).count == 3


def test_paced_publishers_take_turns_at_their_rate(board: Board) -> None:
    board.enter(BoardPhase.PACED)
    turns = [PublisherTurn(place, 100.0, board) for place in range(2)]
    published = []
    for step in range(100):
        for turn in turns:
            now_s = 1.0 + step / 1000
            if turn.ask(now_s).count:
                turn.take()
                published.append((turn.place, step))
    assert published[:4] == [(0, 0), (1, 5), (0, 10), (1, 15)]
    assert list(board.published) == [10, 10]


def test_a_delivery_counts_when_price_and_payload_were_read(board: Board) -> None:
    turn = SubscriberTurn(1, board)
    turn.note(50.0, numbered(1, 7))
    turn.note(0.0, numbered(1, 8))
    turn.note(50.0, b"short")
    assert list(turn.numbers) == [number_of(numbered(1, 7))[0]]
    assert len(turn.times_ns) == 1
    assert list(board.delivered) == [0, 1]


def test_calls_are_made_until_it_is_over(board: Board) -> None:
    board.enter(BoardPhase.FLAT_OUT)
    turns = [PublisherTurn(place, 100.0, board) for place in range(2)]
    sent: list[bytes] = []

    def put(price: int, payload: bytes) -> None:
        sent.append(payload)
        assert 0 <= price < 1000
        if len(sent) == 3 * BATCH:
            board.enter(BoardPhase.STOPPING)

    publish_by_calls(turns, [put, put])
    assert len(set(sent)) == len(sent) == sum(board.published)
    assert {len(each) for each in sent} == {PAYLOAD_BYTES}
