"""The JavaScript package can be read by Node, and its types name what it exports."""

import json
import re
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.broker.client.test_javascript import PACKAGE, node
from tests.sources import ROOT, every_file
from tests.test_tidy import MODULE_LINES_MAX

EXPORTS: Final = """
const [place, ...others] = process.argv.slice(1);
const names = Object.keys(await import(place));
for (const other of others) await import(other);
console.log(JSON.stringify(names));
"""


def exported() -> list[str]:
    """What the package exports; every other module of it is imported too."""
    index, *others = sorted(
        (PACKAGE / "src").glob("*.js"), key=lambda path: (path.name != "index.js", path.name)
    )
    command = [
        node(),
        "--input-type=module",
        "--eval",
        EXPORTS,
        *(path.as_uri() for path in (index, *others)),
    ]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603 - our own program
    assert ran.returncode == 0, ran.stderr
    names: list[str] = json.loads(ran.stdout)
    return names


def test_types_name_what_the_package_exports() -> None:
    types = (PACKAGE / "src" / "index.d.ts").read_text(encoding="utf-8")
    declared = re.findall(r"^export (?:class|const|function) (\w+)", types, re.MULTILINE)
    assert sorted(declared) == sorted(exported())


def test_modules_are_small_and_open_with_what_they_are_for() -> None:
    for path in (PACKAGE / "src").glob("*.[jt]s"):
        lines = path.read_text(encoding="utf-8").splitlines()
        assert len(lines) <= MODULE_LINES_MAX, path.name
        assert lines[0].startswith("// "), path.name


SHOWN: Final = [
    pytest.param(text, id=f"{page.path.stem}-{number}")
    for page in every_file()
    if page.path.suffix == ".md"
    for number, text in enumerate(re.findall(r"^```js\n(.*?)^```$", page.text, re.MULTILINE | re.DOTALL))
]


@pytest.mark.parametrize("text", SHOWN)
def test_what_pages_show_of_javascript_can_be_read(text: str, tmp_path: Path) -> None:
    program = tmp_path / "shown.mjs"
    program.write_text(text, encoding="utf-8")
    ran = subprocess.run(  # noqa: S603 - our own pages
        [node(), "--check", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.returncode == 0, ran.stderr


def test_the_demos_pages_have_every_module_of_the_client() -> None:
    served = ROOT / "examples" / "pages" / "static" / "concord-pubsub"
    sources = ROOT / "clients" / "javascript" / "src"
    assert {path.name: path.resolve() for path in served.iterdir()} == {
        path.name: path for path in sources.glob("*.js")
    }
