"""Answers of `concord explain`: what is blocked and by which neighbour, and which way a publication took.

A broker remembers where its last publications came from and went, as bits, and nothing of their content. To
describe the whole way it asks the neighbours that a publication came from or went to; each asks on, and
answers when all neighbours that it asked have answered. A lost link counts as having answered.

Law: a bit of a hop that was opened after a publication passed is no evidence about that publication.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import islice

from attrs import Factory, define, frozen

from broker.core.hops import Hop, HopTable, members
from broker.core.pages import cut
from broker.lines import json_line
from broker.messages import Publication, WayAnswer, WayAsked
from broker.wire import decode_delivery
from ordering.interface import Blocked, Hops

WAYS_REMEMBERED = 4096
"""A fraction of a second at full speed, hours where a person looks for a publication that waits."""

LINES_DESCRIBED = 64
"""So many blocked hops are described: no person reads more."""

Answer = tuple[Hop | None, WayAnswer]
"""The link to answer through (None: a local client), and the answer."""

_Passed = tuple[str, int, Hops, Hops]
"""A publisher, its sequence number, the origin and the targets; or "" and the number of a hop that came."""


@frozen
class Seen:
    """One publication's passage. `reused` are the bits that have been given to another hop since."""

    origin: Hops
    targets: Hops
    reused: Hops


class Ways:
    """The last publications' passages, oldest first, with marks where a bit was given to a new hop."""

    def __init__(self) -> None:
        self._passed: deque[_Passed] = deque(maxlen=WAYS_REMEMBERED)
        self.remember = self._passed.append

    def hop_opened(self, hop: Hop) -> None:
        """Mark that from here on the bit means this hop."""
        self._passed.append(("", hop.number, 0, 0))

    def passed(self) -> list[_Passed]:
        """Return the passages, oldest first."""
        return list(self._passed)

    def restore(self, passed: Iterable[_Passed]) -> None:
        """Replace all passages with these."""
        self._passed.clear()
        self._passed.extend(passed)

    def find(self, publisher: str, sequence: int) -> Seen | None:
        """Return the passage of a publication, if it is remembered."""
        reused: Hops = 0
        for name, number, origin, targets in reversed(self._passed):
            if not name:
                reused |= 1 << number
            elif number == sequence and name == publisher:
                return Seen(origin, targets, reused)
        return None


@define(eq=False)
class _WayQuestion:
    asker: Hop | None
    waiting_for: set[Hop]
    steps: list[str]


@define(eq=False)
class WayQuestions:
    """The questions about ways that pass through this broker."""

    _open: dict[str, _WayQuestion] = Factory(dict)

    def ask(self, question: str, asker: Hop | None, waiting_for: set[Hop], step: str) -> list[Answer]:
        """Begin a question with this broker's own part of the answer."""
        self._open[question] = _WayQuestion(asker, waiting_for, [step])
        return self._answered((question,))

    def answered(self, message: WayAnswer, link: Hop, page_bytes: int) -> list[Answer]:
        """Take a neighbour's answer; pass on what fills a page, so that at most one is in memory."""
        name = message.question
        question = self._open.get(name)
        if question is None or link not in question.waiting_for:
            return []
        if not message.more:
            question.waiting_for.discard(link)
        *full, rest = cut([*question.steps, *message.steps], page_bytes)
        question.steps = list(rest)
        answers = [(question.asker, WayAnswer(name, steps, more=True)) for steps in full]
        return answers + self._answered((name,))

    def link_lost(self, link: Hop) -> list[Answer]:
        """Drop the questions of a lost link; stop waiting for its answers."""
        for name in [name for name, question in self._open.items() if question.asker is link]:
            del self._open[name]
        for question in self._open.values():
            question.waiting_for.discard(link)
        return self._answered(tuple(self._open))

    def _answered(self, names: tuple[str, ...]) -> list[Answer]:
        over = [name for name in names if not self._open[name].waiting_for]
        closed = [(name, self._open.pop(name)) for name in over]
        return [(question.asker, WayAnswer(name, tuple(question.steps))) for name, question in closed]


def describe_way(
    broker: str, seen: Seen | None, hops: HopTable, blocked: Iterable[Blocked], asked: WayAsked
) -> str:
    """Return one broker's part of a publication's way, as JSON."""
    if seen is None:
        return json_line({"broker": broker, "remembered": False})
    still = hops.opened & ~seen.reused
    gone = (seen.origin | seen.targets) & ~still
    waiting: Hops = 0
    for each in blocked:
        item = each.item
        is_it = isinstance(item, Publication) and item.publisher == asked.publisher
        if is_it and isinstance(item, Publication) and item.sequence == asked.sequence:
            waiting |= each.targets
    return json_line(
        {
            "broker": broker,
            "remembered": True,
            "came_from": next(iter(hops.names(seen.origin & still)), None) if seen.origin else "a client",
            "went_to": hops.names(seen.targets & still & ~waiting),
            "waits_for": hops.names(waiting),
            "hops_gone_since": len(list(members(gone))),
        }
    )


def describe_waiting(
    broker: str, uplink: Hop | None, hops: HopTable, blocked: Sequence[Blocked]
) -> list[str]:
    """Return the head of each blocked hop, what it needs, from whom, and how much is behind it, as JSON."""
    heads: dict[int, Blocked] = {}
    behind: dict[int, int] = {}
    for each in blocked:
        for number in members(each.targets):
            heads.setdefault(number, each)
            behind[number] = behind.get(number, -1) + 1
    return [
        json_line(
            {
                "broker": broker,
                "target": hops.names(1 << number)[0],
                "head": _name_of(head.item),
                "published_ns": _published_ns(head.item),
                "needs": head.reason,
                "from": uplink.name if uplink is not None else None,
                "behind": behind[number],
            }
        )
        for number, head in islice(heads.items(), LINES_DESCRIBED)
    ]


def _published_ns(item: object) -> int | None:
    """Return when its publisher published it, which is nearly since when it waits."""
    if isinstance(item, Publication) and item.frame:
        return decode_delivery(item.frame)[2]
    return None


def _name_of(item: object) -> dict[str, object]:
    if isinstance(item, Publication):
        return {"publisher": item.publisher, "sequence": item.sequence}
    return {"control": type(item).__name__}
