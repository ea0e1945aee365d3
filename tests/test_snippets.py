"""Every part of a program that a page shows runs, with a client that is connected.

A part is run as the body of a function that has what its page speaks of: `client`, `deliveries`, and so on,
with events that come while it runs. It has run when it ends, or when it has printed or done something three
times. Programs that guides name as files are run by `test_tried.py`, those of the README and the tutorial by
tests of their own, `pycon` blocks by doctest.
"""

import re
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import attrs
import pytest
import trio

import concord
from concord import Client, connect, events
from concord.testing import Brokers, overlay
from tests.broker.server.overlay import running, settings
from tests.sources import ROOT, Source, every_file

_PYTHON: Final = re.compile(r"^( *)```python\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_TIMES: Final = 3
_WITHIN_S: Final = 20

PAGES: Final = [source for source in every_file() if source.path.suffix == ".md"]


def snippets(page: Source) -> list[str]:
    """What no other test runs: neither programs of the tutorial and of guides, nor tests."""
    found = [textwrap.dedent(text) for _, text in _PYTHON.findall(page.text)]
    return [
        text
        for text in found
        if "trio.run(" not in text and not re.search(r"^# [\w/]+[.]py$|def test_", text, re.MULTILINE)
    ]


SNIPPETS: Final = [
    pytest.param(text, id=f"{page.path.stem}-{number}")
    for page in PAGES
    for number, text in enumerate(snippets(page))
]


@asynccontextmanager
async def surroundings(brokers: Brokers, done: Callable[..., None]) -> AsyncIterator[dict[str, Any]]:
    """What a part may speak of. Events of trades and loads come all the time."""

    async def measure() -> None:
        done()
        await trio.sleep_forever()

    async def store(delivery: object) -> None:
        assert delivery
        done()

    class Table:
        insert = staticmethod(done)

    def here(address: str | list[str], **options: Any) -> Any:
        assert address in ("127.0.0.1:7411", ["b1:7411", "b2:7411", "b3:7411"])
        return brokers.connect("B1", **{name: each for name, each in options.items() if name == "name"})

    async with brokers.connect("B1", name="reader") as client, trio.open_nursery() as nursery:
        await nursery.start(_events, client)
        async with client.subscribe("kind == 'trade'") as deliveries, client.subscribe("kind == 'load'"):
            names = {name: getattr(concord, name) for name in concord.__all__}
            own = {
                "attrs": attrs,
                "events": events,
                "client": client,
                "deliveries": deliveries,
                "measure": measure,
                "store": store,
                "table": Table,
            }
            yield {**names, **own, "print": done, "connect": here, "trio": trio}
        nursery.cancel_scope.cancel()


async def _events(client: Client, task_status: trio.TaskStatus[None]) -> None:
    async with client.advertise("kind == 'trade' and price > 0") as publisher:
        task_status.started()
        while True:
            await publisher.publish({"kind": "trade", "symbol": "IBM", "price": 101.5}, confirm=True)


async def run(part: str) -> None:
    """Run a part of a program to its end, or until it has done something often enough."""
    with trio.fail_after(_WITHIN_S), trio.CancelScope() as enough:
        count = 0

        def done(*_: object) -> None:
            nonlocal count
            count += 1
            if count == _TIMES or "while_wanted" in part:
                enough.cancel()

        async with overlay("B1") as brokers, surroundings(brokers, done) as names:
            body = textwrap.indent(part, "    ")
            exec(compile(f"async def part():\n{body}", "<part>", "exec"), names)  # noqa: S102 - what our own pages show
            made: Callable[[], Awaitable[None]] = names["part"]
            await made()


async def run_program(program: str) -> None:
    """Run a program with imports of its own in a process, until it has printed something often enough."""
    with trio.fail_after(_WITHIN_S):
        async with (
            running(settings("B1")) as broker,
            connect(broker.address) as client,
            trio.open_nursery() as nursery,
        ):
            await nursery.start(_events, client)
            here = program.replace("127.0.0.1:7411", broker.address)
            process = await trio.lowlevel.open_process(
                [sys.executable, "-u", "-c", here], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
            )
            printed = await _lines(process)
            nursery.cancel_scope.cancel()
    assert printed >= _TIMES


async def _lines(process: trio.Process) -> int:
    """Count the lines that a process prints, and end it when there are enough."""
    assert process.stdout is not None
    count = 0
    try:
        async for chunk in process.stdout:
            count += chunk.count(b"\n")
            if count >= _TIMES:
                break
    finally:
        process.kill()
        await process.wait()
    return count


@pytest.mark.parametrize("snippet", SNIPPETS)
async def test_a_snippet_of_a_page_runs(snippet: str) -> None:
    if re.search(r"^(import|from) ", snippet):
        await run_program(snippet)
    else:
        await run(snippet)


@pytest.mark.parametrize(
    ("part", "error"),
    [
        ("await client.nothing()", AttributeError),
        ("await deliveries.aclose()\nnothing", NameError),
        ("async with client.subscribe('x = 1') as deliveries:\n    ...", concord.FilterError),
    ],
)
async def test_a_part_that_is_wrong_is_noticed(part: str, error: type[Exception]) -> None:
    with pytest.RaisesGroup(error, allow_unwrapped=True, flatten_subgroups=True):
        await run(part)


async def test_a_program_that_is_wrong_is_noticed() -> None:
    with pytest.RaisesGroup(AssertionError, allow_unwrapped=True, flatten_subgroups=True):
        await run_program("from concord import nothing")


def test_pages_have_parts_of_programs() -> None:
    assert len(SNIPPETS) > 5
