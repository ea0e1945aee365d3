"""Reading scenarios: what is shipped, what is written, and what is wrong with it."""

import json
import re
import tomllib
from pathlib import Path

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.scenarios import Scenario, ScenarioError, find, from_content, shipped_scenarios
from harness.scenarios.keys import keys_of
from tests.sources import ROOT

KEYS = keys_of(Scenario)
ROW = r"^(\| `([a-z_.]+)` \| `(.*?)` \| `(.*?)` \| (.*?) \| (.*?) \|)$"


@pytest.mark.parametrize("name", shipped_scenarios())
def test_what_is_shipped_makes_sense_and_says_what_it_is_for(name: str) -> None:
    study = find(name)
    assert study.first.about
    assert len({point.name for point in study.points}) == len(study.points)


def test_a_file_without_anything_has_a_default_for_everything(tmp_path: Path) -> None:
    path = tmp_path / "empty.toml"
    path.write_text("")
    assert find(str(path)).first == Scenario()


def test_a_name_that_is_no_scenario_names_those_that_are() -> None:
    with pytest.raises(ScenarioError, match=r"nonsense: no file .* there are .*quick"):
        find("nonsense")


def nested(key: str, value: object) -> dict[str, object]:
    *tables, last = key.split(".")
    content: dict[str, object] = {last: value}
    for table in reversed(tables):
        content = {table: content}
    return content


@given(
    st.sampled_from(sorted(KEYS)), st.sampled_from([None, -1, 1e300, object, "\x00?", [1], {"a": []}, b""])
)
def test_a_value_is_taken_or_refused_with_its_file_its_key_and_what_is_allowed(
    key: str, value: object
) -> None:
    complaint = ""
    try:
        from_content("x", nested(key, value), "x.toml")
    except ScenarioError as error:
        complaint = str(error)
    if complaint:
        assert complaint.startswith("x.toml: ")
        assert key.split(".", maxsplit=1)[0] in complaint
        assert "expected" in complaint or "there are" in complaint
    else:
        assert KEYS[key][0].accept(value) is not None


@given(
    st.text(st.characters(codec="ascii", categories=["Ll"]), min_size=1),
    st.sampled_from(["", "overlay.", "links."]),
)
def test_a_key_that_is_none_is_refused_and_those_that_are_are_named(name: str, table: str) -> None:
    if name in {each.name for each in attrs.fields(Scenario)} or table + name in KEYS or name == "sweep":
        return
    with pytest.raises(ScenarioError, match=re.escape(f"x.toml: {table}{name}: no such key; there are ")):
        from_content("x", nested(table + name, 1), "x.toml")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ({"duration_s": True}, "duration_s: expected a number from 0.1 to 86,400, found True"),
        ({"overlay": 3}, "overlay: expected a table, found 3"),
        ({"overlay": {"shape": "ring"}}, 'overlay.shape: expected "chain" or "star" or'),
        ({"filters": {"overlap_percent": 30}}, "filters.overlap_percent: expected 100 divided by"),
        ({"overlay": {"cores": 1}, "filters": {"overlap_percent": 50}}, "2 groups need a multiple of 2"),
        ({"publishers": {"at": ["edge-99"]}}, "publishers.at: no broker is called 'edge-99'"),
        ({"overlay": {"shape": "list"}}, "expected exactly one broker"),
        (
            {"overlay": {"shape": "list", "uplinks": {"a": "", "b": "c", "c": "b"}}},
            "does not lead to the root",
        ),
        ({"overlay": {"cores": 400}}, "brokers; expected at most"),
        ({"sweep": {"seed": 3}}, "sweep.seed: expected a list"),
        ({"sweep": {"seed, duration_s": [[1, 2], 3]}}, "expected lists of 2 values each, found 3"),
        ({"sweep": {"publishers.cuont": [1]}}, "publishers.cuont: no such key"),
        ({"sweep": {"seed": list(range(1000))}}, "1000 points; expected at most"),
    ],
)
def test_what_is_wrong_is_said(content: dict[str, object], complaint: str) -> None:
    with pytest.raises(ScenarioError, match=re.escape(complaint)):
        from_content("x", content, "x.toml")


def test_a_sweep_has_every_combination_and_keys_that_change_together() -> None:
    content = {
        "sweep": {
            "filters.overlap_percent": [50, 100],
            "publishers.count, subscribers.count": [[2, 4], [6, 8]],
        },
        "overlay": {"cores": 2},
    }
    study = from_content("x", content, "x.toml")
    found = [
        (p.scenario.filters.overlap_percent, p.scenario.publishers.count, p.scenario.subscribers.count)
        for p in study.points
    ]
    assert found == [(50, 2, 4), (50, 6, 8), (100, 2, 4), (100, 6, 8)]
    assert study.points[0].name == "overlap-50-publishers-2-subscribers-4"


def test_the_command_line_changes_what_the_file_says() -> None:
    study = from_content("x", {"seed": 1}, "x.toml", {"seed": 9, "publishers.count": 3})
    assert (study.first.seed, study.first.publishers.count) == (9, 3)


def test_every_key_is_documented_with_its_default_an_example_and_its_meaning() -> None:
    page = (ROOT / "docs" / "reference" / "harness.md").read_text(encoding="utf-8")
    rows = {row[1]: row[2:] for row in re.findall(ROW, page, re.MULTILINE)}
    documented = {key: (json.loads(default), *rest) for key, (default, _, *rest) in rows.items()}
    defaults = {key: json.loads(json.dumps(default)) for key, (_, default) in KEYS.items()}
    assert documented == {key: (defaults[key], what.allowed, what.about) for key, (what, _) in KEYS.items()}
    examples = {key: tomllib.loads(f"it = {example}")["it"] for key, (_, example, *_) in rows.items()}
    assert [key for key, value in examples.items() if KEYS[key][0].accept(value) is None] == []
    assert [key for key, value in examples.items() if value == defaults[key]] == []
