"""Throws lines at `concord publish`: `python -m harness.fuzz.json_lines --seconds 60 --seed 1`.

A case is a file and how much of it one read takes. Its lines are published, or one of them is named by the
line that says what is wrong. The same comes out however the file is cut into reads.
"""

import os
import re
import tempfile
from collections.abc import Mapping
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Final, cast
from unittest.mock import patch

import trio
from attrs import define, frozen

from broker.backoff import Backoff
from broker.client.limits import Limits
from broker.client.machine import ClientMachine
from broker.client.outbox import Outbox
from broker.client.session import Session
from broker.client.window import Source
from broker.commands import lines as product
from broker.commands.publish import LinePublisher, plain_event
from broker.filters import parse
from broker.filters.constraints import Value
from harness.fuzz.campaigns import Campaign, Crash, FuzzTally, command_for, line_of
from harness.fuzz.mutations import spoilt

if TYPE_CHECKING:
    from broker.client import Publisher

FILTERS: Final = (
    *("True", "x == 1", "x > 0 and kind.startswith('a')", "exists(x)"),
    *("x is None or len(x) > 0", "x.y is not None or any(exists(i.y) for i in x)"),
)

LINE_BYTES_MAX: Final = 8 * 1024
"""The bound of a line, made small so that cases reach it."""

_LINES: Final = (
    b'{"x": 1, "kind": "abc"}\n{"x": 2.5, "open": true}\n\n{"x": -3, "kind": ""}',
    b'{"kind": "\\u00e9\\ud83d\\ude00", "x": 1}\n',
    b'{"x": "\\ud800"}\n',
    b'{"\\ud800": 1}\n{"x": 1}\n',
    b'{"x": null}\n{"x": [1]}\n{"x": {"y": 1}}\n{"x": {"": 1}}\n{"x": [{"y": [null, {"a b": "z"}]}]}\n',
    b'{"x": [[[[[[[[1]]]]]]]]}\n{"x": [[[[[[[[[1]]]]]]]]]}\n',
    b'{"x": 1, "x": 2}\n',
    b'{"": 1}\n{"a b": 1}\n{"a..b": 1}\n',
    b'{"x": 9223372036854775807}\n{"x": 9223372036854775808}\n{"x": 1e308}\n',
    b'[1]\n"a"\n1\nnull\n',
    b" \n\t\n\r\n{}\r\n",
    '{"x": 1}\n'.encode("utf-16"),
    '{"x": 1}\n'.encode("utf-32"),
)


@frozen
class JsonLineCase:
    """What is published, by whom, and how many bytes a read takes."""

    advertised: str
    content: bytes
    read_bytes: int


@define
class _Publishing:
    """A publisher whose broker takes everything over; it keeps nothing."""

    _outbox: Outbox
    count: int = 0

    async def publish(self, attributes: Mapping[str, Value], payload: bytes, *, ordered: bool) -> int:
        await trio.lowlevel.checkpoint()
        self.count += 1
        return self._outbox.put(attributes, payload, 0, ordered)

    async def flush(self) -> None:
        await trio.lowlevel.checkpoint()


def _make(random: Random) -> JsonLineCase:
    return JsonLineCase(random.choice(FILTERS), spoilt(random, _LINES), random.choice((1000, 3000, 8000)))


def _judge(case: JsonLineCase, _: FuzzTally) -> str:
    whole = trio.run(_published, case, len(case.content) + 1)
    cut = trio.run(_published, case, case.read_bytes)
    if cut != whole:
        raise Crash(f"cut it gives {cut}, whole it gives {whole}")
    return "refused" if cut[1] else "published"


async def _published(case: JsonLineCase, read_bytes: int) -> tuple[int, str]:
    """Return how many lines were published, and what was said of the one that was not."""
    publisher = _Publishing(_outbox(case.advertised))
    with (
        tempfile.TemporaryFile(prefix="concord-fuzz-") as file,
        patch.multiple(product, READ_BYTES=read_bytes, LINE_BYTES_MAX=LINE_BYTES_MAX),
    ):
        file.write(case.content)
        file.flush()
        os.lseek(file.fileno(), 0, os.SEEK_SET)
        batches = product.object_batches(file.fileno(), trio.lowlevel.checkpoint)
        try:
            lines = LinePublisher(cast("Publisher", publisher), partial(plain_event, payload=b""))
            await lines.publish_all(batches)
        except Exception as error:  # noqa: BLE001 - what else it is, is judged
            line = line_of(error)
            _check_number(line, case.content)
            return publisher.count, line
    return publisher.count, ""


def _check_number(line: str, content: bytes) -> None:
    found = re.match(r"concord: line (\d+): ", line)
    if found is None or not 1 <= int(found[1]) <= content.count(b"\n") + 1:
        raise Crash(f"it does not name the line: {line!r}")


def _outbox(advertised: str) -> Outbox:
    session = Session("fuzz", "1", "", Limits())
    machine = ClientMachine(session, "", Backoff(Random(0)))  # noqa: S311 - it has to be repeatable
    return Outbox(Source(advertised), parse(advertised), machine)


CAMPAIGN: Final = Campaign("files of lines", _make, _judge)
main: Final = command_for(CAMPAIGN, "Throw lines at `concord publish`.")

if __name__ == "__main__":
    main()
