"""Campaigns: many schedules, one after the other or on several processors, and their results.

Laws.

1. A campaign's result depends on its settings alone, not on how many processes share the work.
2. Of every campaign some schedules happen twice, and must leave the same trace.
3. What the quick verdict finds is checked by the checker of `ordering` too, whose witness is reported; so is
   a sample of the rest.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Final

from attrs import asdict, define, field, frozen

from broker.routing import DEFAULT, Routing, parse
from harness.explorer.history import history_of, second_opinion
from harness.explorer.mutants import applied
from harness.simulator.outcome import Outcome, of_seed, trace_of
from harness.simulator.verdict import Fault
from harness.whole import outcomes
from harness.whole.outcomes import WholeOutcome
from harness.worker_processes import worker_processes
from ordering import plugins
from ordering.interface import OrderingFactory
from ordering.verdicts import report

KINDS: Final = (
    "pairwise",
    "publisher",
    "causal",
    "duplicate",
    "missing",
    "gap",
    "stuck",
    "promise",
    "tables",
    "wayless",
    "replay",
    "interest",
    "leases",
    "needless",
    "memory",
    "refused",
    "ended",
    "error",
)
"""The kinds of faults: a promise is broken, something waits for ever, an axiom of the formal specifications
does not hold, a routing table is wrong, a broker knows no way to another one, or a core has raised."""

BATCH: Final = 200
"""Schedules per piece of work: about half a second, so that progress is seen and the last piece is short."""

REPEATED_EVERY: Final = 250
"""One schedule in so many happens twice, and is judged by the checker too. It costs one percent."""


@frozen
class CampaignSettings:
    """The settings of a campaign. `brokers` are the least and most per tree, `options` the plugin's."""

    schedules: int
    seed: int = 0
    faults: str = "none"
    ordering: str = "pairwise"
    mutant: str | None = None
    brokers: tuple[int, int] = (2, 6)
    options: Mapping[str, str] = field(factory=dict)
    routing: str = str(DEFAULT)
    is_whole: bool = False
    """Whether whole brokers and clients are explored, and not cores alone."""
    reports: bool = False
    """Whether it is also counted what is not promised: local total order, and one sequence for all."""

    def replay(self, seed: int) -> str:
        """Return the command that shows one schedule of the campaign."""
        words = [f"concord harness replay {seed} --faults {self.faults} --ordering {self.ordering}"]
        words += [f"--ordering-option {key}={value}" for key, value in self.options.items()]
        words += [f"--routing {self.routing}"] if parse(self.routing) != DEFAULT else []
        words += [f"--mutant {self.mutant}"] if self.mutant else []
        words += ["--whole"] if self.is_whole else []
        return " ".join([*words, f"--brokers {self.brokers[0]}-{self.brokers[1]}"])


@define
class Tally:
    """The results of the schedules so far. `kinds` and `reports` count schedules, not single violations."""

    schedules: int = 0
    publications: int = 0
    deliveries: int = 0
    violations: int = 0
    kinds: Counter[str] = field(factory=Counter)
    reports: Counter[str] = field(factory=Counter)
    first: dict[str, object] = field(factory=dict)

    def add(self, other: "Tally") -> None:
        """Add the results of later schedules."""
        self.schedules += other.schedules
        self.publications += other.publications
        self.deliveries += other.deliveries
        self.violations += other.violations
        self.kinds += other.kinds
        self.reports += other.reports
        self.first = self.first or other.first

    def as_json(self) -> dict[str, object]:
        """Return the object that `explore` prints."""
        kinds = {kind: self.kinds[kind] for kind in KINDS}
        return {**asdict(self), "kinds": kinds, "reports": dict(self.reports)}


def run(
    settings: CampaignSettings,
    jobs: int = 1,
    progress: Callable[[Tally], None] = lambda _: None,
    *,
    until_found: bool = False,
) -> Tally:
    """Run all schedules or, with `until_found`, those up to the first violation."""
    tally = Tally()
    for piece in _pieces(partial(explore, settings, until_found=until_found), settings, jobs):
        tally.add(piece)
        progress(tally)
        if until_found and tally.violations:
            break
    return tally


