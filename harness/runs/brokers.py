"""The brokers of a run: started behind their uplinks, known by name, and watched.

Laws:

1. A broker is started when the broker above it is attached; those at the same height start together.
2. A broker that ends without an order ends the run, with its last lines as the error.
3. A broker keeps its name, its port and its folders over restarts.
"""

import json
import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import trio
from attrs import define, field

from harness.overlay import reports_attachment
from harness.processes import START_TIMEOUT_S, ProcessError, ProgramProcess, start

_POLL_S: Final = 0.01
"""Between two looks at a log; attaching takes a few milliseconds."""

STOP_S: Final = 8.0
"""The time for brokers to end in order: draining, saying goodbye, on a busy machine."""

_TAIL_LINES: Final = 3
_LOG_READ_BYTES: Final = 1024 * 1024
_LISTENING: Final = "listening on "


@define(eq=False)
class Broker:
    """One broker process, over all its restarts. Its end sets `listening` too: nobody need wait longer."""

    name: str
    arguments: Sequence[str]
    uplink: "Broker | None"
    log: Path
    pid: int | None = None
    starts: int = 0
    is_paused: bool = False
    is_expected_to_end: bool = False
    listening: trio.Event = field(factory=trio.Event)
    attached: trio.Event = field(factory=trio.Event)
    ended: trio.Event = field(factory=trio.Event)
    _read_bytes: int = 0

    def signal(self, number: int) -> bool:
        """Send a signal; False if it is not running."""
        if self.pid is None:
            return False
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)
            return True
        return False

    def began(self, pid: int) -> None:
        """The process is there."""
        self.pid = pid
        self.is_paused = self.is_expected_to_end = False
        self.listening, self.ended = trio.Event(), trio.Event()
        self.starts += 1

    def has_logged_attachment(self) -> bool:
        """Return whether the log reports, since the last call, that the uplink is attached."""
        with self.log.open("rb") as log:
            log.seek(self._read_bytes)
            text = log.read(_LOG_READ_BYTES)
        whole = text.rpartition(b"\n")[0]
        self._read_bytes += len(whole)
        return any(map(reports_attachment, whole.splitlines()))

    def last_words(self) -> str:
        """The end of its log, as one line."""
        try:
            lines = self.log.read_text(errors="replace").splitlines()
        except OSError:
            lines = []
        return " / ".join(lines[-_TAIL_LINES:]) or "it said nothing"


@define(eq=False)
class Fleet:
    """All brokers of a run, and the process that starts them."""

    _starter: ProgramProcess
    brokers: dict[str, Broker] = field(factory=dict)
    _ending: bool = False

    def add(self, name: str, arguments: Sequence[str], uplink: str | None, log: Path) -> None:
        """Make a broker known, behind its uplink."""
        self.brokers[name] = Broker(name, arguments, None if uplink is None else self.brokers[uplink], log)

    async def listen(self) -> None:
        """Take the reports of the starter, for ever."""
        while True:
            report = json.loads(await self._starter.read_line())
            self._heed(self.brokers[report["name"]], report)

    def _heed(self, broker: Broker, report: dict[str, object]) -> None:
        if "ended" in report:
            if broker.pid == report["pid"]:
                broker.pid = None
                broker.ended.set()
                broker.listening.set()
            if not broker.is_expected_to_end and not self._ending:
                raise ProcessError(
                    f"broker {broker.name} ended with status {report['ended']}: {broker.last_words()}"
                )
        elif "pid" in report:
            assert isinstance(report["pid"], int)
            broker.began(report["pid"])
        elif str(report["line"]).startswith(_LISTENING):
            broker.listening.set()

    async def start_all(self, progress: Callable[[int], None]) -> None:
        """Start every broker; return when all of them are attached."""
        done = 0

        async def begin(broker: Broker) -> None:
            nonlocal done
            if broker.uplink is not None:
                await broker.uplink.attached.wait()
            await self.start(broker.name)
            await self._attach(broker)
            done += 1
            progress(done)

        async with trio.open_nursery() as nursery:
            for broker in self.brokers.values():
                nursery.start_soon(begin, broker)

    async def start(self, name: str) -> None:
        """Start a broker; return when it serves, or when it has been killed before it could."""
        broker = self.brokers[name]
        starts = broker.starts
        order = {"start": name, "arguments": list(broker.arguments), "log": str(broker.log)}
        await self._starter.write_line(json.dumps(order))
        with trio.move_on_after(START_TIMEOUT_S):
            while broker.starts == starts:  # noqa: ASYNC110 - its events are made anew by each start
                await trio.sleep(_POLL_S)
            await broker.listening.wait()
            return
        raise ProcessError(f"broker {name} is not ready after {START_TIMEOUT_S:.0f} s: {broker.last_words()}")

    async def _attach(self, broker: Broker) -> None:
        """Wait until a broker that was started for the first time is part of the overlay."""
        with trio.move_on_after(START_TIMEOUT_S):
            while broker.uplink is not None and not broker.has_logged_attachment():  # noqa: ASYNC110 - it polls a file
                await trio.sleep(_POLL_S)
            broker.attached.set()
            return
        raise ProcessError(
            f"broker {broker.name} is not attached after {START_TIMEOUT_S:.0f} s: {broker.last_words()}"
        )

    def kill(self, name: str) -> bool:
        """Kill a broker as a crash would; False if it is not running."""
        broker = self.brokers[name]
        broker.is_expected_to_end = True
        return broker.signal(signal.SIGKILL)

    def pause(self, name: str) -> bool:
        """Stop a broker where it is."""
        broker = self.brokers[name]
        broker.is_paused = broker.signal(signal.SIGSTOP)
        return broker.is_paused

    def resume(self, name: str) -> bool:
        """Let a paused broker go on."""
        broker = self.brokers[name]
        broker.is_paused = False
        return broker.signal(signal.SIGCONT)

    async def stop_all(self) -> None:
        """Let all brokers end in order, and kill those that do not."""
        self._ending = True
        for broker in self.brokers.values():
            self.resume(broker.name)
            broker.signal(signal.SIGTERM)
        with trio.move_on_after(STOP_S):
            for broker in self.brokers.values():
                if broker.pid is not None:
                    await broker.ended.wait()
        for broker in self.brokers.values():
            broker.signal(signal.SIGKILL)


async def open_fleet(nursery: trio.Nursery) -> Fleet:
    """Start the starter; whatever it started ends with the nursery."""
    starter = await start(nursery, "the starter of brokers", "harness.runs.starter", ())
    with trio.move_on_after(START_TIMEOUT_S):
        await starter.read_line()
        fleet = Fleet(starter)
        nursery.start_soon(fleet.listen)
        return fleet
    raise ProcessError(f"the starter of brokers is not ready after {START_TIMEOUT_S:.0f} s")
