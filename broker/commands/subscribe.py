"""`concord subscribe`: prints deliveries, one JSON object a line."""

import base64
import sys
from functools import partial
from typing import Literal

import click

from broker.client import Deliveries, Delivery, Gap, Replay
from broker.client.limits import BOUND_BYTES
from broker.commands.connecting import Connecting, connecting_options, notice
from broker.commands.lines import to_json
from broker.commands.options import check_filter, one_word
from broker.commands.signals import run_until_interrupted


@click.command(
    name="subscribe",
    epilog="Example: concord subscribe --broker 127.0.0.1:7411 \"symbol == 'IBM'\" --count 10",
)
@connecting_options
@click.option("--count", type=click.IntRange(min=1), help="End after so many deliveries.")
@click.option("--unordered", is_flag=True, help="Subscribe outside the order that subscribers agree on.")
@click.option(
    "--policy",
    type=click.Choice(["disconnect", "drop"]),
    help="What the broker does when deliveries wait beyond the bound: end, or leave a gap. "
    "[default: disconnect; drop with --durable]",
)
@click.option(
    "--bound-bytes",
    type=click.IntRange(min=1),
    default=BOUND_BYTES,
    show_default=True,
    help="How much may wait at the broker.",
)
@click.option(
    "--durable", default="", metavar="NAME", help="Keep the subscription under this name, and its place."
)
@click.option(
    "--age", type=click.FloatRange(min=0), default=0, metavar="S", help="Keep a durable one for so long."
)
@click.option("--after", type=click.IntRange(min=0), help="Go on behind this position of a durable one.")
@click.option(
    "--replay",
    metavar="AGE|COUNT",
    help="Begin with the past: not older than 5m (90s, 1h30m, now), or the newest 1000.",
)
@click.option(
    "--forget", metavar="NAME", help="End the durable subscription of that name, and do nothing else."
)
@click.argument("words", metavar="[FILTER]", nargs=-1)
def command(  # noqa: PLR0913 - one per option
    *,
    connecting: Connecting,
    words: tuple[str, ...],
    count: int | None,
    policy: Literal["disconnect", "drop"] | None,
    bound_bytes: int,
    durable: str,
    age: float,
    after: int | None,
    replay: str | None,
    forget: str | None,
    unordered: bool,
) -> None:
    """Print what matches FILTER: publisher, sequence, published_at, attributes and payload of each delivery.

    A payload that is no UTF-8 text is printed as payload_base64, and a number that JSON does not have (NaN,
    the infinities) as null. Gaps and lost connections are reported on standard error. What is printed can be
    published again by concord publish --from-subscribe.
    """
    filter_text = one_word(words, "FILTER")
    if forget is not None:
        run_until_interrupted(partial(_forget, connecting, forget))
        return
    if filter_text is None:
        raise click.UsageError("give a FILTER to subscribe to, or --forget NAME")
    if not durable and (age or after is not None):
        raise click.UsageError("--age and --after are for durable subscriptions: give --durable NAME")
    check_filter(filter_text)
    past = None if replay is None else _past_of(replay)

    async def run() -> None:
        async with (
            connecting.open() as client,
            client.subscribe(
                filter_text,
                ordered=not unordered,
                policy=policy,
                bound_bytes=bound_bytes,
                durable=durable,
                age_s=age,
                after=after,
                replay=past,
            ) as deliveries,
        ):
            notice(f"subscribed to {filter_text} at {client.broker}")
            await _print_all(deliveries, count)

    run_until_interrupted(run)


def _past_of(text: str) -> Replay:
    try:
        return Replay.of(text)
    except ValueError as error:
        raise click.UsageError(f"--{error}") from None


async def _forget(connecting: Connecting, durable: str) -> None:
    async with connecting.open() as client:
        await client.forget(durable)
        notice(f"{durable} is forgotten at {client.broker}")


async def _print_all(deliveries: Deliveries, count: int | None) -> None:
    """Print until so many have been printed, or for ever."""
    printed_count = 0
    async for item in deliveries.with_gaps():
        if isinstance(item, Gap):
            notice(str(item))
            continue
        _print(item)
        printed_count += 1
        if printed_count == count:
            return


def _print(delivery: Delivery) -> None:
    """Print one line and flush it: its reader may be waiting for it."""
    sys.stdout.write(to_json(as_json(delivery)) + "\n")
    sys.stdout.flush()


def as_json(delivery: Delivery) -> dict[str, object]:
    """Return what is printed of a delivery."""
    shown: dict[str, object] = {
        "publisher": delivery.publisher,
        "sequence": delivery.sequence,
        "position": delivery.position,
        "published_at": delivery.published_at,
        "attributes": delivery.attributes,
    }
    if not delivery.ordered:
        shown["ordered"] = False
    if delivery.replayed:
        shown["replayed"] = True
    try:
        shown["payload"] = delivery.payload.decode()
    except UnicodeDecodeError:
        shown["payload_base64"] = base64.b64encode(delivery.payload).decode()
    return shown
