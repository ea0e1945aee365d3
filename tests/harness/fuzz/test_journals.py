"""Spoilt journals are opened or refused; the fuzzer repeats itself, and sees what it looks for."""

import attrs
import pytest
from click.testing import CliRunner

from broker.journal import JournalError
from broker.journal.layout import NUMBER_MAX
from harness.fuzz import campaigns, journals
from harness.fuzz.campaigns import Crash, FuzzTally, run
from harness.fuzz.damage import FORGERIES, KINDS
from harness.fuzz.journals import CAMPAIGN, REAL, WATCHED, main

SEED = 7
CASES = 2500


def test_some_thousand_spoilt_journals_are_opened_or_refused() -> None:
    tally = run(CAMPAIGN, SEED, range(CASES))
    assert tally.total == CASES
    assert min(tally.words["forged and opened"], tally.words["forged and refused"]) > CASES // 20
    damaged = [word.partition(" with ") for word in tally.words if " with " in word]
    assert {how for _, _, how in damaged} == set(KINDS)
    assert sum(tally.words[f"recovered with {how}"] for how in KINDS) > CASES // 10
    assert sum(tally.words[f"refused with {how}"] for how in KINDS) > CASES // 10


def test_every_forgery_occurs_and_some_cases_are_watched_or_on_the_file_system() -> None:
    cases = [CAMPAIGN.case_of(SEED, number) for number in range(1000)]
    done = {each for case in cases if case.records is None for each in case.how.split(", ")}
    assert len(done - {""}) == len(set(FORGERIES))
    assert sum(case.where == WATCHED for case in cases) > 20


def test_what_is_no_file_is_refused_or_does_no_harm() -> None:
    tally = FuzzTally()
    for number in range(40):
        CAMPAIGN.run_case(attrs.evolve(CAMPAIGN.case_of(SEED, number), where=REAL), tally)
    assert tally.total == 40


def test_an_error_of_another_kind_is_a_crash_that_names_its_case(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise IndexError

    monkeypatch.setattr(journals, "_open", broken)
    with pytest.raises(Crash, match=r"case \d+ of seed 7: IndexError"):
        run(CAMPAIGN, SEED, range(CASES))


@pytest.mark.parametrize("text", ["two\nlines", "x" * 1001, "\x1b[31m"])
def test_a_text_that_nobody_can_print_is_a_crash(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    def refuses(*_: object) -> None:
        raise JournalError(text, "")

    monkeypatch.setattr(journals, "_open", refuses)
    with pytest.raises(Crash, match="a message"):
        CAMPAIGN.run_case(CAMPAIGN.case_of(SEED, 1), FuzzTally())


def test_memory_that_a_file_only_claims_is_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "MEMORY_LIMIT_BYTES", 1)
    with pytest.raises(Crash, match="bytes of memory were used"):
        run(CAMPAIGN, SEED, range(CASES))


def test_the_program_runs_for_so_long_and_shows_a_case() -> None:
    result = CliRunner().invoke(main, ["--cases", "50", "--seed", "3"])
    assert result.exit_code == 0
    assert "50 spoilt journals" in result.output
    assert "0 spoilt journals" in CliRunner().invoke(main, ["--seconds", "0"]).output
    shown = CliRunner().invoke(main, ["--seed", "3", "--case", "1"])
    assert shown.exit_code == 0
    assert "opened" in shown.output or "refused" in shown.output


def test_a_crash_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaigns, "MESSAGE_LIMIT", 0)
    result = CliRunner().invoke(main, ["--seconds", "60"])
    assert result.exit_code == 1
    assert "crash: case" in result.output


def test_numbers_that_no_journal_reaches_leave_room_for_what_follows() -> None:
    assert 2**62 < NUMBER_MAX < 2**63 - 1


def test_a_journal_that_is_opened_as_another_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "state_of", lambda _: [])
    with pytest.raises(Crash, match="recovered 0 records of"):
        run(CAMPAIGN, SEED, range(CASES))
