"""What a lone event costs is measured on events that everybody is delivered."""

from harness.benchmarks.lone import run


def test_more_subscribers_cost_more() -> None:
    one, many = run((1, 40), events=100)
    assert (one.subscribers, many.subscribers) == (1, 40)
    assert 0 < one.read_us < many.read_us
    assert 0 < one.written_us < many.written_us
