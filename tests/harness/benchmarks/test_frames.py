import struct

from hypothesis import given
from hypothesis import strategies as st

from broker.filters import parse
from harness.benchmarks.frames import ADVERTISED, EVENTS, PAYLOAD_BYTES, SUBSCRIBED, age_ns, cut, stamped


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
