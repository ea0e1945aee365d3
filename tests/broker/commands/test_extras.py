"""What a command says whose extra is not installed. Modules are hidden in a process of its own."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

import pytest

from broker.commands.extras import EXTRAS
from tests.sources import ROOT

HIDING: Final = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in hidden:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

hidden = set(sys.argv[1].split(","))
sys.meta_path.insert(0, Hidden())
from broker.commands import main
main(sys.argv[2:])
"""

EVERYTHING: Final = ",".join(sorted({name for names in EXTRAS.values() for name in names}))


def without(modules: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(  # noqa: S603 - the interpreter that runs this test, on a program written here
        [sys.executable, "-c", HIDING, modules, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


NEEDING: Final = [
    ("harness compare quick --out {out}", "concord harness compare", "analysis,harness"),
    ("harness analyze {out}", "concord harness analyze", "analysis"),
    ("harness run quick --out {out}", "concord harness run", "harness"),
    ("harness scenarios", "concord harness scenarios", "harness"),
    ("demo game --port 0", "concord demo game", "web"),
    ("demo ticker --port 0", "concord demo ticker", "web"),
    ("broker --name B1 --listen 127.0.0.1:0 --trace {out}", "concord broker --trace", "harness"),
]


@pytest.mark.parametrize(("line", "command", "extras"), NEEDING)
def test_a_command_without_its_extra_says_in_one_line_what_to_install(
    line: str, command: str, extras: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    ended = without(EVERYTHING, *line.format(out=out).split())
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(f"concord: {command} needs the extra")
    assert f"pip install 'concord-pubsub[{extras}]'" in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert not out.exists()


@pytest.mark.parametrize(("module", "extras"), [("pyspark", "analysis"), ("rich", "analysis,harness")])
def test_only_the_extra_that_is_missing_is_named(module: str, extras: str, tmp_path: Path) -> None:
    ended = without(module, "harness", "compare", "quick", "--out", str(tmp_path / "out"))
    assert ended.returncode == 2
    assert f"[{extras}]' ({module} is missing)" in ended.stderr


@pytest.mark.parametrize(
    "line",
    [
        "--help",
        "harness explore --schedules 1",
        "harness replay 3",
        "harness faults",
        "harness scenarios --json",
        "harness run quick --simulated --set duration_s=0.2 --out {out}",
        *(f"{command.removeprefix('concord ')} --help" for _, command, _ in NEEDING[:-1]),
    ],
)
def test_what_needs_no_extra_runs_without_any(line: str, tmp_path: Path) -> None:
    ended = without(EVERYTHING, *line.format(out=tmp_path / "out").split())
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_table_has_what_the_extras_of_the_distribution_have() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {
        extra: tuple(re.split(r"[<>=]", requirement)[0] for requirement in requirements)
        for extra, requirements in project["optional-dependencies"].items()
        if extra not in {"docs", "peers", "test"}
    }
    assert extras == EXTRAS
