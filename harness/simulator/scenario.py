"""Scenario files: a schedule as text, by hand or from the explorer, with its output between the lines.

A line is an action (see `world`), a comment (`# ...`), `show`, `rest` or `go on`. `show` is followed by the
state at that moment, the others by the results of the liveness phase and the verdict; lines of output begin
with `= `.

    show    the deliveries of each subscription, replayed ones in brackets, and its gaps; what is pending at
            brokers, and why; publishers and subscriptions that are not open; the uplinks of brokers that heal
            by themselves
    routing NAME[+NAME]    the routing strategies of subscriptions and advertisements; before a broker starts
    rest    let everything arrive, join trees that are apart, and judge
    go on   let every publisher publish once more, which must arrive everywhere, and judge

Performing a file returns its text with new output: unchanged if all is as expected.
"""

from collections.abc import Iterator
from typing import Final

from broker.routing import parse
from harness.simulator.liveness import go_on, rest
from harness.simulator.message_texts import text_of
from harness.simulator.promises import broken_promises
from harness.simulator.record import Record, Stream
from harness.simulator.verdict import Fault
from harness.simulator.world import Action, World
from ordering.interface import OrderingFactory

PHASES: Final = {"rest": rest, "go on": go_on}

ROUTING: Final = "routing "

OUTPUT: Final = "= "
"""The beginning of a line of output."""


class ScheduleTextError(ValueError):
    """A line of a scenario that makes no sense where it stands."""


def perform(text: str, ordering: OrderingFactory) -> str:
    """Carry out a scenario; return its text with new output."""
    world = World(ordering)
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(OUTPUT):
            continue
        lines.append(line)
        if line and not line.startswith("#"):
            lines += [OUTPUT + each for each in _carry_out(world, line, number)]
    return "\n".join(lines) + "\n"


def _carry_out(world: World, line: str, number: int) -> list[str]:
    if line.startswith(ROUTING) and not world.sites:
        world.routing = parse(line.removeprefix(ROUTING))
        return []
    if line == "show":
        return list(_seen(world))
    if line in PHASES:
        return _judged(world, PHASES[line](world))
    try:
        made_sense = world.do(action_of(line))
    except (KeyError, TypeError) as error:
        raise ScheduleTextError(f"line {number}: {line!r} is no action: {error}") from error
    if not made_sense:
        raise ScheduleTextError(f"line {number}: {line!r} makes no sense at this point")
    return []


def action_of(line: str) -> Action:
    """Read an action from its text."""
    return tuple(int(word) if word.isdigit() else word for word in line.split())


def _seen(world: World) -> Iterator[str]:
    for name, stream in world.record.streams.items():
        yield " ".join([f"{name}:", *_deliveries_of(stream, world.record)])
    for site in world.sites.values():
        if site.dialling is not None:
            yield f"{site.name} waits to become a child of {site.dialling.hop.name}"
        for blocked in site.core.blocked():
            what = text_of(blocked.item)  # type: ignore[arg-type]  # a plugin keeps what it was given
            yield f"{site.name} keeps {what}: it waits for {blocked.reason}"
        if site.search is not None:
            uplink = site.core.uplink
            yield f"{site.name} is {'a root' if uplink is None else f'below {uplink.name}'}"
    for publisher in world.publishers.values():
        if not publisher.is_ready:
            yield f"{publisher.name} may not publish yet"
    for subscriber in world.subscribers.values():
        if not subscriber.is_open:
            yield f"{subscriber.name} has closed gates"


def _deliveries_of(stream: Stream, record: Record) -> Iterator[str]:
    """Yield what a subscription has delivered, and its gaps."""
    for place, number in enumerate((*stream.delivered, None)):
        if place in stream.gaps:
            yield "gap"
        if number is not None:
            name = str(record.publications[number])
            yield f"({name})" if stream.replayed >> number & 1 else name


def _judged(world: World, left: list[Fault]) -> list[str]:
    faults = [*left, *broken_promises(world)]
    distinct = dict.fromkeys(f"{kind}: {text}" for kind, text in faults)
    return [*_seen(world), *(distinct or ["every promise was kept"])]
