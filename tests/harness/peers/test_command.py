"""`concord harness peers`, as a user calls it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from broker.commands import concord
from harness.peers import starting

QUICK = ["harness", "peers", "--quick", "--only", "1 x 1"]


@pytest.mark.timeout(300)  # runs two systems of processes, and Spark on each
def test_systems_are_measured_in_turn_and_judged_and_an_absent_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting, "find_program", lambda _: None)
    out = tmp_path / "out"
    words = [*QUICK, "--peers", "redis,relay", "--out", str(out), "--json"]
    result = CliRunner().invoke(concord, words)
    assert result.exit_code == 0, result.output
    assert "redis is left out: there is no redis-server" in result.stderr
    found = json.loads(result.stdout)
    assert [each["peer"] for each in found["results"]] == ["concord", "relay"]
    for each in found["results"]:
        (verdict,) = each["verdicts"]
        assert (verdict["reason"], verdict["missing"], verdict["disagreeing"]) == ("", 0, 0)
        assert (out / "1-x-1" / each["peer"] / "1" / "analysis.json").is_file()
    assert json.loads((out / "peers.json").read_text()) == found


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--peers", "nobody"], "'nobody' is no peer; there are concord, nats"),
        (["--only", "9 x 9"], "no shape has '9 x 9' in its name; there are: 1 x 1;"),
    ],
)
def test_what_there_is_not_is_refused_with_what_there_is(tmp_path: Path, words: list[str], said: str) -> None:
    result = CliRunner().invoke(concord, ["harness", "peers", "--out", str(tmp_path / "out"), *words])
    assert result.exit_code == 2
    assert said in result.stderr
    assert not (tmp_path / "out").exists()
