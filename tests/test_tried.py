"""The guides work: every `sh` block of a page is run, from the first to the last, in one shell."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from textwrap import dedent
from typing import Final

import pytest

from harness.runs.plan import free_ports
from tests.sources import ROOT

pytestmark = pytest.mark.timeout(400)  # the first test waits for guides that all begin with it

BLOCK: Final = re.compile(r"^( *)```(sh|python|js)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
FILE: Final = re.compile(r"(?:#|//) ([\w/]+[.]\w+)\n")
PORT: Final = re.compile(r"(?<=127[.]0[.]0[.]1:)\d{4}")
WITHIN_S: Final = 150

AT_ONCE: Final = 4
"""Pages that run side by side: most of the time they wait for brokers to start."""

GUIDES: Final = [
    path
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*/*.md"))]
    if "```sh\n" in path.read_text(encoding="utf-8")
]

Ended = tuple[int, str]


def script(page: str) -> Iterator[str]:
    """The shell's part of a page; a program whose first line names a file is written there."""
    yield "set -eu"
    for _, language, block in BLOCK.findall(page):
        text = dedent(block)
        named = FILE.match(text)
        if language == "sh":
            yield text
        elif named:
            yield f"mkdir -p $(dirname {named[1]})\ncat > {named[1]} <<'END OF FILE'\n{text}END OF FILE"


def on_free_ports(text: str) -> str:
    """The same on ports that nobody has."""
    ports = sorted({"7411", *PORT.findall(text)})
    free = dict(zip(ports, free_ports(len(ports)), strict=True))
    return PORT.sub(lambda port: str(free[port[0]]), text)


def run(page: str, folder: Path) -> Ended:
    """Run a page in a folder of its own; return its status and what it printed."""
    modules = folder / "node_modules"
    modules.mkdir()
    (modules / "concord-pubsub").symlink_to(ROOT / "clients" / "javascript")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    printed = folder / "printed.txt"
    with printed.open("w") as output:
        process = subprocess.Popen(  # noqa: S603 - our own pages
            ["/bin/bash", "-c", on_free_ports("\n".join(script(page)))],
            cwd=folder,
            env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status = process.wait(WITHIN_S)
        except subprocess.TimeoutExpired:
            status = -1
        finally:
            with suppress(ProcessLookupError):  # Nothing is left where a page starts nothing that stays.
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return status, printed.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Path, "Future[Ended]"]]:
    """All guides, some at once, each in a folder of its own."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        folders = {guide: tmp_path_factory.mktemp(guide.stem) for guide in GUIDES}
        yield {guide: pool.submit(run, guide.read_text("utf-8"), folders[guide]) for guide in GUIDES}


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_the_commands_of_a_guide_run_to_its_end(guide: Path, tried: dict[Path, "Future[Ended]"]) -> None:
    status, printed = tried[guide].result()
    assert status == 0, printed


def test_every_block_of_a_guide_is_run() -> None:
    for guide in GUIDES:
        text = guide.read_text(encoding="utf-8")
        assert len([each for each in BLOCK.findall(text) if each[1] == "sh"]) == text.count("```sh\n")


@pytest.mark.parametrize(
    "page",
    [
        "```sh\nfalse\n```\n",
        "- a list\n\n  ```python\n  # a.py\n  raise OSError\n  ```\n  ```sh\n  python a.py\n  ```\n",
    ],
)
def test_a_guide_that_fails_is_noticed(page: str, tmp_path: Path) -> None:
    assert run(page, tmp_path)[0] == 1
