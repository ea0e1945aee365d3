"""A broker starts with what its journal remembers."""

from pathlib import Path

import pytest
import structlog

from broker.addresses import Address
from broker.errors import ConcordError
from broker.filters import parse
from broker.journal import JournalError
from broker.server.memory import remember
from broker.server.settings import Settings
from broker.station import SubscriptionTerms, snapshot_of
from ordering.watched import Watch


def settings(journal: Path | None, *, ordering: str = "pairwise") -> Settings:
    return Settings(name="B1", listen=Address("127.0.0.1", 0), ordering=ordering, journal=journal)


def test_without_a_journal_every_start_is_another_run() -> None:
    first, second = remember(settings(None)), remember(settings(None))
    assert first.journal is None
    assert first.station.incarnation != second.station.incarnation


def test_what_was_recorded_is_there_after_a_restart(tmp_path: Path) -> None:
    begun = remember(settings(tmp_path / "B1"))
    assert begun.journal is not None
    begun.station.begin(begun.journal.append)
    begun.station.subscribe("s", SubscriptionTerms(parse("x > 0"), ordered=True))
    begun.station.take()
    begun.journal.close()
    with structlog.testing.capture_logs() as logs:
        again = remember(settings(tmp_path / "B1"))
    assert again.journal is not None
    assert again.station.incarnation == begun.station.incarnation == again.journal.incarnation
    assert list(again.station.subscriptions) == ["s"]
    assert [log["event"] for log in logs] == ["journal replayed"]
    assert logs[0]["records"] == again.journal.recovered.count > 0
    assert logs[0]["seconds"] >= 0
    again.journal.close()


def test_a_watched_plugin_leaves_the_same_memory_as_one_that_is_not(tmp_path: Path) -> None:
    over = Watch(lambda: 0, lambda: 0).over
    for first, second in ((None, over), (over, None)):
        place = tmp_path / str(first is None)
        begun = remember(settings(place), first)
        assert begun.journal is not None
        begun.station.begin(begun.journal.append)
        begun.station.subscribe("s", SubscriptionTerms(parse("x > 0"), ordered=True))
        begun.station.take()
        begun.journal.snapshot(snapshot_of(begun.station), begun.journal.appended)
        begun.journal.close()
        again = remember(settings(place), second)
        assert again.journal is not None
        assert again.journal.recovered.upto > 0
        assert list(again.station.subscriptions) == ["s"]
        again.journal.close()


def test_what_was_repaired_is_logged(tmp_path: Path) -> None:
    begun = remember(settings(tmp_path))
    assert begun.journal is not None
    begun.station.begin(begun.journal.append)
    begun.journal.close()
    (tmp_path / "synced").unlink()
    with structlog.testing.capture_logs() as logs:
        again = remember(settings(tmp_path))
    assert again.journal is not None
    again.journal.close()
    assert [(log["event"], log["log_level"]) for log in logs] == [
        ("journal repaired", "warning"),
        ("journal replayed", "info"),
    ]


def test_a_journal_that_cannot_be_used_stops_the_start_and_is_let_go(tmp_path: Path) -> None:
    begun = remember(settings(tmp_path))
    assert begun.journal is not None
    begun.station.begin(begun.journal.append)
    with pytest.raises(JournalError, match="another process"):
        remember(settings(tmp_path))
    begun.journal.close()
    with pytest.raises(ConcordError, match="'pairwise, routing covering\\+simple'"):
        remember(settings(tmp_path, ordering="fifo"))
    again = remember(settings(tmp_path))
    assert again.journal is not None
    again.journal.close()
