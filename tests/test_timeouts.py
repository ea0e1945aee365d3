"""Tests that hang on purpose, in a run of pytest of their own: each is red, and the others go on."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.sources import ROOT

LIMIT_S: Final = 1

HANGING: Final = """
import subprocess, time
import pytest, trio
from hypothesis import given, strategies as st

async def waits_inside():
    await trio.Event().wait()

async def test_fine_1():
    await trio.lowlevel.checkpoint()

async def test_hangs_in_a_task():
    async with trio.open_nursery() as nursery:
        nursery.start_soon(waits_inside)
        nursery.start_soon(trio.sleep_forever)

async def test_fine_2():
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.lowlevel.checkpoint)

async def test_hangs_in_time_that_stands_still(mock_clock):
    await trio.sleep(1)

async def test_hangs_with_a_process():
    await trio.run_process([SLEEP, "1000"])

async def test_hangs_without_a_checkpoint():
    while True:
        pass

def test_hangs_in_a_loop():
    while True:
        pass

@given(st.integers())
def test_hangs_in_an_example(number):
    while True:
        pass

def test_hangs_in_what_catches_everything():
    try:
        while True:
            pass
    except BaseException as error:
        raise ValueError("something else") from error

def test_hangs_in_a_run_of_its_own():
    trio.run(waits_inside)

@pytest.fixture
async def never_there():
    await waits_inside()

async def test_hangs_in_a_fixture(never_there):
    pass

@pytest.mark.timeout(30)
async def test_fine_with_more_time():
    await trio.sleep(1.5)

def test_fine_3():
    pass
""".replace("SLEEP", "'sleep'")

SHIELDED: Final = """
import trio

async def test_hangs_shielded():
    with trio.CancelScope(shield=True):
        await trio.Event().wait()
"""

OPTIONS: Final = f"""
[pytest]
trio_mode = true
timeout = {LIMIT_S}
addopts = --import-mode=importlib -p no:cacheprovider
filterwarnings = error
"""

SHORT_GRACE: Final = """
import tests.timeouts
from tests.timeouts import *

tests.timeouts.GRACE_S = 2
"""


def ended(folder: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    """Run pytest in the folder on tests that hang."""
    (folder / "pytest.ini").write_text(f"{OPTIONS}pythonpath = {ROOT}\n", encoding="utf-8")
    (folder / "conftest.py").write_text(SHORT_GRACE, encoding="utf-8")
    return subprocess.run(  # noqa: S603 - the interpreter that runs this test, on tests written here
        [sys.executable, "-m", "pytest", "-rA", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def results(output: str, word: str) -> set[str]:
    return set(re.findall(rf"^{word} test_\w+[.]py::(\w+)", output, re.MULTILINE))


def names(text: str, kind: str) -> set[str]:
    return set(re.findall(rf"def (test_{kind}\w*)", text))


@pytest.mark.parametrize("options", [(), ("-n", "2")])
def test_what_hangs_is_red_and_the_rest_goes_on(tmp_path: Path, options: tuple[str, ...]) -> None:
    (tmp_path / "test_hanging.py").write_text(HANGING, encoding="utf-8")
    run = ended(tmp_path, *options)
    assert run.returncode == 1
    assert results(run.stdout, "FAILED") == names(HANGING, "hangs")
    assert results(run.stdout, "PASSED") == names(HANGING, "fine")
    assert run.stdout.count(f"took longer than {LIMIT_S} s") >= len(names(HANGING, "hangs"))
    assert re.search(
        r"test_hanging.py\", line \d+, in waits_inside\n\s+await trio.Event\(\).wait\(\)", run.stdout
    )


def test_what_cannot_be_cancelled_ends_its_worker_alone(tmp_path: Path) -> None:
    (tmp_path / "test_hanging.py").write_text(
        SHIELDED + HANGING.split("async def test_hangs")[0], encoding="utf-8"
    )
    run = ended(tmp_path, "-n", "1")
    assert run.returncode == 1
    assert results(run.stdout, "FAILED") == {"test_hangs_shielded"}
    assert results(run.stdout, "PASSED") == {"test_fine_1"}
    assert f"test_hangs_shielded took longer than {LIMIT_S} s" in run.stderr + run.stdout
