"""What pages say of each other and of the sources is so: anchors, rules with their scenarios, and limits."""

import ast
import importlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import attrs
import pytest

from broker.server.metrics import BrokerCollector
from harness.explorer.mutants import MUTANTS
from tests.broker.server.overlay import ANY_PORT, running, settings
from tests.sources import ROOT, Source, every_file, example, product_files

PROTOCOL: Final = (ROOT / "docs" / "explanation" / "protocol.md").read_text(encoding="utf-8")
METRICS: Final = (ROOT / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
THREATS: Final = (ROOT / "docs" / "reference" / "threat-model.md").read_text(encoding="utf-8")
SCENARIOS: Final = {
    path.stem for folder in ("", "whole") for path in (ROOT / "tests" / "scenarios" / folder).glob("*.txt")
}

_LINK: Final = re.compile(r"\]\(([^)\s#:]*)#([^)\s]+)\)")
_HEADING: Final = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
_CODE: Final = re.compile(r"^(?:```.*?^```|    [^\n]*)", re.MULTILINE | re.DOTALL)
_METHOD: Final = re.compile(r"`([A-Z]\w+)\.(\w+)`")
_QUOTED: Final = re.compile(r"`([^`\n]+)`")
_SCENARIO: Final = re.compile(r"(?:r\d|failed|healing|lease|replay|restart)-[a-z0-9-]+")
_LIMIT: Final = re.compile(r"(?:^|_)MAX(?:_|$)")
_POWER: Final = re.compile(r"(\d+)\^(\d+)(?: - (\d+))?")

_NO_LIMITS: Final = frozenset({"BLOCK_COUNT_MAX", "DIGEST_MAX", "NUMBER_MAX"})
"""Public names that look like limits of what a peer may do, and are none."""

_UNITS: Final = {"": 1, "s": 1, "bytes": 1, "KiB": 2**10, "MiB": 2**20}


# --- anchors ------------------------------------------------------------------------------------------


def slug(heading: str) -> str:
    """How a heading is linked to."""
    return re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "", heading).lower()).replace(" ", "-")


def _anchors(text: str) -> set[str]:
    return set(map(slug, _HEADING.findall(_CODE.sub("", text))))


def dead_anchors(source: Source, pages: Mapping[str, str]) -> list[str]:
    """Links to places of pages that are not there."""
    folder = ROOT / source.path.parent
    return [
        f"{source.path}: {page}#{anchor} is not there"
        for page, anchor in _LINK.findall(source.text)
        if not page or page.endswith(".md")
        if anchor not in _anchors(source.text if not page else pages.get(_place(folder / page), ""))
    ]


def _place(path: Path) -> str:
    return path.resolve().relative_to(ROOT).as_posix()


def test_every_anchor_that_a_page_links_to_is_there() -> None:
    sources = [source for source in every_file() if source.path.suffix == ".md"]
    pages = {source.path.as_posix(): source.text for source in sources}
    assert [dead for source in sources for dead in dead_anchors(source, pages)] == []


@pytest.mark.parametrize("link", ["[a](#nowhere)", "[a](other.md#nowhere)", "[a](none.md#here)"])
def test_a_dead_anchor_is_noticed(link: str) -> None:
    page = example("docs/x.md", f"# Here\n\n{link}\n")
    assert len(dead_anchors(page, {"docs/other.md": "## There\n\n    # nowhere\n"})) == 1


def test_a_link_to_a_heading_is_sound() -> None:
    page = example("docs/x.md", "# Here, now\n\n[a](#here-now) [b](other.md#r6-the-barrier)\n")
    assert dead_anchors(page, {"docs/other.md": "## R6 The `barrier`\n"}) == []


# --- the protocol -------------------------------------------------------------------------------------


def test_the_protocol_names_every_scenario_and_no_other() -> None:
    named = {name for name in _QUOTED.findall(PROTOCOL) if _SCENARIO.fullmatch(name)}
    assert named - SCENARIOS - MUTANTS.keys() == set()
    assert SCENARIOS - set(_QUOTED.findall(PROTOCOL)) == set()


def test_the_protocol_names_every_mutant_of_its_rules() -> None:
    of_cores = {name: mutant for name, mutant in MUTANTS.items() if not mutant.is_whole}
    of_rules = {name for name, mutant in of_cores.items() if re.fullmatch(r"R\d|gaps", mutant.rule)}
    assert of_rules - set(_QUOTED.findall(PROTOCOL)) == set()