def _pieces(work: Callable[[range], Tally], settings: CampaignSettings, jobs: int) -> Iterator[Tally]:
    end = settings.seed + settings.schedules
    batches = [range(start, min(start + BATCH, end)) for start in range(settings.seed, end, BATCH)]
    if jobs == 1:
        yield from map(work, batches)
        return
    with worker_processes(jobs) as pool:
        yield from pool.map(work, batches)


def explore(settings: CampaignSettings, seeds: range, *, until_found: bool = False) -> Tally:
    """Run the schedules of some seeds, one after the other; or those up to the first violation."""
    ordering = plugins.load(settings.ordering, settings.options)
    routing = parse(settings.routing)
    tally = Tally()
    with applied(settings.mutant) if settings.mutant else nullcontext():
        for seed in seeds:
            if settings.is_whole:
                _count_whole(tally, settings, seed, ordering, routing)
            else:
                outcome, faults = judge(seed, settings.faults, settings.brokers, ordering, routing)
                _count(tally, settings, seed, outcome, faults)
                if settings.reports:
                    tally.reports.update(_reported(outcome))
            if until_found and tally.violations:
                break
    return tally


def _reported(outcome: Outcome) -> Iterator[str]:
    """Name what a schedule's deliveries lack that is not promised."""
    found = report(history_of(outcome))
    yield "reported"
    if found.acyclic.outcome is False:
        yield "cyclic"
    if found.local.outcome is False:
        yield "local"


def judge(
    seed: int,
    faults: str,
    brokers: tuple[int, int],
    ordering: OrderingFactory,
    routing: Routing = DEFAULT,
) -> tuple[Outcome, list[Fault]]:
    """Run one schedule and judge it; for some seeds twice, and with the checker too (laws 2 and 3)."""
    outcome = of_seed(seed, faults, brokers, ordering, routing=routing)
    found = list(outcome.faults)
    if seed % REPEATED_EVERY == 0:
        traces = {trace_of(seed, faults, brokers, ordering, routing) for _ in range(2)}
        found += [("error", "the same seed left two traces")] if len(traces) > 1 else []
        found += [fault for fault in second_opinion(outcome) if not outcome.has(fault[0])]
    return outcome, found


def judge_whole(
    seed: int,
    faults: str,
    brokers: tuple[int, int],
    ordering: OrderingFactory,
    routing: Routing = DEFAULT,
) -> tuple[WholeOutcome, list[Fault]]:
    """Run one schedule of whole brokers and judge it; for some seeds twice (law 2)."""
    outcome = outcomes.of_seed(seed, faults, brokers, ordering, routing)
    found = list(outcome.faults)
    if seed % REPEATED_EVERY == 0:
        traces = {outcomes.trace_of(seed, faults, brokers, ordering, routing) for _ in range(2)}
        found += [("error", "the same seed left two traces")] if len(traces) > 1 else []
    return outcome, found


def _count_whole(
    tally: Tally, settings: CampaignSettings, seed: int, ordering: OrderingFactory, routing: Routing
) -> None:
    outcome, faults = judge_whole(seed, settings.faults, settings.brokers, ordering, routing)
    tally.schedules += 1
    tally.publications += len(outcome.world.history.publications)
    tally.deliveries += outcome.world.history.delivery_count
    _note(tally, settings, seed, faults)


def _note(
    tally: Tally, settings: CampaignSettings, seed: int, faults: list[Fault], witness: str = ""
) -> None:
    """Count what is wrong with a schedule, and keep the first."""
    if not faults:
        return
    tally.violations += 1
    tally.kinds.update({kind for kind, _ in faults})
    if not tally.first:
        kind, text = faults[0]
        tally.first = {
            "seed": seed,
            "kind": kind,
            "witness": witness or text,
            "replay": settings.replay(seed),
        }


def _count(
    tally: Tally, settings: CampaignSettings, seed: int, outcome: Outcome, faults: list[Fault]
) -> None:
    tally.schedules += 1
    tally.publications += len(outcome.world.record.publications)
    tally.deliveries += outcome.world.record.delivery_count
    found = []
    if faults and not tally.first:
        found = [each for each in second_opinion(outcome) if each[0] == faults[0][0]]
    _note(tally, settings, seed, faults, found[0][1] if found else "")
