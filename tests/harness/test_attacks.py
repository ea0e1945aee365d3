"""Attacks on real brokers: each lives and takes a child, and honest clients get everything.

How fast they get it is not asserted here: the machine may be busy. `python -m harness.attacks` judges that.
"""

import json
import subprocess
import sys
from time import monotonic
from typing import Final

import pytest
import trio

from harness.attacks.hostile import ATTACKS, AttackTarget
from tests.broker.server.overlay import running, settings
from tests.sources import ROOT

NAMES: Final = ("powers", "unread-answers", "ghosts")
ATTACKED_S: Final = 1.0
"""Who attacks is a process of its own, and takes half of it to begin."""

TIMEOUT_S: Final = 150
SPEED: Final = ("throughput fell", "p99 rose")


@pytest.mark.timeout(TIMEOUT_S + 10)  # three brokers, each with a child, one after the other
def test_the_broker_lives_and_honest_clients_get_everything() -> None:
    only = [word for name in NAMES for word in ("--only", name)]
    command = [sys.executable, "-m", "harness.attacks", *only, "--seconds", str(ATTACKED_S), "--json"]
    # It exits with 1 if clients got less than they should a second, too.
    done = subprocess.run(  # noqa: S603 - this very program
        command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    # What was published came in order and once, or the program ends without an outcome.
    assert [outcome["attack"] for outcome in outcomes] == list(NAMES), done.stderr
    for outcome in outcomes:
        assert outcome["is_alive"]
        assert outcome["takes_children"]
        assert outcome["grown_mib"] <= ATTACKS[outcome["attack"]].memory_mib
        assert outcome["beside"]["events_per_s"] > 0
        assert [each for each in outcome["failures"] if not each.startswith(SPEED)] == []


@pytest.mark.parametrize("name", NAMES)
async def test_an_attack_comes_to_its_broker(name: str) -> None:
    async with running(settings("B1")) as attacked:
        target = AttackTarget(attacked.server.port, monotonic() + ATTACKED_S)
        await trio.to_thread.run_sync(ATTACKS[name].run, target)
        totals = attacked.server.exchange.totals
        assert totals.connections > 0
        assert totals.refused > 0 or name != "powers"
