"""What a page may ask of the brokers of a demo."""

import pytest
import trio

from examples.pages.match import Match
from examples.pages.overlay import DemoOverlay
from examples.pages.tabs import GameTab


async def test_a_broker_that_is_killed_twice_at_once_is_started_once(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    did: list[str] = []

    async def note(_: DemoOverlay, name: str) -> None:
        did.append(name)

    monkeypatch.setattr(DemoOverlay, "kill", note)
    monkeypatch.setattr(DemoOverlay, "start", note)
    overlay = DemoOverlay("pairwise", {"B1": "127.0.0.1:1"})
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(overlay.restart, "B1")
    assert did == ["B1", "B1"]
    await overlay.restart("B1")
    assert len(did) == 4
    assert autojump_clock.rate == 0


async def test_views_of_what_is_no_name_are_left_out(nursery: trio.Nursery) -> None:
    overlay = DemoOverlay("pairwise", {"B1": "127.0.0.1:1"})
    tab = GameTab({"pairwise": Match.of(overlay, 4, 1)}, nursery)
    await tab.do({"do": "views", "names": [["Ada"], {"Ben": 1}, 3, None, "Cleo", "Nobody"]})
    assert tab.names == ["Cleo"]
