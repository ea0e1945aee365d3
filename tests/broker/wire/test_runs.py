"""What is asked of runs of publications."""

from broker.messages import Pong
from broker.publication import Publication
from broker.wire import (
    encode_publication,
    going_on,
    joined,
    marked,
    plainly_joined,
    publication_prefix,
)


def _event(sequence: int, *, publisher: str = "p", mark: int = 0, kind: str = "a") -> Publication:
    frame = encode_publication(
        publication_prefix(publisher), sequence, 100 - sequence, {"kind": kind}, b"x" * sequence, ordered=True
    )
    return Publication(publisher, sequence, {"kind": kind}, True, frame, mark, 100 - sequence)


def test_a_run_goes_on_while_numbers_follow() -> None:
    events = [_event(number) for number in (4, 5, 6, 8)]
    size_bytes = sum(len(each.frame) for each in events[1:3])
    assert going_on(events, 1, "p", 4, bool) == (2, size_bytes)
    assert going_on(events, 1, "p", 5, bool) == (0, 0)
    assert going_on(events, 4, "p", 8, bool) == (0, 0)


def test_a_run_ends_before_what_another_has_published_what_does_not_match_and_what_is_no_event() -> None:
    for other in (_event(2, publisher="q"), _event(2, kind="b"), Pong(2)):
        messages = [_event(1), other, _event(2)]
        size_bytes = len(_event(1).frame)
        assert going_on(messages, 0, "p", 0, lambda it: it["kind"] == "a") == (1, size_bytes)


def test_frames_are_joined_with_their_marks() -> None:
    one, other = _event(1), _event(2, mark=3)
    assert joined([one]) == one.frame
    assert joined([one, other]) == one.frame + marked(other.frame, 3)
    assert joined([one, Pong(1)]) is None


def test_frames_are_joined_plainly_for_those_who_keep_them() -> None:
    one, other = _event(1), _event(2, mark=3)
    assert plainly_joined([other]) == (other.frame, 98)
    assert plainly_joined([one, other]) == (one.frame + other.frame, 99)
