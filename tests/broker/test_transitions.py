"""Every table of states: it is whole, there is no other way to move, and pages say the same."""

import ast
import re
from collections.abc import Iterator, Mapping
from enum import Enum
from importlib import import_module
from typing import Final

import pytest

from broker.transitions import follow
from tests.sources import ROOT, Source, example, product_files

_TABLE: Final = re.compile(r"^(\w*TRANSITIONS): Final\[Transitions\[(\w+)\]\]", re.MULTILINE)
_HEAD: Final = re.compile(
    r"^\| `(\w+)` \| stands for \| is followed by \|\n\|---\|---\|---\|\n", re.MULTILINE
)
_ROW: Final = re.compile(r"\| `(\w+)` \| (.*) \| (.*) \|\n")
_PAGES: Final = ("docs/explanation/protocol.md", "docs/how-to/development.md")


def _tables() -> Iterator[tuple[str, str, str]]:
    for source in product_files():
        for name, states in _TABLE.findall(source.text):
            yield source.module, name, states


TABLES: Final = {
    states: (module, vars(import_module(module))[name]) for module, name, states in sorted(_tables())
}


def _states(name: str) -> type[Enum]:
    module, _ = TABLES[name]
    states: type[Enum] = vars(import_module(module))[name]
    return states


def test_there_are_tables() -> None:
    assert set(TABLES) >= {"AttachmentState", "Joining", "Life", "Greeting", "Waiting", "ClientLife", "Phase"}


@pytest.mark.parametrize("name", TABLES)
def test_every_state_is_in_the_table_and_is_reached_from_the_first(name: str) -> None:
    states, (_, table) = _states(name), TABLES[name]
    assert list(table) == list(states)
    reached = {next(iter(states))}
    while more := frozenset().union(*[table[state] for state in reached]) - reached:
        reached |= more
    assert reached == set(states)


@pytest.mark.parametrize("name", TABLES)
def test_what_is_in_the_table_is_done_and_what_is_not_is_refused(name: str) -> None:
    states, (_, table) = _states(name), TABLES[name]
    for state in states:
        for following in states:
            if following in table[state]:
                assert follow(table, state, following) is following
            else:
                with pytest.raises(AssertionError, match=f"{state} is not followed by {following}"):
                    follow(table, state, following)


# --- no other way -------------------------------------------------------------------------------------


def other_ways(source: Source, names: Mapping[str, type[Enum]]) -> list[str]:
    """Assignments of a state to something that is there already, but for those by `follow`."""
    found = []
    for node in ast.walk(source.tree()):
        if not isinstance(node, ast.Assign) or isinstance(node.value, ast.Call | ast.BoolOp):
            continue
        if any(isinstance(target, ast.Attribute) for target in node.targets):
            values = [each for each in ast.walk(node.value) if isinstance(each, ast.Attribute)]
            found += [
                f"{source.path}:{node.lineno}: {ast.unparse(node)}"
                for each in values
                if isinstance(each.value, ast.Name)
                and each.value.id in names
                and each.attr in names[each.value.id].__members__
            ]
    return found


def test_nothing_moves_but_by_its_table() -> None:
    names = {name: _states(name) for name in TABLES}
    assert not [line for source in product_files() for line in other_ways(source, names)]


def test_another_way_to_move_is_noticed() -> None:
    names = {"Life": _states("Life")}
    sneaking = example("broker/x.py", "def close(self):\n    self.life = Life.OVER\n")
    moving = example("broker/x.py", "def close(self):\n    self.life = follow(TABLE, self.life, Life.OVER)\n")
    assert other_ways(sneaking, names)
    assert not other_ways(moving, names)


# --- the pages ----------------------------------------------------------------------------------------


def _documented() -> dict[str, list[tuple[str, str, str]]]:
    """What pages say of each table, row by row."""
    found = {}
    for page in _PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        for head in _HEAD.finditer(text):
            rows, place = [], head.end()
            while row := _ROW.match(text, place):
                rows.append((row[1], row[2], row[3]))
                place = row.end()
            found[head[1]] = rows
    return found


@pytest.mark.parametrize("name", TABLES)
def test_a_page_has_the_table(name: str) -> None:
    _, table = TABLES[name]
    states = _states(name)
    rows = [
        (
            state.name,
            str(state.value),
            ", ".join(f"`{each.name}`" for each in states if each in table[state]) or "nothing",
        )
        for state in states
    ]
    lines = "\n".join(f"| `{state}` | {text} | {following} |" for state, text, following in rows)
    assert _documented().get(name) == rows, f"no page has this table of `{name}`:\n{lines}"
