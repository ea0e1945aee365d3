"""The fuzzer repeats itself, finds what it looks for, and finds nothing."""

import pytest
from click.testing import CliRunner

from broker.wire import Decoder
from harness.fuzz import frames
from harness.fuzz.frames import Crash, Tally, case_of, main, run, run_case

SEED = 7
CASES = 3000


def test_a_decoder_withstands_some_thousand_damaged_frames() -> None:
    tally, _ = run(SEED, CASES)
    assert tally.accepted + tally.refused + tally.waiting == CASES
    assert min(tally.accepted, tally.refused, tally.waiting) > CASES // 100


def test_a_case_follows_from_seed_and_number() -> None:
    assert [case_of(SEED, number) for number in range(50)] == [case_of(SEED, number) for number in range(50)]
    assert case_of(SEED, 1) != case_of(SEED, 2)
    assert case_of(SEED, 1) != case_of(SEED + 1, 1)


def test_an_error_of_another_kind_is_a_crash_that_names_its_case(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Decoder, chunk: bytes) -> list[object]:
        raise IndexError(len(chunk))

    monkeypatch.setattr(Decoder, "feed", broken)
    with pytest.raises(Crash, match="case 0 of seed 7: IndexError"):
        run(SEED, CASES)


def test_a_decoder_that_depends_on_the_cut_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = Decoder.feed

    def forgetful(decoder: Decoder, chunk: bytes) -> list[object]:
        messages = feed(decoder, chunk)
        decoder._rest.clear()
        return messages

    monkeypatch.setattr(Decoder, "feed", forgetful)
    with pytest.raises(Crash, match="cut it gives"):
        run(SEED, CASES)


def test_a_decoder_that_reads_a_frame_differently_alone_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def other(_: bytes) -> tuple[str, int, int, dict[str, int], bytes, bool]:
        return "somebody", 1, 1, {}, b"", False

    monkeypatch.setattr(frames, "decode_delivery", other)
    with pytest.raises(Crash, match="read alone these are other publications"):
        run(SEED, CASES)


def test_the_program_says_what_became_of_the_frames() -> None:
    result = CliRunner().invoke(main, ["--frames", "200", "--seed", "3"])
    assert result.exit_code == 0
    assert "200 damaged frames" in result.output
    assert "peak memory grew by" in result.output


def test_growing_memory_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    peaks = iter((1, frames.GROWTH_LIMIT_BYTES + 2))
    monkeypatch.setattr(frames, "_peak_bytes", lambda: next(peaks))
    result = CliRunner().invoke(main, ["--frames", "200"])
    assert result.exit_code == 1
    assert "something is kept" in result.output


def test_one_case_can_be_looked_at_again() -> None:
    result = CliRunner().invoke(main, ["--seed", str(SEED), "--case", "1"])
    assert result.exit_code == 0
    assert case_of(SEED, 1).stream.hex() in result.output
    tally = Tally()
    run_case(case_of(SEED, 1), tally)
    assert ("not refused" in result.output) == (tally.refused == 0)
