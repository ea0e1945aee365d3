"""The filter fuzzer repeats itself, finds what it looks for, and finds nothing."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from broker.filters import Filter, language
from broker.matching import MatchingIndex
from harness.fuzz import campaigns, filters
from harness.fuzz.campaigns import Crash, FuzzTally, run
from harness.fuzz.filters import CAMPAIGN, corpus_of, damaging, main

SEED = 7
CASES = 250
FILE = Path(__file__).with_name("filters.txt")
CORPUS = corpus_of(FILE)


def run_some() -> FuzzTally:
    return run(damaging(FILE), SEED, range(CASES))


def test_filters_withstand_some_hundred_texts() -> None:
    tally = run_some()
    assert tally.total == CASES
    assert len(tally.words) == 3
    assert min(tally.words.values()) > CASES // 10
    assert 100_000 < tally.dearest < filters.COST_LIMIT


def test_every_text_of_the_corpus_is_judged() -> None:
    tally = FuzzTally()
    for text in CORPUS:
        CAMPAIGN.run_case(filters.FilterCase((text, text), 1), tally)
    assert min(tally.words.values()) > len(CORPUS) // 8


def test_cases_differ_also_with_a_corpus() -> None:
    cases = [damaging(FILE).case_of(SEED, number) for number in range(50)]
    assert cases == [damaging(FILE).case_of(SEED, number) for number in range(50)]
    assert len({case.texts for case in cases}) > 45


def test_an_error_that_nobody_foresaw_is_a_crash_that_names_its_case(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> None:
        raise RecursionError

    monkeypatch.setattr(language, "canonical", broken)
    with pytest.raises(Crash, match=r"case \d+ of seed 7: an error that nobody foresaw: RecursionError"):
        run_some()


def test_a_filter_that_is_printed_as_another_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Filter, "__str__", lambda _: "x == 1")
    with pytest.raises(Crash, match="which is another"):
        run_some()


def test_a_filter_that_does_not_cover_itself_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Filter, "covers", lambda *_: False)
    with pytest.raises(Crash, match="does not cover itself"):
        run_some()


def test_an_answer_that_events_contradict_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Filter, "covers", lambda *_: True)
    with pytest.raises(Crash, match="goes beyond it"):
        run_some()


def test_an_index_that_forgets_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MatchingIndex, "match", lambda *_: [])
    with pytest.raises(Crash, match=r"the index finds \[\]"):
        run_some()


def test_work_beyond_the_limit_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "COST_LIMIT", 1000)
    with pytest.raises(Crash, match="steps"):
        run_some()


def test_a_message_beyond_the_limit_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaigns, "MESSAGE_LIMIT", 30)
    with pytest.raises(Crash, match="a message of"):
        run_some()


def test_the_program_says_what_became_of_the_texts() -> None:
    result = CliRunner().invoke(main, ["--seconds", "0.5", "--seed", "3"])
    assert result.exit_code == 0
    assert "pairs of texts" in result.output
    assert "the dearest took" in result.output


def test_the_program_ends_with_an_error_at_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "COST_LIMIT", 1)
    result = CliRunner().invoke(main, ["--seconds", "60"])
    assert result.exit_code == 1
    assert "crash: case 0 of seed 1" in result.output
