"""What users install: the wheel, in an environment that has what the core depends on and nothing else."""

import os
import re
import shutil
import signal
import subprocess
import sys
import venv
from collections.abc import Iterator, Mapping
from email import message_from_string
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Final
from zipfile import ZipFile

import pytest
from attrs import frozen

from broker.commands.extras import EXTRAS
from tests.sources import PACKAGES, ROOT

PROGRAM: Final = """
import attrs
import trio

import concord
from concord import Client, Deliveries, Gap, Limits, Publisher, Replay, StateChange, connect, events
from concord.plugins import Context, Emission, Ordering, OrderingFactory, names
from concord.testing import Brokers, overlay


def changed(change: StateChange) -> None:
    print(change.state)


async def watch(client: Client) -> list[str]:
    seen: list[str] = []
    async with client.subscribe("x > 0", replay=Replay.of("5m")) as deliveries:
        async for delivery in deliveries:
            seen.append(delivery.publisher)
            reveal_type(delivery.sequence)
        async for item in deliveries.with_gaps():
            if isinstance(item, Gap):
                continue
            reveal_type(item)
    return seen


@events.register(version=2)
@attrs.frozen
class Trade:
    price: float


async def objects(client: Client) -> None:
    async with client.subscribe(Trade, where="price > 5") as trades, client.advertise(Trade) as publisher:
        await publisher.publish(Trade(1.5))
        async for delivery in trades:
            reveal_type(delivery.object)
        reveal_type(await anext(trades.batches()))
    reveal_type(events.object_of({}, Trade))


async def main(factory: OrderingFactory) -> None:
    plugin: Ordering = factory(Context("B1"))
    emissions: list[Emission] = [*plugin.hop_lost(1)]
    async with connect("127.0.0.1:7411", name="a", limits=Limits(), on_state=changed) as client:
        reveal_type(client)
        async with client.advertise("x > 0") as publisher:
            reveal_type(await publisher.publish({"x": 1}, b"", ordered=True))
    async with overlay("B1>B2") as brokers, brokers.connect("B2") as client:
        reveal_type(brokers)
        print(await watch(client), names(), emissions)
    raise concord.ConcordError("typed")


async def wrong() -> None:
    async with connect(7411) as client:
        await client.publish({})
    concord.Nothing


async def wrong_object(publisher: Publisher) -> None:
    await publisher.publish(5)
"""

REVEALED: Final = [
    "int",
    "broker.client.delivery.Delivery",
    "program.Trade",
    "list[broker.client.objects.ObjectDelivery[program.Trade]]",
    "program.Trade",
    "broker.client.client.Client",
    "int",
    "concord.testing.Brokers",
]

ERRORS: Final = [
    'Argument 1 to "connect" has incompatible type "int"',
    '"Client" has no attribute "publish"',
    'Module has no attribute "Nothing"',
    'Argument 1 to "publish" of "Publisher" has incompatible type "int"',
]

SERVING: Final = """
import atexit, sys
atexit.register(lambda: print(*sys.modules, flush=True))
from broker.commands import main
main(["broker", "--name", "B1", "--listen", "127.0.0.1:0"])
"""

FOREIGN: Final = {"examples", "harness", "hypothesis", "pytest", "_pytest", "tests"}


@frozen
class Installed:
    """An environment into which the wheel was installed."""

    wheel: Path
    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(  # noqa: S603 - the wheel that this test has built
            [self.folder / "bin" / arguments[0], *arguments[1:]],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )


def build(folder: Path) -> Path:
    """Build the wheel from a copy of the sources, as nothing may be left beside them."""
    sources = folder / "sources"
    sources.mkdir()
    for package in PACKAGES:
        shutil.copytree(ROOT / package, sources / package, ignore=shutil.ignore_patterns("__pycache__"))
    (sources / "tests").mkdir()
    (sources / "tests" / "test_x.py").write_text("", encoding="utf-8")
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, sources)
    hook = f"from setuptools import build_meta; build_meta.build_wheel({str(folder)!r})"
    pure = {**os.environ, "CONCORD_COMPILED": "0"}
    subprocess.run([sys.executable, "-c", hook], cwd=sources, env=pure, check=True, capture_output=True)  # noqa: S603 - our build
    (wheel,) = folder.glob("*.whl")
    return wheel


def needed(name: str, found: dict[str, Distribution]) -> Iterator[Distribution]:
    """What the core depends on, extras left out, and what that depends on."""
    if name in found:
        return
    found[name] = distribution(name)
    yield found[name]
    for requirement in found[name].requires or []:
        if ";" not in requirement:
            yield from needed(re.split(r"[^\w.-]", requirement)[0], found)


