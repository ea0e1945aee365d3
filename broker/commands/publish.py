"""`concord publish`: publishes the objects of a file or a pipe, one event a line."""

import base64
import os
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import ExitStack, aclosing
from functools import partial

import click
import trio
from attrs import define, frozen

from broker.client import Publisher
from broker.commands.connecting import Connecting, connecting_options
from broker.commands.lines import Numbered, object_batches
from broker.commands.options import check_filter, one_word
from broker.errors import InvalidPublicationError, NotAdvertisedError
from broker.filters.constraints import Value

_NOT_PRINTED = "expected what concord subscribe prints: an object with attributes"


@frozen
class LineEvent:
    """What one line publishes."""

    attributes: Mapping[str, Value]
    payload: bytes
    ordered: bool


@click.command(
    name="publish",
    epilog="Example: concord publish --broker 127.0.0.1:7411 --advertise \"kind == 'trade'\" trades.jsonl",
)
@connecting_options
@click.option("--advertise", "advertised", metavar="FILTER", required=True, help="What will be published.")
@click.option("--payload", help="Text sent as the payload of every event.")
@click.option(
    "--from-subscribe",
    "is_printed",
    is_flag=True,
    help="Publish again what concord subscribe has printed: attributes, payloads and what is unordered.",
)
@click.option("--unordered", is_flag=True, help="Publish outside the order that subscribers agree on.")
@click.option("--when-wanted", is_flag=True, help="Read FILE only while somebody has subscribed to it.")
@click.argument("files", metavar="[FILE]", nargs=-1)
def command(  # noqa: PLR0913 - one for each option
    *,
    connecting: Connecting,
    advertised: str,
    payload: str | None,
    files: tuple[str, ...],
    is_printed: bool,
    unordered: bool,
    when_wanted: bool,
) -> None:
    """Publish the JSON objects of FILE (default: standard input), one per line, each an event's attributes.

    Ends when everything has been taken over by the broker. At a line that cannot be published it ends too,
    when all above it has been taken over, and says how many events that were. With --when-wanted it begins
    to read when a subscription, at any broker, overlaps FILTER, and pauses while none does; the events of one
    read (64 KiB at most) are then published when there is a subscription again.
    """
    file = one_word(files, "--advertise FILTER") or "-"
    check_filter(advertised)
    if is_printed and payload is not None:
        raise click.UsageError("--from-subscribe has a payload in each line: leave --payload out")
    read = printed_event if is_printed else partial(plain_event, payload=(payload or "").encode())

    async def run() -> None:
        with ExitStack() as stack:
            descriptor = _opened(file, stack)
            async with connecting.open() as client, client.advertise(advertised) as publisher:
                until_wanted = publisher.wanted if when_wanted else trio.lowlevel.checkpoint
                batches = object_batches(descriptor, until_wanted)
                await LinePublisher(publisher, read, unordered=unordered).publish_all(batches)

    trio.run(run)


def _opened(file: str, stack: ExitStack) -> int:
    """The file's descriptor, closed with the stack; standard input is left open."""
    if file == "-":
        return sys.stdin.fileno()
    try:
        descriptor = os.open(file, os.O_RDONLY)
    except OSError as error:
        raise click.UsageError(f"{file}: {error.strerror}") from error
    stack.callback(os.close, descriptor)
    return descriptor


def plain_event(line: Mapping[str, Value], *, payload: bytes) -> LineEvent:
    """Return the event of a line that has its attributes."""
    return LineEvent(line, payload, ordered=True)


def printed_event(line: Mapping[str, object]) -> LineEvent:
    """Return the event that `concord subscribe` has printed.

    Raises:
        InvalidPublicationError: the line is something else.
    """
    attributes, text, encoded = line.get("attributes"), line.get("payload", ""), line.get("payload_base64")
    if not isinstance(attributes, dict) or not isinstance(text, str):
        raise InvalidPublicationError(_NOT_PRINTED)
    try:
        payload = text.encode() if encoded is None else base64.b64decode(str(encoded), validate=True)
    except ValueError as error:
        raise InvalidPublicationError(f"the payload cannot be read: {error}") from error
    return LineEvent(attributes, payload, ordered=line.get("ordered") is not False)


@define
class LinePublisher:
    """Publishes lines, and counts them."""

    _publisher: Publisher
    _read: Callable[[Mapping[str, Value]], LineEvent]
    _unordered: bool = False
    _count: int = 0

    async def publish_all(self, batches: AsyncGenerator[list[Numbered], None]) -> None:
        """Publish every line; if one cannot be, flush, and say how many were published."""
        try:
            async with aclosing(batches):
                async for batch in batches:
                    for number, line in batch:
                        await self._publish(number, line)
        except click.ClickException as error:
            await self._publisher.flush()
            published = "1 event" if self._count == 1 else f"{self._count} events"
            raise click.ClickException(f"{error.message}; {published} above it went") from error

    async def _publish(self, number: int, line: Mapping[str, Value]) -> None:
        try:
            event = self._read(line)
            ordered = event.ordered and not self._unordered
            await self._publisher.publish(event.attributes, event.payload, ordered=ordered)
        except (InvalidPublicationError, NotAdvertisedError) as error:
            raise click.ClickException(f"line {number}: {error}") from error
        self._count += 1
