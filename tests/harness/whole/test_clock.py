import pytest

from harness.whole.clock import Clock, RestlessClockError


def test_things_happen_in_the_order_of_their_times_and_then_of_their_making() -> None:
    clock, seen = Clock(), list[str]()
    clock.after(2, lambda: seen.append("late"))
    clock.after(1, lambda: seen.append("first"))
    clock.after(1, lambda: seen.append("second"))
    clock.run(1.5)
    assert seen == ["first", "second"]
    clock.run(3)
    assert seen == ["first", "second", "late"]
    assert clock.now_s == 3


def test_calls_that_never_end_raise() -> None:
    clock = Clock()

    def again() -> None:
        clock.after(0, again)

    again()
    with pytest.raises(RestlessClockError, match="time stands still"):
        clock.run(1)
