"""The result of a check: one verdict per promise, and its smallest witnesses in words."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from attrs import field, frozen

from ordering.verdicts.history import Key

KINDS = ("pairwise", "publisher", "causal", "duplicate", "missing", "stuck", "unpublished", "unmatched")
"""Every kind of violation of a promise. The last two break integrity: a publication that nobody published, or
that the filter does not match, was delivered."""

WITNESSES_MAX = 5
"""Witnesses per verdict, the smallest first. Counts are complete; nobody reads a hundred witnesses."""


@frozen
class Violation:
    """One witness: subscriptions, publications, and `text`, which describes their views in sentences."""

    kind: str
    subscriptions: tuple[str, ...]
    publications: tuple[Key, ...]
    text: str


@frozen
class Verdict:
    """The verdict on one promise, or on one report that is not a promise.

    `outcome` is true, false, or None for unknown; `reason` is why it is unknown. `counts` are complete and
    named as in `analysis.json`; `kinds` counts the violations by kind; `violations` are their smallest
    witnesses, at most `WITNESSES_MAX`.
    """

    promise: str
    outcome: bool | None
    counts: Mapping[str, int]
    kinds: Mapping[str, int] = field(factory=dict)
    violations: tuple[Violation, ...] = ()
    reason: str = ""

    @property
    def word(self) -> str:
        """The outcome as it stands in a table."""
        return {True: "true", False: "false", None: "unknown"}[self.outcome]

    def __str__(self) -> str:
        counted = ", ".join(f"{name} {count}" for name, count in self.counts.items())
        because = f" because {self.reason}" if self.reason else ""
        return f"{self.promise}: {self.word}{because} ({counted})"


def kept(promise: str, counts: Mapping[str, int], unknown: str = "") -> Verdict:
    """Return a verdict without violations: true, or unknown if there is a reason why it cannot be known."""
    return Verdict(promise, None if unknown else True, counts, reason=unknown)


def broken(
    promise: str, counts: Mapping[str, int], kinds: Mapping[str, int], witnesses: Iterable[Violation]
) -> Verdict:
    """Return a verdict with violations; the witnesses come smallest first."""
    first = tuple(islice(witnesses, WITNESSES_MAX))
    return Verdict(promise, outcome=False, counts=counts, kinds=kinds, violations=first)


@frozen
class Verdicts:
    """One verdict per promise of the protocol, in the order in which the protocol lists them."""

    pairwise: Verdict
    publisher: Verdict
    causal: Verdict
    integrity: Verdict
    completeness: Verdict

    def __iter__(self) -> Iterator[Verdict]:
        return iter((self.pairwise, self.publisher, self.causal, self.integrity, self.completeness))

    @property
    def violated(self) -> bool:
        """Return whether some promise was broken."""
        return any(verdict.outcome is False for verdict in self)

    @property
    def kinds(self) -> dict[str, int]:
        """Return how many violations there are of each kind, zeros included."""
        found = dict.fromkeys(KINDS, 0)
        for verdict in self:
            for kind, count in verdict.kinds.items():
                found[kind] += count
        return found

    @property
    def violations(self) -> list[Violation]:
        """The smallest witnesses of every verdict."""
        return [violation for verdict in self for violation in verdict.violations]


@frozen
class Reports:
    """The reports: answers about order that is not promised."""

    acyclic: Verdict
    local: Verdict
