"""The programs on the page for beginners do what the page says."""

import re
import subprocess
import sys

import trio

from tests.broker.shell.overlay import running, settings
from tests.sources import ROOT

PROGRAM = re.compile(r"```python\n(import trio.*?)```", re.DOTALL)


async def test_the_two_programs_of_getting_started_talk_to_each_other() -> None:
    page = (ROOT / "docs" / "getting-started.md").read_text(encoding="utf-8")
    async with running(settings("B1")) as broker, trio.open_nursery() as nursery:
        watch, trade = (
            [sys.executable, "-c", program.replace("127.0.0.1:7411", broker.address)]
            for program in PROGRAM.findall(page)
        )
        watcher = await trio.lowlevel.open_process(watch, stdout=subprocess.PIPE, cwd=ROOT)
        assert watcher.stdout is not None
        assert await watcher.stdout.receive_some() == b"watching\n"
        nursery.start_soon(trio.run_process, trade)
        lines = b"".join([chunk async for chunk in watcher.stdout]).decode().splitlines()
        assert await watcher.wait() == 0
    assert [line.split()[1:] for line in lines] == [[str(n), str(n + 94)] for n in range(7, 12)]
