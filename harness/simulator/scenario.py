"""Scenario files: a schedule written down, by hand or by the explorer, and what comes out between its lines.

A line is an action (see `world`), a comment (`# ...`), `show`, `rest` or `go on`. After `show` stands what
there is to see at that moment, after the others what the liveness phase and the verdict say; these lines
begin with `= `.

    show    what each subscription has delivered, what was replayed in brackets, and where it was told a gap;
            what brokers keep, and why; who still waits to begin; where brokers that heal by themselves are in
            the tree
    routing NAME[+NAME]    how subscriptions and advertisements are passed on; before a broker starts
    rest    let everything arrive, join what is apart, and judge
    go on   let everybody publish once more, which must arrive everywhere, and judge

A file is performed, and gives itself with these lines written anew: unchanged if all is as expected.
"""

from collections.abc import Iterator
from typing import Final

from broker.routing import parse
from harness.simulator.liveness import go_on, rest
from harness.simulator.promises import broken_promises
from harness.simulator.record import Record, Stream
from harness.simulator.telling import told
from harness.simulator.verdict import Fault
from harness.simulator.world import Action, World
from ordering.interface import OrderingFactory

PHASES: Final = {"rest": rest, "go on": go_on}

ROUTING: Final = "routing "

OUTPUT: Final = "= "
"""How a line of output begins."""


class ScheduleTextError(ValueError):
    """A line of a scenario that makes no sense where it stands."""


def perform(text: str, ordering: OrderingFactory) -> str:
    """Carry out a scenario; return it with what came out."""
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
        yield " ".join([f"{name}:", *_told(stream, world.record)])
    for site in world.sites.values():
        if site.dialling is not None:
            yield f"{site.name} waits to become a child of {site.dialling.hop.name}"
        for blocked in site.core.blocked():
            what = told(blocked.item)  # type: ignore[arg-type]  # a plugin keeps what it was given
            yield f"{site.name} keeps {what}: it waits for {blocked.reason}"
        if site.search is not None:
            uplink = site.core.uplink
            yield f"{site.name} is {'a top' if uplink is None else f'below {uplink.name}'}"
    for publisher in world.publishers.values():
        if not publisher.is_ready:
            yield f"{publisher.name} may not publish yet"
    for subscriber in world.subscribers.values():
        if not subscriber.is_open:
            yield f"{subscriber.name} has closed gates"


def _told(stream: Stream, record: Record) -> Iterator[str]:
    """What a subscription has delivered, and where it was told a gap."""
    for place, number in enumerate((*stream.delivered, None)):
        if place in stream.gaps:
            yield "gap"
        if number is not None:
            name = str(record.publications[number])
            yield f"({name})" if stream.replayed >> number & 1 else name


def _judged(world: World, left: list[Fault]) -> list[str]:
    faults = [*left, *broken_promises(world)]
    told_once = dict.fromkeys(f"{kind}: {text}" for kind, text in faults)
    return [*_seen(world), *(told_once or ["every promise was kept"])]
