"""The public door: what is there, and what going through it loads."""

import subprocess
import sys
from types import ModuleType

import pytest

import broker
import concord
import concord.constraints
import concord.detect
import concord.plugins
import concord.testing
import ordering.interface
from tests.sources import ROOT

DOORS = [concord, concord.constraints, concord.detect, concord.plugins, concord.testing]
FOREIGN = {"_pytest", "examples", "harness", "hypothesis", "pytest", "tests"}
"""What a program that uses Concord does not load."""


def loaded_by(program: str) -> set[str]:
    started = subprocess.run(  # noqa: S603 - the interpreter that runs this test, on a program written here
        [sys.executable, "-c", f"{program}\nimport sys; print(*sys.modules)"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(started.stdout.split())


def test_all_that_is_public_in_the_broker_is_public_under_both_names() -> None:
    assert concord.__all__ == broker.__all__
    assert all(getattr(concord, name) is getattr(broker, name) for name in concord.__all__)


@pytest.mark.parametrize("door", DOORS)
def test_every_name_is_there_once(door: ModuleType) -> None:
    names = door.__all__
    assert len(names) == len(set(names))
    assert all(hasattr(door, name) for name in names)
    assert set(names) <= set(dir(door))
    for other in DOORS:
        assert other is door or not set(names) & set(other.__all__)


def test_the_interface_of_plugins_is_public_whole() -> None:
    defined = {
        name
        for name, value in vars(ordering.interface).items()
        if getattr(value, "__module__", "") == "ordering.interface"
    }
    assert defined <= set(concord.plugins.__all__)


def test_what_is_not_public_is_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'concord' has no attribute 'Station'"):
        concord.Station  # type: ignore[attr-defined]  # noqa: B018 - that is the test


def test_the_door_alone_loads_no_trio_and_no_client() -> None:
    loaded = loaded_by("import concord")
    assert loaded.isdisjoint({"trio", "broker.client", "concord.testing", "concord.plugins"})


@pytest.mark.parametrize(
    "program",
    [
        "from concord import *",
        "import concord.plugins",
        "import concord.testing",
        "import broker.commands.broker, broker.commands.publish, broker.commands.subscribe",
    ],
)
def test_no_test_machinery_is_loaded(program: str) -> None:
    tops = {name.partition(".")[0] for name in loaded_by(program)}
    assert tops.isdisjoint(FOREIGN)
