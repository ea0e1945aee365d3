"""What `concord explain --advise` does: it asks all brokers of the overlay, and prints the advice.

Every broker is asked by itself, from the one of --broker along links: so brokers that ended long ago are not
looked for, and one that cannot be asked is named. Asked twice, they say what happened in between.
"""

from collections.abc import Iterator, Mapping, Sequence

import attrs
import click
import trio
from attrs import frozen

from broker.addresses import parse_address
from broker.advice import (
    Advice,
    AdvisedStep,
    BrokerTraffic,
    TrafficError,
    TreeCost,
    advise,
    read_traffic,
    root_of,
)
from broker.commands.connecting import Connecting
from broker.commands.lines import to_json
from broker.errors import ConcordError


@frozen
class Survey:
    """What brokers have counted, and where each of them is."""

    traffic: Sequence[BrokerTraffic]
    addresses: Mapping[str, str]


async def surveyed(connecting: Connecting, seconds: float) -> Survey:
    """Ask all brokers what they count within some seconds; what they have counted until now if that is 0."""
    before = await _asked(connecting)
    if not seconds:
        return before
    await trio.sleep(seconds)
    after, counted = await _asked(connecting), {each.broker: each for each in before.traffic}
    if {each.broker: each.uplink for each in after.traffic} != {
        name: each.uplink for name, each in counted.items()
    }:
        raise TrafficError("the tree has changed meanwhile: ask again when no broker is on its way")
    return attrs.evolve(after, traffic=[each.since(counted[each.broker]) for each in after.traffic])


async def _asked(connecting: Connecting) -> Survey:
    """Ask the broker, its neighbours, theirs, and so on."""
    async with connecting.open() as client:
        addresses = {str(each["name"]): str(each["address"]) for each in await client.brokers()}
        found = {client.broker: read_traffic(await client.explain_traffic())}
    todo = [*found]
    for name in todo:
        for neighbour in (found[name].uplink, *found[name].children):
            if neighbour and neighbour not in found:
                found[neighbour] = await _ask(connecting, neighbour, addresses.get(neighbour, ""))
                todo.append(neighbour)
    return Survey([found[name] for name in sorted(found)], addresses)


async def _ask(connecting: Connecting, name: str, address: str) -> BrokerTraffic:
    if not address:
        raise TrafficError(
            f"{name} cannot be asked: it listens where nobody can dial it (--advertise-address)"
        )
    there = attrs.evolve(connecting, brokers=(parse_address(address),), retry=False, learn=False)
    try:
        async with there.open() as client:
            return read_traffic(await client.explain_traffic())
    except (ConcordError, OSError) as error:
        raise TrafficError(f"{name} at {address} cannot be asked: {error}") from error


def advice_on(survey: Survey, children_max: int, *, keeps_root: bool) -> Advice:
    """Return the advice for an overlay.

    Raises:
        TrafficError: there is one broker only, or it has counted too little.
    """
    if len(survey.traffic) == 1:
        raise TrafficError(f"{survey.traffic[0].broker} is alone: there is nothing to move")
    return advise(survey.traffic, children_max, keeps_root=keeps_root)


def print_advice(survey: Survey, children_max: int, *, keeps_root: bool, as_json: bool) -> None:
    """Print the advice for an overlay, for people or for programs."""
    advice = advice_on(survey, children_max, keeps_root=keeps_root)
    for line in [json_of(survey, advice)] if as_json else lines_of(survey, advice):
        click.echo(line)


def json_of(survey: Survey, advice: Advice) -> str:
    """Return everything as one JSON object."""
    rows = [
        {
            **{
                each: getattr(row, each)
                for each in ("broker", "uplink", "published", "delivered", "deferred")
            },
            "waiting_s": row.waiting_s,
            "advised": advice.uplinks[row.broker],
        }
        for row in survey.traffic
    ]
    return to_json(
        {
            "brokers": rows,
            "before": attrs.asdict(advice.before),
            "after": attrs.asdict(advice.after),
            "steps": [attrs.asdict(each) for each in advice.steps],
            "link_s": advice.link_s,
            "searched": advice.is_searched,
        }
    )


def lines_of(survey: Survey, advice: Advice) -> Iterator[str]:
    """Yield what was counted, what the advised tree gains, and the commands that lead there."""
    for each in survey.traffic:
        waited = f", of {each.deferred} that waited {_mean_ms(each)} each" if each.deferred else ""
        place = f"below {each.uplink}" if each.uplink else "the root"
        yield f"{each.broker}, {place}: {each.published} published, {each.delivered} delivered{waited}"
    if left_out := sum(each.left_out for each in survey.traffic):
        yield f"without {left_out} filters with little traffic, or too long to be asked for"
    yield f"now a delivery {_described(advice.before, advice)}"
    if not advice.steps:
        yield "no other tree gains enough to move for"
    else:
        yield f"it {_described(advice.after, advice)}, {advice.gain:.0%} less, after"
        yield from (f"  {_command(step, survey, advice)}" for step in advice.steps)
    if not advice.is_searched:
        yield "the overlay is too large to search all of it: ask again afterwards"


def _mean_ms(traffic: BrokerTraffic) -> str:
    return f"{traffic.waiting_s / traffic.deferred * 1000:.2f} ms"


def _described(cost: TreeCost, advice: Advice) -> str:
    travelled, waited = cost.travelled / cost.deliveries, cost.waited / cost.deliveries
    text = f"takes {travelled:.2f} links and waits for {waited:.2f} more"
    return text if advice.link_s is None else f"{text}, {waited * advice.link_s * 1000:.2f} ms"


def _command(step: AdvisedStep, survey: Survey, advice: Advice) -> str:
    """Return the command of a step, given to the broker that is the root in the end."""
    root = root_of(advice.uplinks)
    at = f"--broker {survey.addresses.get(root, root)}"
    if step.verb == "move":
        return f"concord move {step.broker} --uplink {step.uplink} {at}"
    if step.verb == "drain":
        return f"concord drain {step.broker} {at}   # its clients go elsewhere, behind a gap"
    uplink = survey.addresses.get(step.uplink, step.uplink)
    return (
        f"concord broker --name {step.broker} --uplink {uplink} ...   # start it again, below {step.uplink}"
    )
