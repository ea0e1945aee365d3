"""Spoilt journals are opened or refused; the fuzzer repeats itself, and sees what it looks for."""

import pytest
from click.testing import CliRunner

from broker.journal import JournalError
from broker.journal.layout import NUMBER_MAX
from harness.fuzz import journals
from harness.fuzz.forgeries import FORGERIES
from harness.fuzz.journals import REAL_CASES, Crash, Tally, main, run, run_case

SEED = 7
CASES = 2500


def test_some_thousand_spoilt_journals_are_opened_or_refused() -> None:
    tally = run(SEED, CASES)
    assert tally.opened + tally.refused == CASES
    assert min(tally.opened, tally.refused) > CASES // 10
    done = {each for kind in tally.kinds for each in kind.partition(":")[0].split(", ")}
    assert len(done) == len(set(FORGERIES))


def test_what_is_no_file_is_refused_or_does_no_harm() -> None:
    tally = Tally()
    for number in range(0, 20 * REAL_CASES, REAL_CASES):
        run_case(SEED, number, tally)
    assert tally.opened + tally.refused == 20


def test_a_case_follows_from_seed_and_number() -> None:
    tallies = [Tally(), Tally()]
    for tally in tallies:
        for number in range(1, 60):
            run_case(SEED, number, tally)
    assert tallies[0] == tallies[1]
    assert run(SEED + 1, 60) != run(SEED, 60)


def test_an_error_of_another_kind_is_a_crash_that_names_its_case(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise IndexError

    monkeypatch.setattr(journals, "_open", broken)
    with pytest.raises(Crash, match=r"case \d+ of seed 7: .*: IndexError"):
        run(SEED, CASES)


@pytest.mark.parametrize("text", ["two\nlines", "x" * 1001, "\x1b[31m"])
def test_a_text_that_nobody_can_print_is_a_crash(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    def refuses(*_: object) -> None:
        raise JournalError(text, "")

    monkeypatch.setattr(journals, "_open", refuses)
    with pytest.raises(Crash, match="no line to print"):
        run_case(SEED, 1, Tally())


def test_memory_that_a_file_only_claims_is_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "MEMORY_LIMIT_BYTES", 1)
    with pytest.raises(Crash, match="bytes of memory were used"):
        run(SEED, CASES)


def test_the_program_runs_for_so_long_and_shows_a_case() -> None:
    result = CliRunner().invoke(main, ["--seconds", "60", "--cases", "50", "--seed", "3"])
    assert result.exit_code == 0
    assert "50 spoilt journals" in result.output
    assert "0 spoilt journals" in CliRunner().invoke(main, ["--seconds", "0"]).output
    shown = CliRunner().invoke(main, ["--seed", "3", "--case", "1"])
    assert shown.exit_code == 0
    assert "opened" in shown.output or "refused" in shown.output


def test_a_crash_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "TEXT_MAX", 0)
    result = CliRunner().invoke(main, ["--seconds", "60"])
    assert result.exit_code == 1
    assert "crash: case" in result.output


def test_numbers_that_no_journal_reaches_leave_room_for_what_follows() -> None:
    assert 2**62 < NUMBER_MAX < 2**63 - 1
