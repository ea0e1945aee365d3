import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.filters import parse
from harness.benchmarks.jobs import (
    ADVERTISED,
    EVENTS,
    PAYLOAD_BYTES,
    SUBSCRIBED,
    age_ns,
    cut,
    opened,
    stamped,
)


def test_what_one_process_counts_another_reads(tmp_path: Path) -> None:
    with opened(tmp_path / "board", 2, 3) as here, opened(tmp_path / "board", 2, 3) as there:
        here.published[1] = 7
        there.delivered[2] = 5
        assert list(there.published) == [0, 7]
        assert list(here.delivered) == [0, 0, 5]


@pytest.mark.parametrize(("delivered", "backlog"), [((0, 0), 10), ((10, 4), 6), ((10, 10), 0)])
def test_the_backlog_is_that_of_the_slowest_subscriber(
    tmp_path: Path, delivered: tuple[int, int], backlog: int
) -> None:
    with opened(tmp_path / "board", 2, 2) as board:
        board.published[0], board.published[1] = 3, 7
        board.delivered[0], board.delivered[1] = delivered
        assert board.backlog() == backlog


@given(st.lists(st.binary(max_size=40)), st.integers(min_value=1))
def test_cutting_finds_every_whole_frame_and_keeps_the_rest(bodies: list[bytes], missing: int) -> None:
    frames = [struct.pack(">I", len(body)) + body for body in bodies]
    received = b"".join(frames)
    assert cut(received) == (len(frames), len(received))
    if frames:
        lost = 1 + missing % len(frames[-1])
        assert cut(received[:-lost]) == (len(frames) - 1, len(received) - len(frames[-1]))


def test_every_event_matches_what_is_advertised_and_what_is_subscribed() -> None:
    for text in (ADVERTISED, SUBSCRIBED):
        matches = parse(text).compiled()
        assert all(matches(event) for event in EVENTS)


def test_a_payload_knows_its_age() -> None:
    payload = stamped()
    assert len(payload) == PAYLOAD_BYTES
    assert 0 <= age_ns(payload) <= age_ns(payload)
