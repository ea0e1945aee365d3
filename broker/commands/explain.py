"""`concord explain`: what is pending at a broker, the way of a publication, or a better tree of brokers."""

import time
from collections.abc import Sequence

import click
import trio

from broker.advice import CHILDREN
from broker.client import Client
from broker.commands.advising import print_advice, surveyed
from broker.commands.connecting import Connecting, connecting_options
from broker.commands.lines import to_json
from broker.commands.options import SPAN

Answer = dict[str, object]


@click.command(
    name="explain", epilog="Example: concord explain --broker 127.0.0.1:7411 alice@B1.5f0c21aa/3 17"
)
@connecting_options
@click.option("--uplinks", is_flag=True, help="Show the uplink, and whom the broker would dial without it.")
@click.option("--durable", is_flag=True, help="Show the durable subscriptions of this user and --name.")
@click.option("--advise", is_flag=True, help="Name the root and the uplinks that let events wait less.")
@click.option(
    "--for",
    "seconds",
    type=SPAN,
    default="10s",
    show_default=True,
    help="How long to count for --advise; 0 takes what clients have done since they came.",
)
@click.option(
    "--children",
    "children_max",
    type=click.IntRange(min=1),
    default=CHILDREN,
    show_default=True,
    help="How many children a broker may have by --advise, unless it has more.",
)
@click.option("--keep-root", is_flag=True, help="Advise moves alone: no other root.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
@click.argument("publisher", required=False)
@click.argument("sequence", required=False, type=click.IntRange(min=1))
def command(  # noqa: PLR0913 - one per option
    connecting: Connecting,
    publisher: str | None,
    sequence: int | None,
    *,
    advise: bool,
    seconds: float,
    children_max: int,
    keep_root: bool,
    durable: bool,
    uplinks: bool,
    as_json: bool,
) -> None:
    """Show what waits at the broker; or, for PUBLISHER and SEQUENCE, which way that publication took.

    A publication is named as subscribers see it. Brokers remember the last few thousand.

    With --advise all brokers of the overlay are asked what their clients publish and get, and how long events
    wait. Nothing is moved; who asks has to be allowed to.
    """
    if publisher is not None and sequence is None:
        raise click.UsageError("PUBLISHER needs a SEQUENCE: together they name one publication")

    if sum((publisher is not None, uplinks, durable, advise)) > 1:
        raise click.UsageError("ask for one thing: PUBLISHER, --uplinks, --durable or --advise")

    if advise:
        survey = trio.run(surveyed, connecting, seconds)
        print_advice(survey, children_max, keeps_root=keep_root, as_json=as_json)
        return

    async def run() -> None:
        async with connecting.open() as client:
            broker = client.broker
            answers = await _ask(client, publisher or "", sequence or 0, uplinks=uplinks, durable=durable)
        if as_json:
            lines = [to_json(each) for each in answers]
        elif durable:
            lines = _durable(broker, answers)
        elif uplinks:
            lines = _uplinks(answers[0])
        else:
            lines = (
                _waiting(broker, answers) if publisher is None else _way(f"{publisher} {sequence}", answers)
            )
        for line in lines:
            click.echo(line)

    trio.run(run)


async def _ask(
    client: Client, publisher: str, sequence: int, *, uplinks: bool, durable: bool
) -> Sequence[Answer]:
    if durable:
        return await client.durable_subscriptions()
    if uplinks:
        return [await client.explain_uplinks()]
    return await client.explain(publisher, sequence)


def _durable(broker: str, answers: Sequence[Answer]) -> list[str]:
    if not answers:
        return [f"{broker} keeps no durable subscription for this user and name"]
    return [
        f"{each['durable']}: {each['filter']}, had up to {each['taken']} of {each['emitted']}, "
        f"{each['queued_bytes']} bytes wait{'' if each['connected'] else '; nobody reads it'}"
        for each in answers
    ]


def _waiting(broker: str, answers: Sequence[Answer]) -> list[str]:
    if not answers:
        return [f"nothing waits at {broker}"]
    return [
        f"{each['target']}: waits for {_item(each['head'])}{_since(each)}, which needs {each['needs']}"
        f"{_owed_by(each)}; {each['behind']} behind it"
        for each in answers
    ]


def _uplinks(answer: Answer) -> list[str]:
    """Return where the broker is in the overlay, and a line per broker that it would dial."""
    uplink = answer["uplink"]
    above = f"below {uplink} at {answer['uplink_address']}" if uplink is not None else "the root of its tree"
    candidates = answer["candidates"]
    assert isinstance(candidates, list)
    return [
        f"{answer['broker']} at {answer['address'] or 'no address'} is {above}",
        f"  attachments so far: {answer['moves']}, brokers it knows: {answer['known']}",
        *(f"  would dial {each['address']} {each['name']} ({each['why']})" for each in candidates),
    ]


def _since(each: Answer) -> str:
    published_ns = each["published_ns"]
    if not isinstance(published_ns, int):
        return ""
    return f", published {(time.time_ns() - published_ns) / 1e9:.3f} s ago"


def _owed_by(each: Answer) -> str:
    return f" (from {each['from']})" if each["from"] is not None else ""


def _item(head: object) -> str:
    assert isinstance(head, dict)
    return f"{head['publisher']} {head['sequence']}" if "publisher" in head else str(head["control"])


def _way(publication: str, answers: Sequence[Answer]) -> list[str]:
    """Return one line a broker, from where the publication came in."""
    known = [each for each in answers if each["remembered"]]
    if not known:
        return [f"{publication}: no broker that was asked remembers it"]
    steps = sorted(known, key=lambda step: step["came_from"] != "a client")
    return [
        f"{publication}:",
        *(
            f"  {each['broker']}: from {each['came_from'] or 'a link that is gone'}{_to(each)}"
            for each in steps
        ),
    ]


def _to(step: Answer) -> str:
    text = ""
    for word, key in ((" to ", "went_to"), (" waits for ", "waits_for")):
        names = step[key]
        assert isinstance(names, list)
        if names:
            text += f",{word}{', '.join(names)}"
    gone = step["hops_gone_since"]
    return text + (f", and {gone} that are gone" if gone else "")
