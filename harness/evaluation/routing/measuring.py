"""Lets studies happen: consumers come, some of them come and go, quotes are published, tables are counted.

Laws.

1. What is measured follows from the study and the seed alone, not from time, from who else measures, or from
   how many processes share the work.
2. Changes come in rounds. In each, one consumer of every local broker, chosen at random, becomes active or
   ceases to be, in random order of the brokers. So the mean way of a subscription is exactly that of all.
3. At every point tables are also worked out from scratch, and links that a quote needs from who wants it.
"""

import json
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from pathlib import Path
from random import Random
from statistics import fmean, stdev
from typing import Final

from attrs import asdict, define, field

from broker.server.collector import undisturbed
from broker.trace import RowFiles
from harness.datasets import STUDY
from harness.evaluation import campaign
from harness.evaluation.campaign import Done, whole
from harness.evaluation.routing.expected import expected_tables, is_countable, needed_links
from harness.evaluation.routing.network import CountedNetwork
from harness.evaluation.routing.studies import EVERY_STOCK, RoutingStudy
from harness.evaluation.routing.thesis import (
    MIDDLE,
    STOCKS,
    Crowd,
    ThesisPlace,
    Tree,
    Want,
    price_of,
    symbol,
    thesis_tree,
)
from harness.runs.progress import Progress
from harness.traces import Dataset
from harness.worker_processes import worker_processes

ROUNDS_LEAST: Final = 4

ERROR_MOST: Final = 0.01
"""Rounds go on until the standard error of their mean is below this part of it."""

MESSAGES_MOST: Final = 200_000
"""Or until so many messages were counted: then it is the sizes of rounds that differ, and not few samples."""

QUOTES: Final = 5_000
"""Published at random at each point."""

Say = Callable[[str], None]


def _silent(_: str) -> None:
    pass


