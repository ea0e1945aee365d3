"""What the README shows is what happens."""

import re
import sys
from typing import Final

import trio

from harness.overlay import start_brokers
from tests.sources import ROOT

README: Final = (ROOT / "README.md").read_text(encoding="utf-8")
TUTORIAL: Final = (ROOT / "docs" / "tutorials" / "first-event-in-python.md").read_text(encoding="utf-8")


FIRST, SECOND = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
EVENT: Final = "{'kind': 'trade', 'symbol': 'IBM', 'price': 101.5}\n"


async def printed_by(program: str) -> str:
    """Run a program beside a broker; return what it printed."""
    async with trio.open_nursery() as nursery:
        servers = await start_brokers(nursery, {"B1": None})
        here = program.replace("127.0.0.1:7411", servers["B1"].address)
        assert here != program
        ended = await trio.run_process([sys.executable, "-c", here], capture_stdout=True, cwd=ROOT)
        nursery.cancel_scope.cancel()
    return ended.stdout.decode()


async def test_five_lines_print_their_event_and_are_those_of_the_tutorial() -> None:
    assert len(FIRST.replace("\n\n", "\n").splitlines()) == len(["# first.py"]) + 5
    assert FIRST in TUTORIAL
    assert await printed_by(FIRST) == "{'symbol': 'IBM', 'price': 101.5}\n"


async def test_the_program_for_trio_prints_its_delivery() -> None:
    publisher, sequence, attributes = (await printed_by(SECOND)).split(" ", 2)
    assert publisher.startswith("alice@B1.")
    assert (sequence, attributes) == ("1", EVENT)


def test_the_readme_leads_to_every_kind_of_pages_and_to_the_two_commands() -> None:
    links = set(re.findall(r"\]\((docs/[^)#]+)", README))
    assert {
        f"docs/{kind.name}/index.md" for kind in (ROOT / "docs").iterdir() if (kind / "index.md").exists()
    } <= (links | {"docs/tutorials/index.md"})
    assert re.findall(r"^    (make \w+) ", README, re.MULTILINE) == ["make run", "make test"]


def test_every_page_is_found_from_the_index_of_its_kind() -> None:
    for index in (ROOT / "docs").rglob("index.md"):
        text = index.read_text(encoding="utf-8")
        pages = {page.name for page in index.parent.glob("*.md")} - {"index.md"}
        assert pages - set(re.findall(r"\]\(([^)#/]+)\)", text)) == set()
