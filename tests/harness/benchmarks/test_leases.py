"""The benchmark of leases measures what it says."""

from harness.benchmarks import leases


def test_the_cost_is_that_of_brokers_that_agree() -> None:
    cells = leases._cost("covering", 50)
    assert cells[:2] == ("covering", "50")
    assert 0 < int(cells[-1]) < 20


def test_recovery_counts_worlds_and_corruptions() -> None:
    cells = leases._recovery("simple", 3)
    assert cells[:2] == ("simple", "3")
    assert int(cells[2]) > 0
    assert int(cells[3]) == 0
