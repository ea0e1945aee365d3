"""What is judged of an overlay that changes its shape."""

from harness.reshaping.load import Attendance, Load, as_row, quantile


def load(**seen: list[tuple[str, int]]) -> Load:
    """Two authors have published twice; so much was seen."""
    made = Load("B1", 1.0, {"B1": 2, "B2": 2})
    made.seats = {name: Attendance(name, list(keys)) for name, keys in seen.items()}
    return made


ALL = [("B1", 0), ("B2", 0), ("B2", 1), ("B1", 1)]


def test_subscriptions_that_see_all_in_one_order_miss_nothing() -> None:
    assert load(B1=ALL, B2=ALL).judge().is_whole


def test_what_is_lost_repeated_or_out_of_order_is_counted() -> None:
    verdict = load(B1=ALL, B2=[*ALL[:2], ALL[3], ALL[3]], B3=[ALL[1], ALL[0], *ALL[2:]]).judge()
    assert (verdict.lost, verdict.repeated, verdict.is_whole) == (1, 1, False)
    assert verdict.disordered


def test_what_is_missing_behind_a_gap_is_not_lost() -> None:
    late = load(B1=ALL, B2=ALL[2:])
    late.seats["B2"].gaps = 1
    verdict = late.judge()
    assert (verdict.lost, verdict.unseen, verdict.is_whole) == (0, 2, True)


def test_events_are_late_on_their_way_down_from_the_root_and_up_to_it() -> None:
    made = load(B1=ALL, B2=ALL)
    made.seats["B1"].late_ms = [("B1", 1.0), ("B2", 7.0)]
    made.seats["B2"].late_ms = [("B1", 3.0), ("B2", 1.0), ("B1", 5.0)]
    row = as_row(made)
    assert (row["up_p50_ms"], row["down_p50_ms"], row["down_max_ms"]) == (7.0, 5.0, 5.0)
    assert quantile([], 0.5) == 0.0
