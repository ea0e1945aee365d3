"""`concord publish`: publishes the objects of a file or a pipe, one event a line."""

import os
import sys
from contextlib import ExitStack

import click
import trio

from broker.client import Publisher
from broker.commands.connecting import Connecting, connecting_options
from broker.commands.lines import object_batches
from broker.errors import InvalidPublicationError, NotAdvertisedError
from broker.filters import parse

__all__ = ["command"]


@click.command(
    name="publish",
    epilog="Example: concord publish --broker 127.0.0.1:7411 --advertise \"kind == 'trade'\" trades.jsonl",
)
@connecting_options
@click.option("--advertise", "advertised", metavar="FILTER", required=True, help="What will be published.")
@click.option("--payload", default="", help="Text sent as the payload of every event.")
@click.option("--unordered", is_flag=True, help="Publish outside the order that subscribers agree on.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True), default="-")
def command(connecting: Connecting, advertised: str, payload: str, file: str, *, unordered: bool) -> None:
    """Publish the JSON objects of FILE (default: standard input), one per line, each an event's attributes.

    Ends when everything has been taken over by the broker.
    """
    parse(advertised)

    async def run() -> None:
        with ExitStack() as stack:
            descriptor = _opened(file, stack)
            async with connecting.open() as client, client.advertise(advertised) as publisher:
                await _publish_all(publisher, descriptor, payload.encode(), ordered=not unordered)

    trio.run(run)


def _opened(file: str, stack: ExitStack) -> int:
    """The file's descriptor, closed with the stack; standard input is left open."""
    if file == "-":
        return sys.stdin.fileno()
    descriptor = os.open(file, os.O_RDONLY)
    stack.callback(os.close, descriptor)
    return descriptor


async def _publish_all(publisher: Publisher, descriptor: int, payload: bytes, *, ordered: bool) -> None:
    async for batch in object_batches(descriptor):
        for number, attributes in batch:
            try:
                await publisher.publish(attributes, payload, ordered=ordered)
            except (InvalidPublicationError, NotAdvertisedError) as error:
                raise click.ClickException(f"line {number}: {error}") from error
