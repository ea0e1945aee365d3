"""Runs attacks against real brokers, and prints the measurements of honest clients beside each.

python -m harness.attacks                          # all of them; exits with 1 if one was not held off
python -m harness.attacks --only powers --seconds 5
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Final

import click
import trio
from attrs import asdict, frozen

from harness import outcomes
from harness.attacks.honest import Got, measure
from harness.attacks.hostile import ATTACKS, Attack, AttackTarget
from harness.overlay import attached, start_brokers
from harness.processes import ServerProcess, start_server

P99_MS_MAX: Final = 100.0
THROUGHPUT_PART_MIN: Final = 0.5
MIB: Final = 1024 * 1024
NICE: Final = 10
"""The attacker gets the processor time that the others leave: in reality it has a machine of its own."""


@frozen
class AttackOutcome:
    """The result of one attack."""

    attack: str
    alone: Got
    beside: Got
    grown_mib: float
    is_alive: bool
    takes_children: bool

    @property
    def part(self) -> float:
        """The part of the throughput that was left."""
        return self.beside.events_per_s / self.alone.events_per_s

    def failures(self, attack: Attack) -> list[str]:
        """Return the words for the harm that an attack did."""
        found = []
        if not self.is_alive:
            found.append("the broker has ended")
        if not self.takes_children:
            found.append("no other broker can attach any more")
        if self.part < THROUGHPUT_PART_MIN:
            found.append(f"throughput fell to {self.part:.0%}")
        if self.beside.p99_ms > P99_MS_MAX:
            found.append(f"p99 rose to {self.beside.p99_ms:.0f} ms")
        if self.grown_mib > attack.memory_mib:
            found.append(f"memory grew by {self.grown_mib:.0f} MiB, and {attack.memory_mib} are allowed")
        return found


@contextmanager
def _descriptors(limit: int | None) -> Iterator[None]:
    """Programs that are started meanwhile may open no more files than this."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def _memory_mib(server: ServerProcess) -> float:
    status = Path(f"/proc/{server.program.process.pid}/status").read_text(encoding="ascii")
    (line,) = [each for each in status.splitlines() if each.startswith("VmRSS:")]
    return int(line.split()[1]) * 1024 / MIB


async def attacked(name: str, seconds: float) -> AttackOutcome:
    """Run one attack against a broker of its own."""
    attack = ATTACKS[name]
    with tempfile.TemporaryDirectory() as folder:
        journals = Path(folder) if attack.has_journal else None
        async with trio.open_nursery() as nursery:
            with _descriptors(attack.descriptors):
                options = ["--log-level", "error", *attack.options]
                servers = await start_brokers(nursery, {"B1": None}, options, journals=journals)
            server = servers["B1"]
            alone = await measure(server.address, seconds)
            before_mib = _memory_mib(server)
            beside = await _beside(name, server, seconds)
            is_alive = server.program.process.poll() is None
            grown_mib = _memory_mib(server) - before_mib if is_alive else 0.0
            takes_children = is_alive and await _attaches(server)
            nursery.cancel_scope.cancel()
    return AttackOutcome(name, alone, beside, grown_mib, is_alive, takes_children)


async def _beside(name: str, server: ServerProcess, seconds: float) -> Got:
    """Measure honest clients while the attack goes on."""
    command = [sys.executable, "-m", "harness.attacks", "--against", str(server.port), "--only", name]
    async with trio.open_nursery() as attacking:
        attacking.start_soon(_attack, [*command, "--seconds", str(2 * seconds + 2)])
        got = await measure(server.address, seconds)
        attacking.cancel_scope.cancel()
    return got


async def _attack(command: Sequence[str]) -> None:
    await trio.run_process(list(command), stdin=subprocess.DEVNULL, check=False)


async def _attaches(server: ServerProcess) -> bool:
    """Return whether another broker can become a child of this one."""
    async with trio.open_nursery() as nursery:
        options = ("broker", "--name", "B2", "--listen", "127.0.0.1:0", "--uplink", server.address)
        child = await start_server(nursery, "broker B2", "broker", (*options, "--log-format", "json"))
        with trio.move_on_after(20) as scope:
            await attached(child)
        nursery.cancel_scope.cancel()
    return not scope.cancelled_caught


async def _run(names: Sequence[str], seconds: float, as_json: bool) -> bool:  # noqa: FBT001 - passed on
    """Run attacks one after the other; return whether all were held off."""
    failed = False
    for name in names:
        outcome = await attacked(name, seconds)
        failures = outcome.failures(ATTACKS[name])
        failed |= bool(failures)
        if as_json:
            click.echo(json.dumps({**asdict(outcome), "failures": failures}))
            continue
        got, alone, said = outcome.beside, outcome.alone, "; ".join(failures) or "held off"
        click.echo(
            f"{name:20}{got.events_per_s:>9,.0f} of {alone.events_per_s:>7,.0f} events/s{outcome.part:>6.0%} "
            f"p99 {got.p99_ms:>6.1f} ms (alone {alone.p99_ms:.1f})  {outcome.grown_mib:>+7.1f} MiB   "
            f"{said}"
        )
    return not failed


@click.command(epilog="Example: python -m harness.attacks --only powers --seconds 5")
@click.option("--only", multiple=True, type=click.Choice(list(ATTACKS)), help="Attack; may be repeated.")
@click.option("--seconds", type=click.FloatRange(min=0.1), default=3.0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each attack.")
@click.option("--against", type=int, hidden=True)
def main(only: Sequence[str], seconds: float, against: int | None, *, as_json: bool) -> None:
    """Attack brokers, and measure the throughput and latency of honest clients meanwhile."""
    if against is not None:
        os.nice(NICE)
        ATTACKS[only[0]].run(AttackTarget(against, monotonic() + seconds))
        return
    if not outcomes.run(_run, only or list(ATTACKS), seconds, as_json):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
