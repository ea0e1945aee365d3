"""`concord harness explore` and `concord harness replay`, as a user calls them."""

import json
import re

import pytest
from click.testing import CliRunner

from broker.commands import concord, main


def call(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(concord, ["harness", *words])
    return result.exit_code, result.stdout


def test_explore_prints_one_object_and_succeeds_if_nothing_is_violated() -> None:
    status, output = call("explore", "--schedules", "30", "--seed", "5", "--faults", "crash")
    found = json.loads(output)
    assert status == 0
    assert found["schedules"] == 30
    assert found["violations"] == 0
    assert set(found["kinds"].values()) == {0}
    assert found["first"] == {}


def test_explore_fails_if_a_promise_is_broken() -> None:
    status, output = call("explore", "--schedules", "20", "--mutant", "no-detection", "--brokers", "2-3")
    found = json.loads(output)
    assert status == 1
    assert found["violations"] >= 1
    assert found["kinds"]["pairwise"] == found["violations"]


def test_the_command_of_the_first_violation_shows_it() -> None:
    _, output = call("explore", "--schedules", "20", "--mutant", "no-detection")
    words = json.loads(output)["first"]["replay"].split()
    assert words[:3] == ["concord", "harness", "replay"]
    status, diagram = call("replay", *words[3:])
    assert status == 1
    assert "pairwise: " in diagram
    assert len(re.findall(r"publish P\d", diagram)) == 2


def test_replay_of_a_good_schedule_says_so() -> None:
    status, output = call("replay", "3", "--faults", "churn")
    assert status == 0
    assert output.rstrip().endswith("every promise was kept")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--ordering", "nonsense"], "no ordering plugin is called 'nonsense'"),
        (["--brokers", "6-2"], "'6-2' must go from a smaller number"),
        (["--brokers", "few"], "'few' is no range of brokers"),
        (["--mutant", "nonsense"], "nonsense"),
    ],
)
def test_mistakes_are_one_line_and_status_2(
    words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["harness", "explore", *words])
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert complaint in error
    assert error.count("\n") == 1
