"""`concord subscribe`: prints what is delivered, one JSON object a line."""

import base64
import json
import sys
from typing import Literal

import click
import trio

from broker.client import Deliveries, Delivery, Gap
from broker.client.limits import BOUND_BYTES
from broker.commands.connecting import Connecting, connecting_options, notice
from broker.filters import parse

__all__ = ["command"]


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
    default="disconnect",
    show_default=True,
    help="What the broker does when deliveries wait beyond the bound: end, or leave a gap.",
)
@click.option(
    "--bound-bytes",
    type=click.IntRange(min=1),
    default=BOUND_BYTES,
    show_default=True,
    help="How much may wait at the broker.",
)
@click.argument("filter_text", metavar="FILTER")
def command(  # noqa: PLR0913 - one per option
    connecting: Connecting,
    filter_text: str,
    count: int | None,
    policy: Literal["disconnect", "drop"],
    bound_bytes: int,
    *,
    unordered: bool,
) -> None:
    """Print what matches FILTER: publisher, sequence, published_at, attributes and payload of each delivery.

    A payload that is no UTF-8 text is printed as payload_base64. Gaps and lost connections are reported on
    standard error.
    """
    parse(filter_text)

    async def run() -> None:
        async with (
            connecting.open() as client,
            client.subscribe(
                filter_text, ordered=not unordered, policy=policy, bound_bytes=bound_bytes
            ) as deliveries,
        ):
            notice(f"subscribed to {filter_text} at {client.broker}")
            await _print_all(deliveries, count)

    trio.run(run)


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
    """One line, handed on at once: whoever reads it may be waiting for it."""
    sys.stdout.write(json.dumps(_as_json(delivery), ensure_ascii=False) + "\n")
    sys.stdout.flush()


def _as_json(delivery: Delivery) -> dict[str, object]:
    shown: dict[str, object] = {
        "publisher": delivery.publisher,
        "sequence": delivery.sequence,
        "published_at": delivery.published_at,
        "attributes": delivery.attributes,
    }
    try:
        shown["payload"] = delivery.payload.decode()
    except UnicodeDecodeError:
        shown["payload_base64"] = base64.b64encode(delivery.payload).decode()
    return shown
