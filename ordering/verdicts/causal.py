"""Causal order: if p was delivered to a client before it published q, no subscription delivers q before p.

A client reads and publishes at one broker; what a program read at another broker is no cause here.

The relation is transitive: a publication's past is the deliveries of its client's subscriptions and the
earlier publications of its publisher, with their pasts. Every subscription takes part, ordered or not;
unordered publications neither cause nor are caused. Two publications of one publisher break per-publisher
order, not this. A violation is a delivery of p after a publication that has p in its past.
"""

from attrs import frozen

from ordering.verdicts.causes import chain, described
from ordering.verdicts.numbering import Numbered
from ordering.verdicts.past import Past, past_of
from ordering.verdicts.verdict import Verdict, Violation, broken, kept
from ordering.verdicts.words import view

CHAINS_MAX = 50
"""Late deliveries whose chain of causes is computed, to find the shortest; the first ones are enough."""


@frozen
class _Late:
    """Subscription number `index` delivers `cause` after `effect`, which has it in its past."""

    index: int
    cause: int
    effect: int


def causal(numbered: Numbered) -> Verdict:
    """Judge causal order."""
    if not any(numbered.views):
        return kept("causal", {"causal_violations": 0}, "nothing was delivered")
    unknown = _unknown(numbered)
    past = past_of(numbered)
    late = [each for index in range(len(numbered.views)) for each in _late(numbered, past, index)]
    counts = {"causal_violations": len(late)}
    if not late:
        return kept("causal", counts, unknown)
    witnesses = sorted((_witness(numbered, each) for each in late[:CHAINS_MAX]), key=_length)
    return broken("causal", counts, {"causal": len(late)}, witnesses)


def _unknown(numbered: Numbered) -> str:
    """Return why causal order cannot be judged, or an empty text if it can."""
    for each in numbered.history.publications:
        if each.seen is None and each.ordered:
            return (
                f"nobody said what had been delivered before {each.publisher}/{each.sequence} was published"
            )
    return ""


def _late(numbered: Numbered, past: Past, index: int) -> list[_Late]:
    """Return the deliveries of one subscription that follow an effect of theirs by another publisher."""
    places, publishers, news = past.places, numbered.publishers, past.news
    found = []
    highest = [0] * len(news)
    effects = [0] * len(news)
    taken = [0] * len(news)
    for number in numbered.views[index]:
        place, publisher = places[number], publishers[number]
        if 0 < place <= highest[publisher]:
            found.append(_Late(index, number, effects[publisher]))
        if place > taken[publisher]:
            # Nearly every delivery comes by here, so this is written out and not a call of `past.raised`.
            for grown in news[publisher][taken[publisher] : place]:
                for other, its_place in grown:
                    if its_place > highest[other]:
                        highest[other] = its_place
                        effects[other] = number
            taken[publisher] = place
    return found


def _length(violation: Violation) -> int:
    return len(violation.publications)


def _witness(numbered: Numbered, late: _Late) -> Violation:
    subscription = numbered.history.subscriptions[late.index]
    links = chain(numbered, late.cause, late.effect)
    first, second = numbered.keys[late.effect], numbered.keys[late.cause]
    text = f"{view(subscription, first, second)}, but {described(numbered, links)}."
    keys = (second, *(numbered.keys[each.effect] for each in links))
    return Violation("causal", (subscription.name,), keys, text)
