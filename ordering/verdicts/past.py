"""Computes each publication's past: all publications that may have caused it.

A past is one number per publisher, the highest position of its publications in it: with a publication, all
earlier ones of its publisher are in a past. Only its growth is stored, as the *news* that came with each
publication. So the cost is the growth of the pasts, not their size.

Law: a past is closed. It contains the past of every publication in it.
"""

from collections.abc import Iterable

from attrs import define

from ordering.verdicts.history import HistoryError, HistoryEvent
from ordering.verdicts.numbering import Numbered
from ordering.verdicts.words import name

News = list[tuple[int, int]]
"""Publishers, by number, each with the highest position that came into a past."""


@define(eq=False)
class Past:
    """The pasts of all ordered publications.

    `places` has the position of each publication among its publisher's ordered ones, from 1; 0 means
    unordered. `news` holds, for each publisher and position, what came into the past there from other
    publishers.
    """

    places: list[int]
    news: list[list[News]]


def raised(highest: list[int], news: Iterable[News]) -> News:
    """Raise the highest positions to those in the news; return the items that raised one."""
    grown = []
    for each in news:
        for item in each:
            publisher, place = item
            if place > highest[publisher]:
                highest[publisher] = place
                grown.append(item)
    return grown


def past_of(numbered: Numbered) -> Past:
    """Compute the past of every publication, in the order in which they were published."""
    publishers = max(numbered.publishers, default=-1) + 1
    past = Past([0] * len(numbered.keys), [[] for _ in range(publishers)])
    pasts = [[0] * publishers for _ in range(publishers)]
    counts: dict[tuple[int, str], int] = {}
    for number, each in enumerate(numbered.history.publications):
        if each.ordered:
            publisher = numbered.publishers[number]
            highest = pasts[publisher]
            causes = _delivered_since(numbered, counts, publisher, each)
            past.news[publisher].append(_taken_in(numbered, past, highest, causes, each))
            # Its own position is in the past of the publisher's next one, so no other publisher's news can
            # raise it.
            highest[publisher] = past.places[number] = len(past.news[publisher])
    return past


def _delivered_since(
    numbered: Numbered, counts: dict[tuple[int, str], int], publisher: int, publication: HistoryEvent
) -> list[int]:
    """Return the deliveries to the client since this publisher's last publication."""
    causes: list[int] = []
    for subscription, count in publication.seen or ():
        who = (publisher, subscription)
        start = counts.get(who, 0)
        if count > start:
            counts[who] = count
            causes += numbered.delivered_between(subscription, start, count)
    return causes


def _taken_in(
    numbered: Numbered, past: Past, highest: list[int], causes: list[int], effect: HistoryEvent
) -> News:
    """Take publications and their pasts into a past; return the news."""
    news: News = []
    for cause in causes:
        place = past.places[cause]
        if place == 0:
            raise HistoryError(
                f"{effect.publisher}/{effect.sequence} is listed before {name(numbered.keys[cause])}, which "
                "was delivered to its client before: list publications in the order they were published"
            )
        publisher = numbered.publishers[cause]
        known = highest[publisher]
        if place > known:
            news += raised(highest, past.news[publisher][known:place])
            highest[publisher] = place
            news.append((publisher, place))
    return news
