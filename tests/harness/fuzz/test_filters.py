"""The filter fuzzer repeats itself, finds what it looks for, and finds nothing."""

from itertools import count
from pathlib import Path
from time import monotonic

import pytest
from click.testing import CliRunner

from broker.filters import Filter, language
from broker.matching import MatchingIndex
from harness.fuzz import filters
from harness.fuzz.filters import Crash, case_of, corpus_of, main, run

SEED = 7
CASES = 250
CORPUS = corpus_of(Path(__file__).with_name("filters.txt"))


def run_some(cases: int = CASES) -> filters.Tally:
    tally, _ = run(SEED, iter(range(cases)), CORPUS, monotonic() + 600)
    return tally


def test_filters_withstand_some_hundred_texts() -> None:
    tally = run_some()
    assert tally.filters + tally.errors == 2 * CASES
    assert min(tally.filters, tally.errors) > CASES // 4
    assert 100_000 < tally.dearest < filters.COST_LIMIT


def test_every_text_of_the_corpus_is_judged() -> None:
    tally = filters.Tally()
    for text in CORPUS:
        filters.run_case(filters.Case((text, text), "events"), tally)
    assert min(tally.filters, tally.errors) > len(CORPUS) // 4


def test_a_case_follows_from_seed_and_number() -> None:
    cases = [case_of(SEED, number, CORPUS) for number in range(50)]
    assert cases == [case_of(SEED, number, CORPUS) for number in range(50)]
    assert len({case.texts for case in cases}) > 45
    assert case_of(SEED, 1) != case_of(SEED + 1, 1)


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
    monkeypatch.setattr(filters, "MESSAGE_LIMIT", 30)
    with pytest.raises(Crash, match="a message of"):
        run_some()


def test_a_run_ends_when_its_time_is_over() -> None:
    assert run(SEED, count(), CORPUS, monotonic())[1] == 0


def test_the_program_says_what_became_of_the_texts() -> None:
    result = CliRunner().invoke(main, ["--seconds", "0.5", "--seed", "3"])
    assert result.exit_code == 0
    assert "pairs of texts" in result.output
    assert "the dearest took" in result.output


def test_one_case_can_be_looked_at_again() -> None:
    result = CliRunner().invoke(main, ["--seed", str(SEED), "--case", "1"])
    assert result.exit_code == 0
    assert repr(case_of(SEED, 1).texts[0]) in result.output
    assert "1 pairs of texts" in result.output


def test_the_program_ends_with_an_error_at_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "COST_LIMIT", 1)
    result = CliRunner().invoke(main, ["--seconds", "60"])
    assert result.exit_code == 1
    assert "crash: case 0 of seed 1" in result.output
