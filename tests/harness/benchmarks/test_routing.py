"""The measurement of routing strategies runs, and its table has a line for each."""

from harness.benchmarks import routing


def test_every_strategy_is_measured_with_every_mix() -> None:
    rows = routing.run(sizes=[300])
    assert [(row.mix, row.strategy) for row in rows] == [
        (mix, strategy) for mix in ("quotes", "mixture") for strategy in routing.STRATEGIES
    ]
    told = {row.strategy: row.told for row in rows if row.mix == "quotes"}
    assert told["simple"] == told["identity"] == 300 > told["covering"] > told["merging"]
    assert len(routing.table(rows).splitlines()) == 1 + len(rows)
