"""Every pair of routing strategies keeps every promise under churn, and what does not is found."""

import pytest
from click.testing import CliRunner

from broker.routing import Routing, Strategy, parse
from broker.routing.simple import Simple
from harness.explorer.configurations import imperfect, invalid
from harness.explorer.mutants import applied
from harness.explorer.strategies import PAIRS, illegal, main, run, runs
from harness.simulator.scenario import action_of
from harness.simulator.world import World
from ordering.fifo import Fifo
from tests.harness.explorer.odd_strategies import HOARDING, OVERLAPPING

FEW = range(10)


@pytest.mark.parametrize("pair", PAIRS)
def test_every_pair_keeps_every_promise_under_churn(pair: str) -> None:
    row = runs(pair, FEW)
    assert row.first == ""
    assert (row.runs, row.failures) == (len(FEW), 0)
    assert row.deliveries
    assert row.steps


def kinds_of_faults(strategy: Strategy) -> set[str]:
    routing = Routing(strategy, Simple())
    return {kind for seed in range(30) for kind, _ in run(seed, routing).faults}


def texts(strategy: Strategy) -> list[str]:
    routing = Routing(strategy, Simple())
    return [text for seed in range(30) for kind, text in illegal(seed, routing) if kind == "illegal"]


def test_a_strategy_that_announces_too_little_is_illegal_and_its_tables_are_not_valid() -> None:
    found = texts(OVERLAPPING)
    assert any("announced nothing (3)" in text for text in found)
    assert "configuration" in kinds_of_faults(OVERLAPPING)


def test_a_strategy_that_never_forgets_is_legal_and_leaves_something() -> None:
    assert texts(HOARDING) == []
    assert kinds_of_faults(HOARDING) >= {"configuration", "left"}
    assert kinds_of_faults(HOARDING).isdisjoint({"missing", "promise"})


@pytest.mark.parametrize(
    ("mutant", "kind"), [("no-gates", "configuration"), ("late-farewell", "configuration")]
)
def test_a_broken_broker_is_found_in_its_tables(mutant: str, kind: str) -> None:
    with applied(mutant):
        found = [run(seed, parse("simple")).faults for seed in range(100)]
    assert any(kind == each for faults in found for each, _ in faults)


def after(text: str, routing: str = "simple") -> World:
    world = World(Fifo, parse(routing))
    for line in text.split(" / "):
        assert world.do(action_of(line)), line
    return world


SETTLED = (
    "start B1 / start B2 / start B3 / dial B2 B1 / drain / dial B3 B1 / drain / "
    "advertise P1 B1 ab / subscribe S1 B2 ac / drain"
)


def test_a_settled_world_is_valid_and_perfect() -> None:
    world = after(SETTLED)
    assert list(invalid(world)) == []
    assert list(imperfect(world)) == []


def test_a_link_that_sends_too_little_is_invalid() -> None:
    world = after(SETTLED)
    core = world.sites["B1"].core
    core.tables.remove_entry(core.neighbours["B2"], "S1")
    assert list(invalid(world)) == ["B1 towards B2 lacks a for S1"]


def test_a_link_that_sends_more_than_is_asked_for_is_imperfect() -> None:
    world = after(f"{SETTLED} / unsubscribe S1")
    assert list(invalid(world)) == []
    assert list(imperfect(world)) == ["B1 towards B2 sends a, c, which nobody asks for"]


def test_flooding_is_valid_and_sends_everything() -> None:
    world = after(SETTLED, "flooding")
    assert list(invalid(world)) == []
    assert len(list(imperfect(world))) > 0


def test_the_command_prints_a_row_per_pair_and_where_to_look() -> None:
    result = CliRunner().invoke(main, ["--runs", "3", "--routing", "covering"])
    assert result.exit_code == 0
    assert result.output.splitlines()[-1].startswith("| covering | covering | 3 | ")