def link(dependency: Distribution, site: Path) -> None:
    """Put a distribution that is here into an environment as well."""
    for top in {
        file.parts[0] for file in dependency.files or [] if file.parts[0] not in {"..", "__pycache__"}
    }:
        place = site / top
        if not place.exists():
            place.symlink_to(Path(str(dependency.locate_file(top))))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("wheel")
    wheel = build(folder)
    environment = folder / "environment"
    venv.create(environment, symlinks=True)
    (site,) = environment.glob("lib/python*/site-packages")
    metadata = message_from_string(
        ZipFile(wheel).read(f"{'-'.join(wheel.name.split('-')[:2])}.dist-info/METADATA").decode()
    )
    found: dict[str, Distribution] = {}
    for requirement in metadata.get_all("Requires-Dist") or []:
        if ";" not in requirement:
            for dependency in needed(re.split(r"[^\w.-]", requirement)[0], found):
                link(dependency, site)
    install = [sys.executable, "-m", "pip", "--python", str(environment / "bin" / "python"), "install"]
    quietly = ["--quiet", "--no-deps", "--no-index", "--no-compile", "--disable-pip-version-check"]
    subprocess.run([*install, *quietly, str(wheel)], check=True, capture_output=True)  # noqa: S603 - our wheel
    return Installed(wheel, environment)


def contents(installed: Installed) -> Mapping[str, bytes]:
    with ZipFile(installed.wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_has_the_packages_with_their_types_and_no_tests(installed: Installed) -> None:
    names = set(contents(installed))
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)
    assert {"concord/py.typed", "broker/py.typed", "ordering/py.typed"} <= names
    assert "examples/pages/static/concord-pubsub/index.js" in names
    assert not [name for name in names if re.search(r"(^|/)(test_|conftest)", name)]


def test_the_wheel_says_what_it_is_where_from_and_for_whom(installed: Installed) -> None:
    (text,) = [each for name, each in contents(installed).items() if name.endswith("/METADATA")]
    metadata = message_from_string(text.decode())
    assert metadata["Name"] == "concord-pubsub"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Author"]
    assert len(metadata["Keywords"].split(",")) > 3
    assert {"Typing :: Typed", "Framework :: Trio"} <= set(metadata.get_all("Classifier", []))
    labels = {each.partition(",")[0] for each in metadata.get_all("Project-URL", [])}
    assert {"Homepage", "Documentation", "Source", "Issues"} <= labels
    assert set(metadata.get_all("Provides-Extra", [])) == {*EXTRAS, "docs", "peers", "test"}


def test_the_core_starts_with_what_it_depends_on_alone(installed: Installed) -> None:
    for extra in {name for names in EXTRAS.values() for name in names} | {"hypothesis", "pytest"}:
        assert installed.run("python", "-c", f"import {extra}").returncode != 0
    version = installed.run("concord", "--version").stdout
    assert re.fullmatch(r"concord, version \S+ \(pure Python\)\n", version)
    assert installed.run("python", "-m", "concord", "--version").returncode == 0
    assert installed.run("concord", "--help").returncode == 0
    refused = installed.run("concord", "harness", "analyze", "nowhere")
    assert refused.returncode == 2
    assert "pip install 'concord-pubsub[analysis]'" in refused.stderr


def test_a_broker_that_serves_has_loaded_no_test_machinery(installed: Installed) -> None:
    with subprocess.Popen(  # noqa: S603 - the wheel that this test has built
        [installed.python, "-c", SERVING], cwd=installed.folder, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("listening on 127.0.0.1:")
        process.send_signal(signal.SIGTERM)
        loaded = {name.partition(".")[0] for name in process.stdout.read().split()}
    assert process.returncode == 0
    assert "trio" in loaded
    assert loaded.isdisjoint(FOREIGN)


def test_a_users_program_is_typed_against_the_wheel(installed: Installed, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    options = ["--strict", "--no-pretty", "--no-error-summary", f"--python-executable={installed.python}"]
    ended = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-m", "mypy", *options, f"--cache-dir={tmp_path}", str(program)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert re.findall(r'Revealed type is "(?:builtins[.])?(.*?)"', ended.stdout) == REVEALED
    complaints = [line for line in ended.stdout.splitlines() if ": error: " in line]
    assert len(complaints) == len(ERRORS), ended.stdout
    for complaint, words in zip(complaints, ERRORS, strict=True):
        assert words in complaint
