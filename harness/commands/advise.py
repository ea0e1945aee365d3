"""`concord harness advise`: the routing that suits a run, from what it has counted."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import attrs
import click

from broker.commands.extras import require_extras
from broker.commands.lines import to_json
from broker.errors import ConcordError
from broker.filters import parse
from broker.routing import RouteFilter
from harness.advice import AdvisedLoad, AdvisedOverlay, RoutingCost, advised, costs
from harness.runs.directory import RUN_FILE, about
from harness.runs.plan import publisher_seats, subscriber_seats
from harness.scenarios import Scenario, from_content, interests
from harness.tables import Column, number, show, table, whole


class AdviceError(ConcordError):
    """A run allows no advice; the text has the reason."""


@click.command("advise", epilog="Example: concord harness advise runs/quick/pairwise --changes 5")
@click.argument("directory", type=click.Path(path_type=Path), metavar="DIR")
@click.option(
    "--changes",
    type=click.FloatRange(min=0),
    help="Subscriptions that come or go in a second.  [default: as many as the run had subscriptions, over "
    "its time]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the costs as JSON.")
def command(*, directory: Path, changes: float | None, as_json: bool) -> None:
    """Say which routing suits the overlay and the load of the run in DIR.

    How many links an event takes is counted by the run's brokers; tables and messages for a change are worked
    out from its subscriptions and advertisements.
    """
    require_extras("harness")
    run = about(directory)
    scenario = _scenario(run, directory)
    load = _load(directory, run, scenario, changes)
    found = costs(_overlay(run, scenario), load)
    best = advised(found)
    if as_json:
        rows = [attrs.asdict(each) for each in found]
        click.echo(to_json({"advised": best.routing, "load": attrs.asdict(load), "costs": rows}))
        return
    show(table(_COLUMNS, found))
    click.echo(
        f"\nadvised: {best.routing}, with {load.events_per_s:,.1f} events and {load.changes_per_s:,.2f} "
        f"changes a second; an event takes {load.links_for_event:.1f} of {len(_uplinks(run)) - 1} links"
    )


_COLUMNS: tuple[Column[RoutingCost], ...] = (
    ("routing", lambda each: each.routing),
    ("entries", lambda each: whole(each.entries)),
    ("messages for a change", lambda each: number(each.messages_for_change)),
    ("pays from events for each change", lambda each: number(each.break_even)),
    ("messages a second", lambda each: number(each.messages_per_s)),
)


def _scenario(run: Mapping[str, object], directory: Path) -> Scenario:
    settings = run.get("settings")
    if not isinstance(settings, Mapping):
        raise AdviceError(
            f"{directory}/{RUN_FILE} has no settings: give the directory of a run of the harness"
        )
    return from_content("run", settings, str(directory / RUN_FILE)).first


def _uplinks(run: Mapping[str, object]) -> dict[str, str]:
    found = run.get("uplinks")
    return {str(name): str(above) for name, above in found.items()} if isinstance(found, Mapping) else {}


def _overlay(run: Mapping[str, object], scenario: Scenario) -> AdvisedOverlay:
    clients = interests(scenario.filters, scenario.seed)
    wanted: dict[str, list[RouteFilter]] = {}
    for seat in subscriber_seats(scenario):
        for name in seat.roles:
            route = RouteFilter(name, parse(clients.wanted(name, seat.place)))
            wanted.setdefault(seat.broker, []).append(route)
    advertised = {
        seat.broker: parse(clients.advertised(seat.name, seat.place)) for seat in publisher_seats(scenario)
    }
    return AdvisedOverlay(_uplinks(run), wanted, {name: [each] for name, each in advertised.items()})


def _load(
    directory: Path, run: Mapping[str, object], scenario: Scenario, changes: float | None
) -> AdvisedLoad:
    published = run.get("published")
    sent = sum(_grown(directory, "publications_out"))
    if not isinstance(published, int) or not published:
        raise AdviceError(f"{directory}: nothing was published, so nothing is known of its events")
    if str(run.get("routing", "")).startswith("flooding"):
        raise AdviceError(
            f"{directory}: its routing was {run['routing']}, which does not show what filters save"
        )
    per_s = scenario.subscribers.count / scenario.duration_s if changes is None else changes
    return AdvisedLoad(published / scenario.duration_s, per_s, sent / published)


def _grown(directory: Path, counter: str) -> Iterator[float]:
    """Yield how much a counter grew at each broker, and after each of its starts."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - only who has a run needs it

    rows = pq.read_table(directory / "brokers", filters=[("counter", "=", counter)]).to_pylist()
    before: dict[str, float] = {}
    for row in sorted(rows, key=lambda row: (row["broker"], row["at_ns"], row["value"])):
        last = before.get(row["broker"], 0.0)
        yield row["value"] - last if row["value"] >= last else row["value"]
        before[row["broker"]] = row["value"]
