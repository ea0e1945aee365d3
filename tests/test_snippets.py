"""Every part of a program that a page shows runs, with a client that is connected.

A part is run as the body of a function that has what its page speaks of: `client`, `deliveries`, and so on,
with events that come while it runs. It has run when it ends, or when it has printed or done something three
times. Programs that guides name as files are run by `test_tried.py`, those of the README and the tutorial by
tests of their own, `pycon` blocks by doctest.
"""

import re
import textwrap
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest
import trio

import concord
from concord import Client
from concord.testing import Brokers, overlay
from tests.sources import Source, every_file

_PYTHON: Final = re.compile(r"^( *)```python\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_TIMES: Final = 3
_WITHIN_S: Final = 20

PAGES: Final = [source for source in every_file() if source.path.suffix == ".md"]


def parts(page: Source) -> list[str]:
    """The snippets that are neither whole programs nor tests."""
    found = [textwrap.dedent(text) for _, text in _PYTHON.findall(page.text)]
    return [
        text
        for text in found
        if "trio.run(" not in text and not re.search(r"^# \w+/|def test_", text, re.MULTILINE)
    ]


PARTS: Final = [
    pytest.param(text, id=f"{page.path.stem}-{number}")
    for page in PAGES
    for number, text in enumerate(parts(page))
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

    def here(address: str, **options: Any) -> Any:
        assert address == "127.0.0.1:7411"
        return brokers.connect("B1", **{name: each for name, each in options.items() if name == "name"})

    async with brokers.connect("B1", name="reader") as client, trio.open_nursery() as nursery:
        await nursery.start(_events, client)
        async with client.subscribe("kind == 'trade'") as deliveries, client.subscribe("kind == 'load'"):
            names = {name: getattr(concord, name) for name in concord.__all__}
            own = {"client": client, "deliveries": deliveries, "measure": measure, "store": store}
            yield {**names, **own, "print": done, "connect": here, "trio": trio}
        nursery.cancel_scope.cancel()


async def _events(client: Client, task_status: trio.TaskStatus[None]) -> None:
    async with client.advertise("kind == 'trade' and price > 0") as publisher:
        task_status.started()
        while True:
            await publisher.publish({"kind": "trade", "symbol": "IBM", "price": 101.5}, confirm=True)


async def run(part: str) -> None:
    """Run a part to its end, or until it has done something often enough."""
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


@pytest.mark.parametrize("part", PARTS)
async def test_a_part_of_a_program_runs(part: str) -> None:
    await run(part)


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


def test_pages_have_parts_of_programs() -> None:
    assert len(PARTS) > 5
