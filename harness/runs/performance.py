"""One run, from the first broker's start to its last row on disk; and all runs of a study, one by one.

What happens in a run, in order: brokers start behind their uplinks; clients connect, advertise and subscribe;
publishing begins, and with it the time that faults count; when it is over, what is on its way is waited
for; subscribers write down what is left, then publishers, who also work out what should have been
delivered; brokers end; small files become few.

Where a run is written: `OUT` for a single one; `OUT/ORDERING` when orderings are compared; and with several
points `OUT/points/POINT` or `OUT/points/POINT/ORDERING`.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from time import time_ns
from typing import Final

import attrs
import trio

from broker.routing import DEFAULT, parse
from harness.runs import directory
from harness.runs.brokers import Fleet, open_fleet
from harness.runs.crew import is_ordered
from harness.runs.crews import Crews, open_crews
from harness.runs.injector import Injector, Targeted, read_faults, spoilt_links
from harness.runs.plan import Plan, plan_of
from harness.runs.progress import Progress
from harness.runs.wiring import Wiring, open_wiring
from harness.scenarios import Point, Scenario, Study
from harness.traces import BROKERS, DELIVERIES, FAULTS, MATCHES, PUBLICATIONS, SEEN, SUBSCRIPTIONS, merge
from ordering import plugins

QUIET_S: Final = 2.0
"""When nothing has been delivered for so long, nothing is on its way: far more than any round trip."""

LOOK_S: Final = 0.1
"""Between two looks at how far everybody is."""

GO_S: Final = 0.3
"""From the order to the beginning, so that all processes have received it."""

MATCHES_MAX: Final = 5_000_000
"""With `matches = "auto"`, what is worked out at most: half a minute of one processor."""

POINTS: str = "points"


@attrs.frozen
class Ending:
    """The result of a run, in numbers."""

    folder: Path
    ordering: str
    published: int
    delivered: int
    faults: int
    ended: Mapping[str, str]
    seconds: float


@attrs.define(eq=False)
class Performance:
    """One run under way. `routing` is that of all brokers, and of all runs that it is compared with."""

    point: Point
    study: str
    ordering: str
    routing: str
    folder: Path
    progress: Progress
    plan: Plan = attrs.field(init=False)
    faults: tuple[Targeted, ...] = attrs.field(init=False)
    _fleet: Fleet = attrs.field(init=False)
    _wiring: Wiring = attrs.field(init=False)
    _crews: Crews = attrs.field(init=False)
    _injector: Injector = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.plan = plan_of(self.scenario)
        self.faults = read_faults(self.scenario.faults, self.plan)

    @property
    def scenario(self) -> Scenario:
        """Return the scenario that is performed."""
        return self.point.scenario

    async def perform(self) -> Ending:
        """Do everything."""
        begun_s = trio.current_time()
        await trio.to_thread.run_sync(self._prepare)
        about = directory.describe(self.folder, self.plan, self._ordering(), self.study, self.point.content)
        async with trio.open_nursery() as nursery:
            await self._set_up(nursery)
            about["publishing_from_ns"] = await self._publish(nursery)
            published, delivered = await self._wind_up()
            nursery.cancel_scope.cancel()
        rows = await trio.to_thread.run_sync(self._tidy)
        seconds = trio.current_time() - begun_s
        about |= {"ended_ns": time_ns(), "published": published, "delivered": delivered, "rows": rows}
        about |= {"ended_subscriptions": self._crews.ended(), "gaps": self._crews.total("gaps")}
        directory.write(self.folder, about)
        count = self._injector.count
        return Ending(self.folder, self.ordering, published, delivered, count, self._crews.ended(), seconds)

    def _ordering(self) -> dict[str, object]:
        """Return what decides when, and where, publications go."""
        options = self._options()
        return {"ordering": self.ordering, "ordering_options": options, "routing": self.routing}

    def _options(self) -> dict[str, str]:
        """Return the plugin's options; the sequencer is the root, unless the scenario names it."""
        options = dict(self.scenario.ordering_options) if self.ordering == self.scenario.ordering else {}
        return {"sequencer": self.plan.root, **options} if self.ordering == "sequencer" else options

    def _prepare(self) -> None:
        """Make folders, and write the dataset of subscriptions."""
        for name in ("logs", "journals") if self.scenario.journal else ("logs",):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        rows = SUBSCRIPTIONS.writer(self.folder, "part")
        percent, seed = self.scenario.subscribers.ordered_percent, self.scenario.seed
        for job in self.plan.jobs:
            for seat in job.seats if job.role == "subscriber" else ():
                for name in seat.roles:
                    rows.append(name, seat.broker, is_ordered(seed, name, percent))
        rows.flush()

    def _arguments(self, broker: str) -> Sequence[str]:
        """Return the arguments of one broker."""
        plan, above = self.plan, self.plan.uplinks[broker]
        words = ["broker", "--name", broker, "--listen", plan.address(broker), "--log-format", "json"]
        words += ["--ordering", self.ordering, "--routing", self.routing, "--trace", str(self.folder)]
        words += ["--link-timeout", str(self.scenario.overlay.link_timeout_s)]
        for key, value in self._options().items():
            words += ["--ordering-option", f"{key}={value}"]
        if self.scenario.journal:
            words += ["--journal", str(self.folder / "journals" / broker)]
        for uplink in () if above is None else (above, *plan.fallbacks(broker)):
            words += ["--uplink", self._wiring.address(broker, uplink)]
        return words

    async def _set_up(self, nursery: trio.Nursery) -> None:
        """Start brokers and clients; return when every client is advertised and subscribed."""
        total = len(self.plan.uplinks)
        self.progress.stage("starting brokers", total)
        self._wiring = await open_wiring(nursery, self.plan, spoilt_links(self.faults))
        self._fleet = await open_fleet(nursery)
        for broker, above in self.plan.uplinks.items():
            log = self.folder / "logs" / f"{broker}.log"
            self._fleet.add(broker, self._arguments(broker), above, log)
        await self._fleet.start_all(self.progress.advance)
        self.progress.stage("connecting clients", len(self.plan.jobs))
        self._crews = await open_crews(nursery, self.plan, self.point.content, self._wiring, self.folder)
        await self._crews.connected(self.progress.advance)
        rows = FAULTS.writer(self.folder, "part")
        random = Random(f"{self.scenario.seed}/faults")  # noqa: S311 - chance here is repeatable, not secret
        self._injector = Injector(self._fleet, self._wiring, self._crews, rows, random, self.progress.event)

    async def _publish(self, nursery: trio.Nursery) -> int:
        """Let publishers publish and faults happen, until everything has arrived; return when it began."""
        scenario, crews = self.scenario, self._crews
        for role in ("subscriber", "publisher"):
            await crews.order(role, go=GO_S)
        await trio.sleep(GO_S)
        begun_ns, begun_s = time_ns(), trio.current_time()
        self.progress.stage("publishing", scenario.duration_s)
        async with trio.open_nursery() as injecting:
            for fault in self.faults:
                injecting.start_soon(self._injector.follow, fault)
            while (passed_s := trio.current_time() - begun_s) < scenario.duration_s:
                self.progress.advance(passed_s, crews.total("published"), crews.total("delivered"))
                await trio.sleep(LOOK_S)
            injecting.cancel_scope.cancel()
        nursery.start_soon(self._injector.relent)
        await self._drain()
        return begun_ns

    async def _drain(self) -> None:
        """Wait until publishers are done and nothing has been delivered for a while."""
        crews, scenario = self._crews, self.scenario
        self.progress.stage("waiting for what is on its way", scenario.drain_s)
        begun_s = last_s = trio.current_time()
        last = -1
        while (now_s := trio.current_time()) < begun_s + scenario.drain_s:
            delivered = crews.total("delivered")
            if delivered != last:
                last, last_s = delivered, now_s
            if not crews.total("publishing") and self._has_all(delivered, now_s - last_s):
                break
            self.progress.advance(now_s - begun_s, crews.total("published"), delivered)
            await trio.sleep(LOOK_S)

    def _has_all(self, delivered: int, quiet_s: float) -> bool:
        """Return whether everything has arrived: by its number, or by silence where events may be lost."""
        expected = None if self._may_lose() else self._crews.expected()
        if expected is not None:
            return delivered >= expected
        # What a dead broker owes is given up when the link to it is.
        return quiet_s > QUIET_S + (self.scenario.overlay.link_timeout_s if self.faults else 0)

    def _may_lose(self) -> bool:
        """Return whether a fault may cost deliveries for good."""
        lossy = {"crash", "slow subscriber"} | (set() if self.scenario.journal else {"restart", "kill"})
        return any(" ".join(each.fault.words) in lossy for each in self.faults)

    async def _wind_up(self) -> tuple[int, int]:
        """Let all processes of clients write their last rows, and end."""
        self.progress.stage("writing down what is left", 1)
        crews = self._crews
        await crews.finish("subscriber", None)
        await crews.finish("publisher", crews.restarts() if self._wants_matches() else None)
        await self._fleet.stop_all()
        return crews.total("published"), crews.total("delivered")

    def _wants_matches(self) -> bool:
        if self.scenario.matches == "auto":
            return self._crews.total("published") * self.scenario.subscribers.count <= MATCHES_MAX
        return self.scenario.matches == "yes"

    def _tidy(self) -> dict[str, int]:
        """Make few files of many; return the rows of each dataset."""
        self.progress.stage("merging files", 1)
        wanted = [PUBLICATIONS, DELIVERIES, BROKERS, FAULTS, SUBSCRIPTIONS, SEEN]
        if MATCHES.folder(self.folder).is_dir():
            wanted.append(MATCHES)
        return {dataset.name: merge(dataset, self.folder) for dataset in wanted}


def common_routing(scenario: Scenario, orderings: Sequence[str]) -> str:
    """Return the scenario's routing; or the one that an ordering needs, for all of them; or the product's."""
    needed = [routing for name in orderings if (routing := plugins.routing(name))]
    return str(parse(scenario.routing or next(iter(needed), str(DEFAULT))))


def planned(
    study: Study, out: Path, progress: Progress, orderings: Sequence[str] = ()
) -> Iterator[Performance]:
    """Every run there will be. Without orderings, each point has its scenario's own."""
    for point in study.points:
        base = out / POINTS / point.name if point.name else out
        names = orderings or (point.scenario.ordering,)
        routing = common_routing(point.scenario, names)
        for ordering in names:
            folder = base / ordering if orderings else base
            yield Performance(point, study.name, ordering, routing, folder, progress)


async def perform_all(runs: Sequence[Performance], progress: Progress) -> list[Ending]:
    """Perform them, one after the other."""
    endings = []
    for run in runs:
        words = [run.study, run.point.name, run.ordering]
        progress.run(" ".join(filter(None, words)))
        endings.append(await run.perform())
    return endings
