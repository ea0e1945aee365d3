"""The campaigns repeat themselves, and find nothing but what is broken for them to find."""

import json
import re
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

import click
import pytest
from click.testing import CliRunner

from broker.commands import lines as lines_module
from broker.commands.broker import command as broker_command
from broker.node.access import AuthError
from broker.server import metrics as metrics_module
from examples.pages import serving
from examples.pages.guarding import Guard
from harness.fuzz import __main__ as everything
from harness.fuzz import (
    campaigns,
    configurations,
    filters,
    frames,
    journals,
    json_lines,
    pages,
    scrapes,
)
from harness.fuzz.campaigns import Campaign, Crash, FuzzTally, check_message, line_of, run

SEED = 7
CASES = 200
MODULES = (configurations, json_lines, scrapes, pages)
CAMPAIGNS = [each.CAMPAIGN for each in MODULES]
EVERY_MODULE = (*MODULES, filters, frames, journals)
EVERY = [each.CAMPAIGN for each in EVERY_MODULE]


def run_some(campaign: Campaign, cases: int = CASES) -> FuzzTally:
    return run(campaign, SEED, range(cases))


@pytest.mark.parametrize("campaign", CAMPAIGNS, ids=lambda each: each.name)
def test_some_hundred_cases_end_as_they_may(campaign: Campaign) -> None:
    tally = run_some(campaign)
    assert tally.total == CASES
    assert len(tally.words) > 1


@pytest.mark.parametrize("campaign", EVERY, ids=lambda each: each.name)
def test_a_case_follows_from_seed_and_number(campaign: Campaign) -> None:
    first, second = ([campaign.case_of(SEED, number) for number in range(50)] for _ in range(2))
    assert first == second
    assert campaign.case_of(SEED + 1, 0) != first[0]


@pytest.mark.parametrize("campaign", EVERY, ids=lambda each: each.name)
def test_a_run_ends_when_its_time_is_over(campaign: Campaign) -> None:
    assert run(campaign, SEED, count(), 0).total == 0


@pytest.mark.parametrize("module", EVERY_MODULE, ids=lambda each: each.CAMPAIGN.name)
def test_one_case_can_be_looked_at_again(module: Any) -> None:
    result = CliRunner().invoke(module.main, ["--seed", str(SEED), "--case", "1"])
    assert result.exit_code == 0
    assert module.CAMPAIGN.text(module.CAMPAIGN.case_of(SEED, 1)) in result.output
    assert re.search(rf"1 {module.CAMPAIGN.name}, [\d,]+ a second: 1 ", result.output)


def test_what_nobody_foresaw_is_a_crash_that_names_its_case(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> NoReturn:
        raise IndexError("a defect")

    monkeypatch.setattr(lines_module, "_object", broken)
    monkeypatch.setattr(metrics_module, "_response", broken)
    monkeypatch.setattr(broker_command, "callback", broken)
    monkeypatch.setattr(Guard, "__call__", broken)
    for campaign in CAMPAIGNS:
        with pytest.raises(Crash, match=r"case \d+ of seed 7: .*IndexError: a defect"):
            run_some(campaign)


def test_a_guard_that_accepts_every_request_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Guard, "_refusal", lambda *_: None)
    with pytest.raises(Crash, match="without the token or the right names"):
        run_some(pages.CAMPAIGN)


def test_a_message_that_ends_a_tab_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "_read", json.loads)
    with pytest.raises(Crash, match="JSONDecodeError"):
        run_some(pages.CAMPAIGN)


def test_metrics_for_every_path_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = metrics_module._response
    metrics = b"fuzzed_metric 0\n"
    monkeypatch.setattr(metrics_module, "_response", lambda status, _: answer(status, metrics))
    with pytest.raises(Crash, match="with"):
        run_some(scrapes.CAMPAIGN)


def test_a_line_that_is_not_named_is_found() -> None:
    with pytest.raises(Crash, match="does not name the line"):
        json_lines._check_number("concord: line 3: not JSON", b"\n")


def test_only_an_error_for_people_passes() -> None:
    assert line_of(click.ClickException("a\nb\x1b")) == "concord: a b\\x1b"
    assert line_of(AuthError("x" * 5000)).startswith("concord: xxx")
    with pytest.raises(Crash, match="a traceback: ValueError: x"):
        line_of(ValueError("x"))
    for message in ("", "x" * 1001, "a\nb"):
        with pytest.raises(Crash, match="a message"):
            check_message(message)


def test_all_campaigns_share_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaigns, "_peak_bytes", lambda: 1)
    corpus = tmp_path / "filters.txt"
    corpus.write_text("x == 1\n")
    result = CliRunner().invoke(everything.main, ["--seconds", "0.8", "--seed", "3", "--corpus", str(corpus)])
    assert result.exit_code == 0, result.output
    results = [line for line in result.output.splitlines() if not line.startswith("  ")]
    assert len(results) == len(everything.CAMPAIGNS)


def test_a_crash_ends_the_program_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics_module, "_response", lambda *_: b"nonsense")
    result = CliRunner().invoke(scrapes.main, ["--seconds", "60"])
    assert result.exit_code == 1
    assert "an answer that is no HTTP" in result.output


def test_growing_memory_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    peaks = iter((1, frames.GROWTH_LIMIT_BYTES + 2))
    monkeypatch.setattr(campaigns, "_peak_bytes", lambda: next(peaks))
    result = CliRunner().invoke(frames.main, ["--cases", "200"])
    assert result.exit_code == 1
    assert "something is kept" in result.output
