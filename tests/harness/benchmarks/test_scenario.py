from harness.benchmarks.scenario import Scenario


def test_brokers_in_a_chain_have_the_one_before_as_uplink() -> None:
    assert Scenario("", 3, 1, 1).uplinks() == {"B1": None, "B2": "B1", "B3": "B2"}


def test_brokers_in_a_star_have_the_first_as_uplink() -> None:
    assert Scenario("", 3, 1, 1, is_star=True).uplinks() == {"B1": None, "B2": "B1", "B3": "B1"}
