"""Judges every axiom on a trace: at each of its steps, or at its end."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from attrs import frozen

from ordering.promises import liveness, safety
from ordering.promises.liveness import Owed
from ordering.promises.state import State
from ordering.promises.trace import Operation, Trace
from ordering.promises.verdict import PromiseVerdict, verdict_on

AXIOMS: Final[Mapping[str, str]] = {
    "once": "2.1 safety, first part; (2)",
    "published": "2.1 safety, second part; (3)",
    "wanted": "2.1 safety, third part; (4)",
    "advertised": "2.4 safety, what it adds to 2.1",
    "pending": "implied by (5): what is acknowledged is pending",
    "acknowledged": "(5)",
    "complete": "(6)",
    "live": "2.1 liveness",
    "matched": "2.4 liveness",
}
"""The axioms by name, each with its place in the specifications."""

DEFINITIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "safety (2.1)": ("once", "published", "wanted"),
    "liveness (2.1)": ("live",),
    "safety (2.4)": ("once", "published", "wanted", "advertised"),
    "liveness (2.4)": ("matched",),
    "safety (2) to (4)": ("once", "published", "wanted"),
    "liveness (5) and (6)": ("acknowledged", "complete"),
}
"""What the specifications call safety and liveness, as axioms."""

Look = Callable[[State, Operation, int], str]
Find = Callable[[State], Iterator[Owed]]


@frozen
class Promises:
    """A verdict for every axiom that applies to the trace."""

    verdicts: Mapping[str, PromiseVerdict]

    def __getitem__(self, axiom: str) -> PromiseVerdict:
        return self.verdicts[axiom]

    @property
    def broken(self) -> tuple[str, ...]:
        """The names of the axioms that do not hold."""
        return tuple(name for name, verdict in self.verdicts.items() if verdict.outcome is False)

    def definition(self, name: str) -> PromiseVerdict:
        """Return one verdict on all axioms of a definition; every one of them must apply."""
        parts = [self.verdicts[axiom] for axiom in DEFINITIONS[name]]
        outcomes = {part.outcome for part in parts}
        outcome = False if False in outcomes else None if None in outcomes else True
        sentences = tuple(text for part in parts if part.outcome is outcome for text in part.witnesses)
        return PromiseVerdict(
            name, outcome, sum(p.violations for p in parts), sum(p.open for p in parts), sentences
        )


def check(trace: Trace) -> Promises:
    """Judge every axiom that applies; raise `TraceError` if the trace contradicts itself."""
    state = State(trace)
    looks = _looks(trace)
    violated: dict[str, list[str]] = {axiom: [] for each in looks.values() for axiom, _ in each}
    for step, operation in enumerate(trace.operations):
        for axiom, look in looks.get(operation.verb, ()):
            if text := look(state, operation, step):
                violated[axiom].append(text)
        state.follow(operation, step)
    found = {axiom: verdict_on(axiom, texts, []) for axiom, texts in violated.items()}
    for axiom, find in _finds(trace):
        owed = list(find(state))
        late = [text for epoch, text in owed if epoch < state.epoch]
        found[axiom] = verdict_on(axiom, late, [text for epoch, text in owed if epoch == state.epoch])
    return Promises({axiom: found[axiom] for axiom in AXIOMS if axiom in found})


def _looks(trace: Trace) -> dict[str, list[tuple[str, Look]]]:
    """Return the axioms about single operations, by the verb of the operation."""
    at_notify: list[tuple[str, Look]] = [
        ("once", safety.once),
        ("published", safety.published),
        ("wanted", safety.wanted),
    ]
    if trace.advertising:
        at_notify.append(("advertised", safety.advertised))
    return {"notify": at_notify, "ack": [("pending", safety.pending)] if trace.acknowledging else []}


def _finds(trace: Trace) -> list[tuple[str, Find]]:
    """Return the axioms about operations that must follow."""
    live: tuple[str, Find] = ("matched", liveness.matched) if trace.advertising else ("live", liveness.live)
    if not trace.acknowledging:
        return [live]
    return [("acknowledged", liveness.acknowledged), ("complete", liveness.complete), live]
