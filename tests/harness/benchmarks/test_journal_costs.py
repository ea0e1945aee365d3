from pathlib import Path

import pytest
import structlog
from click.testing import CliRunner

from harness.benchmarks import journal, stores


def test_both_stores_are_measured_and_nothing_is_left(tmp_path: Path) -> None:
    for cost in stores.measure(tmp_path, 300, batches=5):
        assert cost.p50_ms > 0
        assert cost.used_us >= 0
    assert list(tmp_path.iterdir()) == []


def test_a_start_from_a_snapshot_and_from_records_is_timed_and_nothing_is_left(tmp_path: Path) -> None:
    with structlog.testing.capture_logs() as logs:
        [start] = journal.starts([800], tmp_path)
    assert start.publications == 800
    assert start.journal_bytes > 800 * 100
    assert start.replayed_s > 0
    replayed = [log["records"] for log in logs if log["event"] == "journal replayed"]
    assert len(replayed) == 2
    assert replayed[0] > 0
    assert replayed[1] == 0
    assert list(tmp_path.iterdir()) == []


def test_a_snapshot_is_timed_here_apart_and_at_a_start() -> None:
    found = journal.snapshot_times(50)
    assert found.snapshot_bytes > 50 * 100
    assert min(found.here_s, found.stall_s, found.start_s) > 0


def test_a_sync_is_timed(tmp_path: Path) -> None:
    assert journal.sync_ms(tmp_path) > 0


@pytest.mark.parametrize("command", [journal.command, stores.command])
def test_the_commands_say_what_they_do(command: object) -> None:
    result = CliRunner().invoke(command, ["--help"])  # type: ignore[arg-type] # both are commands
    assert result.exit_code == 0
    assert "Example: python -m harness.benchmarks." in result.output
