from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.journals import campaign
from harness.journals.damage import KINDS


@pytest.mark.timeout(180)  # thousands of journals
def test_every_spoilt_journal_is_recovered_exactly_or_refused_with_a_message() -> None:
    outcome = campaign.run(0, 120)
    assert outcome.failures == []
    assert outcome.count == 120
    assert outcome.recovered > 20
    assert outcome.refused > 20
    assert {kind.partition(":")[0] for kind in outcome.kinds} == set(KINDS)


def test_a_seed_stands_for_one_journal_and_one_damage(tmp_path: Path) -> None:
    results = []
    for place in ("a", "b"):
        directory = tmp_path / place
        directory.mkdir()
        results.append(campaign.corrupt(3, directory))
    assert results[0] == results[1]


def test_the_command_prints_what_became_of_each() -> None:
    result = CliRunner().invoke(campaign.command, ["--count", "5", "--json"])
    assert result.exit_code == 0
    assert '"journals": 5' in result.output
    assert '"failures": 0' in result.output
