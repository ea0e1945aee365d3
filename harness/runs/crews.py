"""The processes of clients, seen from outside: started, told to begin, counted, and told to finish."""

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
"""Writing down what is left, and matching everything with everything."""


@define(eq=False)
class _Process:
    """One process of clients and what it last told."""

    job: Job
    program: ProgramProcess
    told: Mapping[str, object] = field(factory=dict)
    is_finishing: bool = False
    ready: trio.Event = field(factory=trio.Event)
    finished: trio.Event = field(factory=trio.Event)

    async def listen(self) -> None:
        """Follow what it tells until it is done."""
        while True:
            told = json.loads(await self.program.read_line())
            if told.get("ready"):
                self.ready.set()
            else:
                self.told = told
                if "ended" in told:
                    self.finished.set()
                    return

    def count(self, name: str) -> int:
        found = self.told.get(name, 0)
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
        """How many deliveries there should be of what has been published; None if that is not known."""
        counts = [each.told.get("expected") for each in self.processes if each.job.role == "publisher"]
        return sum(counts) if all(isinstance(count, int) for count in counts) else None  # type: ignore[arg-type]  # they are whole numbers

    def ended(self) -> dict[str, str]:
        """Subscriptions that their brokers ended, with the reason."""
        return {
            name: str(text)
            for each in self.processes
            for name, text in _mapping(each.told.get("ended")).items()
        }

    def restarts(self) -> dict[str, object]:
        """When streams of subscribers began anew."""
        return {
            name: times
            for each in self.processes
            for name, times in _mapping(each.told.get("restarts")).items()
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

    async def tell(self, role: str, **order: object) -> None:
        """Tell all processes of a role something."""
        for each in self.processes:
            if each.job.role == role:
                await each.program.write_line(json.dumps(order))

    async def finish(self, role: str, matches: object) -> None:
        """Let the processes of a role write down what is left, and end."""
        await self.tell(role, finish=matches)
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
