"""The measurement of routing strategies runs, and its table has a line for each."""

from harness.benchmarks import routing
from harness.tables import table_of


def test_every_strategy_is_measured_with_every_mix() -> None:
    rows = routing.run(sizes=[300])
    assert [(row.mix, row.strategy) for row in rows] == [
        (mix, strategy)
        for mix, strategies in (
            ("quotes", routing.STRATEGIES),
            ("mixture", routing.STRATEGIES),
            ("quotes, broker", routing.BROKER_STRATEGIES),
        )
        for strategy in strategies
    ]
    announced = {row.strategy: row.announced for row in rows if row.mix == "quotes"}
    assert all(row.announced == announced[row.strategy] for row in rows if row.mix == "quotes, broker")
    assert announced["simple"] == announced["identity"] == 300 > announced["covering"] > announced["merging"]
    assert len(table_of(rows).text().splitlines()) == 1 + len(rows)
