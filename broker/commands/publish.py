"""`concord publish`: publishes the objects of a file or a pipe, one event a line."""

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import ExitStack, aclosing

import click
import trio

from broker.client import Publisher
from broker.commands.connecting import Connecting, connecting_options
from broker.commands.lines import Numbered, object_batches
from broker.errors import InvalidPublicationError, NotAdvertisedError
from broker.filters import parse


@click.command(
    name="publish",
    epilog="Example: concord publish --broker 127.0.0.1:7411 --advertise \"kind == 'trade'\" trades.jsonl",
)
@connecting_options
@click.option("--advertise", "advertised", metavar="FILTER", required=True, help="What will be published.")
@click.option("--payload", default="", help="Text sent as the payload of every event.")
@click.option("--unordered", is_flag=True, help="Publish outside the order that subscribers agree on.")
@click.option("--when-wanted", is_flag=True, help="Read FILE only while somebody has subscribed to it.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True), default="-")
def command(  # noqa: PLR0913 - one for each option
    connecting: Connecting, advertised: str, payload: str, file: str, *, unordered: bool, when_wanted: bool
) -> None:
    """Publish the JSON objects of FILE (default: standard input), one per line, each an event's attributes.

    Ends when everything has been taken over by the broker. With --when-wanted it begins to read when
    a subscription, at any broker, overlaps FILTER, and pauses while none does; the events of one read
    (64 KiB at most) are then published when there is a subscription again.
    """
    parse(advertised)

    async def run() -> None:
        with ExitStack() as stack:
            descriptor = _opened(file, stack)
            async with connecting.open() as client, client.advertise(advertised) as publisher:
                until_wanted = publisher.wanted if when_wanted else trio.lowlevel.checkpoint
                batches = object_batches(descriptor, until_wanted)
                await _publish_all(publisher, batches, payload.encode(), ordered=not unordered)

    trio.run(run)


def _opened(file: str, stack: ExitStack) -> int:
    """The file's descriptor, closed with the stack; standard input is left open."""
    if file == "-":
        return sys.stdin.fileno()
    descriptor = os.open(file, os.O_RDONLY)
    stack.callback(os.close, descriptor)
    return descriptor


async def _publish_all(
    publisher: Publisher, batches: AsyncGenerator[list[Numbered], None], payload: bytes, *, ordered: bool
) -> None:
    async with aclosing(batches):
        async for batch in batches:
            for number, attributes in batch:
                try:
                    await publisher.publish(attributes, payload, ordered=ordered)
                except (InvalidPublicationError, NotAdvertisedError) as error:
                    raise click.ClickException(f"line {number}: {error}") from error