@pytest.mark.parametrize("number", range(1, 10))
def test_every_rule_has_a_place_in_the_protocol(number: int) -> None:
    assert [anchor for anchor in _anchors(PROTOCOL) if anchor.startswith(f"r{number}-")]


def test_the_modules_that_the_protocol_names_are_there() -> None:
    named = {name for name in _QUOTED.findall(PROTOCOL) if name.endswith(".py")}
    assert {name for name in named if not _is_module(name)} == set()


def _is_module(name: str) -> bool:
    return (ROOT / name).exists() or (ROOT / "broker" / "core" / name).exists()


def _members() -> dict[str, set[str]]:
    """What classes of the product have, by their names."""
    members: dict[str, set[str]] = {}
    for source in product_files():
        for node in ast.walk(source.tree()):
            if isinstance(node, ast.ClassDef):
                named = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
                members.setdefault(node.name, set()).update(named)
    return members


def unknown_methods(text: str, members: Mapping[str, set[str]]) -> set[str]:
    """Methods that a text names, and no class has."""
    return {
        f"{owner}.{name}" for owner, name in _METHOD.findall(text) if name not in members.get(owner, set())
    }


def test_the_methods_that_the_protocol_names_are_there() -> None:
    assert len(_METHOD.findall(PROTOCOL)) > len("R1 to R9")
    assert unknown_methods(PROTOCOL, _members()) == set()


def test_a_method_that_is_not_there_is_noticed() -> None:
    assert unknown_methods("*In* `Here.gone`, `Gone.here`, `Here.here`.", {"Here": {"here"}}) == {
        "Here.gone",
        "Gone.here",
    }


# --- limits -------------------------------------------------------------------------------------------


def _rows() -> Iterator[tuple[str, str, str]]:
    """Constant, default and module of every row of the tables of limits."""
    for line in THREATS.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if (
            len(cells) == len(("what", "constant", "default", "set by", "module", "reason"))
            and "`" in cells[1]
        ):
            yield cells[1].strip("`"), cells[2], cells[4].strip("`")


ROWS: Final = list(_rows())


def read_default(text: str) -> float:
    """Return the number that a cell says, in seconds or bytes if it has a unit."""
    power = _POWER.fullmatch(text)
    if power:
        whole: int = int(power[1]) ** int(power[2]) - int(power[3] or 0)
        return whole
    number, _, unit = text.partition(" ")
    return float(number.replace(",", "")) * _UNITS[unit]


def _value(constant: str, module: str) -> object:
    """The value of a constant, or the default of a field of a class of limits."""
    loaded = importlib.import_module(module.removesuffix(".py").replace("/", "."))
    owner, _, name = constant.rpartition(".")
    if not owner:
        return getattr(loaded, name)
    return attrs.fields_dict(getattr(loaded, owner))[name].default


@pytest.mark.parametrize(("constant", "default", "module"), ROWS)
def test_a_limit_has_the_value_that_the_threat_model_says(constant: str, default: str, module: str) -> None:
    assert _value(constant, module) == read_default(default)


def test_the_threat_model_has_a_row_for_every_limit() -> None:
    documented = {(constant, module) for constant, _, module in ROWS}
    named = {
        (name, source.path.as_posix())
        for source in product_files()
        if source.path.parts[0] == "broker"
        for name in re.findall(r"^([A-Z][A-Z0-9_]*)(?:: Final)? = ", source.text, re.MULTILINE)
        if _LIMIT.search(name) and name not in _NO_LIMITS
    }
    assert sorted(named - documented) == []


@pytest.mark.parametrize(
    ("text", "number"),
    [("16 KiB", 16384), ("10,000", 10_000), ("2^63 - 1", 2**63 - 1), ("0.5 s", 0.5), ("2^31", 2**31)],
)
def test_defaults_are_read_as_people_write_them(text: str, number: float) -> None:
    assert read_default(text) == number


# --- metrics ------------------------------------------------------------------------------------------


async def test_the_page_of_metrics_has_those_of_a_broker_and_no_others(tmp_path: Path) -> None:
    chosen = attrs.evolve(settings("B1"), journal=tmp_path / "B1", listen_ws=ANY_PORT)
    async with running(chosen) as broker:
        found = {
            family.name + ("_total" if family.type == "counter" else "")
            for family in BrokerCollector(broker.server).collect()
        }
    assert set(re.findall(r"`(concord_[a-z_]+)", METRICS)) == found