@define(eq=False)
class Measuring:
    """One study under way. `_active` has what is wanted, by broker and consumer."""

    study: RoutingStudy
    tree: Tree
    folder: Path
    seed: int = 0
    _crowd: Crowd = field(init=False)
    _network: CountedNetwork = field(init=False)
    _random: Random = field(init=False)
    _active: dict[str, dict[int, list[Want]]] = field(init=False)
    _rows: dict[str, RowFiles] = field(init=False)
    _consumers: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        study = self.study
        self._crowd = Crowd(study.kind, self.seed, study.locality, study.is_exhaustive)
        self._network = CountedNetwork.of(self.tree, study.routing, study.source)
        self._random = Random(f"{self.seed} {study.kind} {study.locality}")  # noqa: S311 - chance, not secrecy
        self._active = {place.name: {} for place in self._places}
        self._rows = {
            name: Dataset(name, columns).writer(self.folder, "rows") for name, columns in STUDY.items()
        }

    @property
    def _places(self) -> list[ThesisPlace]:
        return [place for place in self.tree.places if self._crowd.has_clients(place)]

    def run(self, say: Say = _silent) -> None:
        """Measure every point."""
        for consumers in self.study.consumers:
            say(f"{consumers} consumers at each broker")
            self._grow(consumers)
            if self.study.changes:
                self._change()
            self._count_tables()
            if self.study.events:
                self._publish()
            for rows in self._rows.values():
                rows.flush()

    def _grow(self, consumers: int) -> None:
        """New consumers come to every broker in turn; if some are to come and go, each with even chances."""
        for consumer in range(self._consumers, consumers):
            for place in self._places:
                if not self.study.changes or self._random.random() < 0.5:  # noqa: PLR2004 - even chances
                    self._activate(place, consumer)
        self._consumers = consumers
        self._network.take()

    def _activate(self, place: ThesisPlace, consumer: int) -> None:
        wants = self._active[place.name][consumer] = self._crowd.wants(place, consumer)
        for want in wants:
            self._network.subscribe(place.name, want.id, want.filter)

    def _change(self) -> None:
        means: list[float] = []
        total = 0
        while len(means) < min(ROUNDS_LEAST, self.study.rounds) or (
            len(means) < self.study.rounds and total < MESSAGES_MOST and _error(means) > ERROR_MOST
        ):
            sent = self._round(len(means))
            total += sum(sent)
            means.append(fmean(sent))

    def _round(self, number: int) -> list[int]:
        """Law 2; return how many messages each change took."""
        places = self._places
        self._random.shuffle(places)
        sent: list[int] = []
        for place in places:
            consumer = self._random.randrange(self._consumers)
            wants = self._active[place.name].pop(consumer, None)
            is_added = wants is None
            if wants is None:
                wants = self._active[place.name][consumer] = self._crowd.wants(place, consumer)
            sent += [self._one_change(number, place, want, is_added=is_added) for want in wants]
        return sent

    def _one_change(self, number: int, place: ThesisPlace, want: Want, *, is_added: bool) -> int:
        if is_added:
            self._network.subscribe(place.name, want.id, want.filter)
        else:
            self._network.unsubscribe(place.name, want.id)
        sent = self._network.take()
        self._write("changes", number, place.name, is_added, sent.changes, sent.acknowledgements)
        return sent.changes

    def _write(self, dataset: str, *values: str | float) -> None:
        self._rows[dataset].append(self.study.name, self._consumers, *values)

    def _wanted(self) -> Mapping[str, Sequence[Want]]:
        return {
            broker: [want for wants in consumers.values() for want in wants]
            for broker, consumers in self._active.items()
        }

    def _count_tables(self) -> None:
        wanted = self._wanted()
        total = sum(map(len, wanted.values()))
        for place in self.tree.places:
            entries = self._network.remote_entries(place.name)
            self._write("tables", total, place.name, place.level, place.is_local, entries)
        if is_countable(self.study.subscribing):
            source = self.study.source if self.study.has_advertisements else None
            expected = expected_tables(self.tree, self.study.subscribing, wanted, source)
            for broker, entries in expected.items():
                self._write("expected", broker, entries)

    def _publish(self) -> None:
        """Publish quotes and count over how many links they go, and over how many they must."""
        by_stock: dict[int, list[tuple[str, Want]]] = {}
        for broker, wants in self._wanted().items():
            for want in wants:
                by_stock.setdefault(want.stock, []).append((broker, want))
        random = Random(f"{self.seed} quotes")  # noqa: S311 - chance, not secrecy
        each = self.study.events == EVERY_STOCK
        stocks = range(STOCKS) if each else [random.randrange(STOCKS) for _ in range(QUOTES)]
        for stock in stocks:
            price = MIDDLE if each else price_of(self.study.kind, random)
            wanting = [broker for broker, want in by_stock.get(stock, ()) if want.accepts(price)]
            self._network.publish(self.study.source, {"symbol": symbol(stock), "price": price})
            needed = needed_links(self.tree, self.study.source, set(wanting))
            sent = self._network.take()
            self._write("events", stock, price, sent.publications, needed, sent.deliveries, len(wanting))


def _error(means: Sequence[float]) -> float:
    """The standard error of the mean, as a part of it."""
    mean = fmean(means)
    return float(stdev(means) / len(means) ** 0.5 / mean) if mean else 0.0


def perform(
    studies: Sequence[RoutingStudy], folder: Path, jobs: int, seed: int, progress: Progress
) -> list[str]:
    """Measure the missing studies, each in a process of its own; return the failures, in a line each."""
    by_name = {study.name: study for study in studies}

    def make(missing: Sequence[str]) -> Iterator[Done]:
        with worker_processes(jobs, tasks_each=1) as pool:
            under_way = {pool.submit(measure, by_name[name], folder / name, seed): name for name in missing}
            for future in as_completed(under_way):
                error = future.exception()
                complaint = f"{type(error).__name__}: {error}" if error is not None else ""
                yield Done(under_way[future], 0.0 if error is not None else future.result(), complaint)

    return campaign.perform({name: folder / name for name in by_name}, make, progress)


def measure(study: RoutingStudy, place: Path, seed: int) -> float:
    """Let one study happen, and say how much processor time it took."""
    with whole(place) as unfinished:
        begun_s = time.process_time()
        # There are millions of entries and no cycles: each look for garbage would walk through all of them.
        with undisturbed():
            Measuring(study, thesis_tree(), unfinished, seed).run()
        taken_s = time.process_time() - begun_s
        described = {
            **asdict(study),
            "strategy": study.subscribing.partition(":")[0],
            "routing": study.routing,
            "has_advertisements": study.has_advertisements,
            "seed": seed,
            "processor_s": round(taken_s, 1),
            "python": platform.python_version(),
        }
        (unfinished / "run.json").write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")
    return taken_s
