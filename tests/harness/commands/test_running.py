"""`concord harness run`, `compare`, `faults` and `scenarios`, as a user calls them."""

import json
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner

from broker.commands import concord, main
from harness.faults import KINDS
from harness.scenarios import find, shipped_scenarios

SMALL: Final = """
duration_s = 1
[overlay]
shape = "star"
brokers = 3
[publishers]
count = 2
per_second = 40
rate = "random"
[subscribers]
count = 2
"""


@pytest.fixture
def small(tmp_path: Path) -> str:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return str(path)


def test_faults_are_listed_with_an_example_each() -> None:
    output = CliRunner().invoke(concord, ["harness", "faults"]).stdout
    found = json.loads(CliRunner().invoke(concord, ["harness", "faults", "--json"]).stdout)
    assert all(kind.example in output for kind in KINDS)
    assert [each["example"] for each in found] == [kind.example for kind in KINDS]


def test_scenarios_are_listed_with_what_they_are_for() -> None:
    table = CliRunner().invoke(concord, ["harness", "scenarios"], catch_exceptions=False).stdout
    found = json.loads(CliRunner().invoke(concord, ["harness", "scenarios", "--json"]).stdout)
    assert [line.split()[0] for line in table.splitlines()] == list(shipped_scenarios())
    assert {each["name"] for each in found} == set(shipped_scenarios())


def test_the_keys_of_a_scenario_are_listed_with_their_defaults() -> None:
    shown = CliRunner().invoke(concord, ["harness", "scenarios", "--keys"], catch_exceptions=False).stdout
    found = json.loads(CliRunner().invoke(concord, ["harness", "scenarios", "--keys", "--json"]).stdout)
    assert "publishers.count = 12\n    how many publishers" in shown
    assert [f"{each['key']} = " in shown for each in found] == [True] * len(found)
    assert all(find("quick", {each["key"]: each["default"]}) for each in found if each["default"])


@pytest.mark.timeout(300)  # runs two overlays of processes, and Spark on each
def test_compare_judges_every_ordering_and_writes_a_report(tmp_path: Path, small: str) -> None:
    out = tmp_path / "out"
    words = ["harness", "compare", small, "--out", str(out), "--orderings", "pairwise,fifo"]
    result = CliRunner().invoke(concord, [*words, "--json", "--quiet"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert [run["ordering"] for run in found["runs"]] == ["pairwise", "fifo"]
    assert found["runs"][0]["pairwise"] == "kept"
    assert found["runs"][0]["complete"] == "kept"
    assert found["runs"][1]["p50_ratio"] == 1
    assert "<html" in Path(found["report"]).read_text(encoding="utf-8")
    for name in ("pairwise", "fifo"):
        assert json.loads((out / name / "run.json").read_text())["ordering"] == name
        assert json.loads((out / name / "analysis.json").read_text())["deliveries"] > 0


@pytest.mark.timeout(180)  # runs four overlays of processes
def test_every_point_of_a_sweep_is_run_and_an_earlier_run_is_replaced_only_if_asked(
    tmp_path: Path, small: str
) -> None:
    swept = tmp_path / "swept.toml"
    swept.write_text(Path(small).read_text() + '[sweep]\n"publishers.count" = [1, 2]\n')
    out = tmp_path / "out"
    words = ["harness", "run", str(swept), "--out", str(out), "--quiet", "--set", "duration_s=0.3"]
    result = CliRunner().invoke(concord, [*words, "--json"])
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in (out / "points").iterdir()) == ["publishers-1", "publishers-2"]
    assert len(json.loads(result.stdout)) == 2
    unknown = CliRunner().invoke(concord, [*words, "--point", "publishers-3"])
    assert "no such point; there are publishers-1, publishers-2" in unknown.output
    assert "is not empty" in str(CliRunner().invoke(concord, words).exception)
    assert CliRunner().invoke(concord, [*words, "--replace", "--point", "publishers-2"]).exit_code == 0
    assert json.loads((out / "run.json").read_text())["publishers"] == 2


def test_options_of_an_ordering_are_not_given_to_another(tmp_path: Path, small: str) -> None:
    optioned = tmp_path / "optioned.toml"
    own = 'ordering = "published"\nordering_options = { form = "fast" }\n'
    optioned.write_text(own + Path(small).read_text())
    words = ["harness", "run", str(optioned), "--quiet", "--set", "duration_s=0.3"]
    for ordering, options in (("published", {"form": "fast"}), ("fifo", {})):
        out = tmp_path / ordering
        result = CliRunner().invoke(concord, [*words, "--out", str(out), "--ordering", ordering])
        assert result.exit_code == 0, result.output
        about = json.loads((out / "run.json").read_text())
        assert about["ordering_options"] == options
        assert about["routing"] == ("simple+simple" if ordering == "published" else "covering+simple")
    advice = CliRunner().invoke(concord, ["harness", "advise", str(tmp_path / "fifo"), "--json"])
    found = json.loads(advice.stdout)
    # Two clients of each kind at two brokers below a hub: every event takes both links.
    assert found["load"]["links_for_event"] == 2
    assert found["advised"] == "flooding+simple"


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path: Path, small: str) -> None:
    (tmp_path / "out" / "thesis").mkdir(parents=True)
    (tmp_path / "out" / "thesis" / "chapter.txt").write_text("ten years of work")
    words = ["harness", "run", small, "--out", str(tmp_path / "out"), "--replace", "--quiet"]
    assert "something else than runs" in str(CliRunner().invoke(concord, words).exception)
    assert (tmp_path / "out" / "thesis" / "chapter.txt").exists()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["nonsense"], "no scenario of that name; there are"),
        (["quick", "--fault", "crash edge-99 at 1s"], "at word 2, 'edge-99': no broker is called that"),
        (["quick", "--fault", "crash edge-1 by 1s"], "at word 3, 'by': expected one of: at, every"),
        (["quick", "--set", "publishers.cuont=3"], "publishers.cuont: no such key"),
        (["quick", "--set", "publishers"], "write it as KEY=VALUE"),
        (["quick", "--set", "duration_s=soon"], "duration_s: expected a number"),
        (["quick", "--ordering", "none"], "no ordering plugin is called 'none'"),
    ],
)
def test_mistakes_are_one_line_and_status_2(
    words: list[str], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["harness", "run", *words, "--out", str(tmp_path / "out")])
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert complaint in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()
