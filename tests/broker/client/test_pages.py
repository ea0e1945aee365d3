"""The programs on the page for beginners do what the page says."""

import re
import subprocess
import sys

import trio

from tests.broker.server.overlay import running, settings
from tests.sources import ROOT

PROGRAM = re.compile(r"```python\n(import trio.*?)```", re.DOTALL)


async def test_the_two_programs_of_getting_started_talk_to_each_other() -> None:
    page = (ROOT / "docs" / "tutorials" / "getting-started.md").read_text(encoding="utf-8")
    async with running(settings("B1")) as broker, trio.open_nursery() as nursery:
        watch, trade = (
            [sys.executable, "-c", program.replace("127.0.0.1:7411", broker.address)]
            for program in PROGRAM.findall(page)
        )
        watcher = await trio.lowlevel.open_process(watch, stdout=subprocess.PIPE, cwd=ROOT)
        try:
            lines = await _printed(watcher, nursery, trade)
        finally:
            watcher.kill()
    assert lines[0] == "watching"
    assert [line.split()[1:] for line in lines[1:]] == [[str(n), str(n + 94)] for n in range(7, 12)]


async def _printed(watcher: trio.Process, nursery: trio.Nursery, trade: list[str]) -> list[str]:
    """All that the watcher prints; the other program is started when it says that it watches."""
    printed = b""
    assert watcher.stdout is not None
    async with watcher.stdout:
        async for chunk in watcher.stdout:
            if b"\n" in chunk and b"\n" not in printed:
                nursery.start_soon(trio.run_process, trade)
            printed += chunk
    assert await watcher.wait() == 0
    return printed.decode().splitlines()
