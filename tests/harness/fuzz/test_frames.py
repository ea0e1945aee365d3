"""The fuzzer repeats itself, finds what it looks for, and finds nothing."""

import pytest
from click.testing import CliRunner

from broker.wire import Decoder
from harness.fuzz import frames
from harness.fuzz.campaigns import Crash, run
from harness.fuzz.frames import CAMPAIGN, main

SEED = 7
CASES = 3000


def test_a_decoder_withstands_some_thousand_damaged_frames() -> None:
    tally = run(CAMPAIGN, SEED, range(CASES))
    assert tally.total == CASES
    assert len(tally.words) == 3
    assert min(tally.words.values()) > CASES // 100


def test_an_error_of_another_kind_is_a_crash_that_names_its_case(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Decoder, chunk: bytes) -> list[object]:
        raise IndexError(len(chunk))

    monkeypatch.setattr(Decoder, "feed", broken)
    with pytest.raises(Crash, match="case 0 of seed 7: IndexError"):
        run(CAMPAIGN, SEED, range(CASES))


def test_a_decoder_that_depends_on_the_cut_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = Decoder.feed

    def forgetful(decoder: Decoder, chunk: bytes) -> list[object]:
        messages = feed(decoder, chunk)
        decoder._rest.clear()
        return messages

    monkeypatch.setattr(Decoder, "feed", forgetful)
    with pytest.raises(Crash, match="cut it gives"):
        run(CAMPAIGN, SEED, range(CASES))


def test_a_decoder_that_reads_a_frame_differently_alone_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def other(_: bytes) -> tuple[str, int, int, dict[str, int], bytes, bool]:
        return "somebody", 1, 1, {}, b"", False

    monkeypatch.setattr(frames, "decode_delivery", other)
    with pytest.raises(Crash, match="read alone these are other publications"):
        run(CAMPAIGN, SEED, range(CASES))


def test_the_program_says_what_became_of_the_frames() -> None:
    result = CliRunner().invoke(main, ["--cases", "200", "--seed", "3"])
    assert result.exit_code == 0
    assert "200 damaged frames" in result.output


@pytest.mark.parametrize("number", range(5))
def test_one_case_is_shown_with_what_it_is_decoded_to(number: int) -> None:
    result = CliRunner().invoke(main, ["--seed", str(SEED), "--case", str(number)])
    assert result.exit_code == 0
    assert CAMPAIGN.case_of(SEED, number).stream.hex() in result.output
    assert ("not refused" in result.output) == (": 1 refused" not in result.output)
