"""The processes of clients, from outside: starts them, orders them to begin and to finish, and counts."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import trio
from attrs import define, field

from harness.processes import ProcessError, ProgramProcess, start
from harness.runs.plan import Job, Plan
from harness.runs.wiring import Wiring

CONNECT_TIMEOUT_S: Final = 120.0
"""A thousand clients at a hundred brokers take ten seconds; a loaded machine is given twelve times that."""

FINISH_TIMEOUT_S: Final = 300.0
"""Writing the last rows, and matching every publication with every subscription."""


@define(eq=False)
class _Process:
    """One process of clients and its last report."""

    job: Job
    program: ProgramProcess
    report: Mapping[str, object] = field(factory=dict)
    is_finishing: bool = False
    ready: trio.Event = field(factory=trio.Event)
    finished: trio.Event = field(factory=trio.Event)

    async def listen(self) -> None:
        """Take the reports of the process until it has finished."""
        while True:
            report = json.loads(await self.program.read_line())
            if report.get("ready"):
                self.ready.set()
            else:
                self.report = report
                if "ended" in report:
                    self.finished.set()
                    return

    def count(self, name: str) -> int:
        found = self.report.get(name, 0)
        assert isinstance(found, int)
        return found


@define(eq=False)
class Crews:
    """All processes of clients."""

    processes: list[_Process] = field(factory=list)

    def total(self, name: str) -> int:
        """Add up what the processes counted: published, delivered, gaps, publishing."""
        return sum(each.count(name) for each in self.processes)

    def expected(self) -> int | None:
        """Return the deliveries that the publications so far should have; None if that is unknown."""
        counts = [each.report.get("expected") for each in self.processes if each.job.role == "publisher"]
        return sum(counts) if all(isinstance(count, int) for count in counts) else None  # type: ignore[arg-type]  # they are whole numbers

    def ended(self) -> dict[str, str]:
        """Return the subscriptions that their brokers ended, with the reason."""
        return {
            name: str(text)
            for each in self.processes
            for name, text in _mapping(each.report.get("ended")).items()
        }

    def restarts(self) -> dict[str, object]:
        """Return when streams of subscribers began anew."""
        return {
            name: times
            for each in self.processes
            for name, times in _mapping(each.report.get("restarts")).items()
        }

    async def connected(self, progress: Callable[[int], None]) -> None:
        """Return when every client is connected, and has advertised or subscribed."""
        with trio.move_on_after(CONNECT_TIMEOUT_S):
            for count, each in enumerate(self.processes, 1):
                await each.ready.wait()
                progress(count)
            return
        late = ", ".join(each.job.name for each in self.processes if not each.ready.is_set())
        raise ProcessError(f"{late}: not all clients are connected after {CONNECT_TIMEOUT_S:.0f} s")

    async def order(self, role: str, **content: object) -> None:
        """Send an order to all processes of a role."""
        for each in self.processes:
            if each.job.role == role:
                await each.program.write_line(json.dumps(content))

    async def finish(self, role: str, matches: object) -> None:
        """Order the processes of a role to write their last rows, and to end."""
        await self.order(role, finish=matches)
        with trio.move_on_after(FINISH_TIMEOUT_S):
            for each in self.processes:
                if each.job.role == role:
                    await each.finished.wait()
            return
        raise ProcessError(f"the {role}s have not written everything after {FINISH_TIMEOUT_S:.0f} s")


def _mapping(found: object) -> Mapping[str, object]:
    return found if isinstance(found, dict) else {}


async def open_crews(
    nursery: trio.Nursery, plan: Plan, content: Mapping[str, object], wiring: Wiring, folder: Path
) -> Crews:
    """Start all processes of clients; they begin to connect."""
    crews = Crews()
    for job in plan.jobs:
        addresses = {seat.name: wiring.address(seat.name, seat.broker) for seat in job.seats}
        program = await start(nursery, job.name, "harness.runs.workers", ())
        setup = {
            "job": {
                "number": job.number,
                "role": job.role,
                "seats": [(seat.name, seat.broker, seat.place, seat.roles) for seat in job.seats],
            },
            "scenario": content,
            "addresses": addresses,
            "folder": str(folder),
        }
        await program.write_line(json.dumps(setup))
        process = _Process(job, program)
        crews.processes.append(process)
        nursery.start_soon(process.listen)
    return crews
