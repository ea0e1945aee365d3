"""What each publication's past is: everything that may have caused it.

A past is one number per publisher, the highest place of theirs in it: with a publication, all earlier ones of
its publisher are in a past. It is kept only where it grows, as the *news* that came with each publication. So
it costs what the pasts grow by, not what they hold.

Law: a past is closed. What is in the past of something in it is in it too.
"""

from collections.abc import Iterable

from attrs import define

from ordering.verdicts.history import HistoryError, HistoryEvent
from ordering.verdicts.numbering import Numbered
from ordering.verdicts.words import name

News = list[tuple[int, int]]
"""Publishers, by number, each with the highest place of theirs that came into a past."""


@define(eq=False)
class Past:
    """The pasts of all ordered publications.

    `places` says where among its publisher's ordered publications each one is, from 1; 0 stands for an
    unordered one. `news` holds for each publisher, place by place, what came into the past there, other
    publishers' alone.
    """

    places: list[int]
    news: list[list[News]]


def raised(highest: list[int], news: Iterable[News]) -> News:
    """Raise the highest places to those in the news; return what was raised."""
    grown = []
    for each in news:
        for item in each:
            publisher, place = item
            if place > highest[publisher]:
                highest[publisher] = place
                grown.append(item)
    return grown


def past_of(numbered: Numbered) -> Past:
    """Work out every past, in the order in which they were published."""
    publishers = max(numbered.publishers, default=-1) + 1
    past = Past([0] * len(numbered.keys), [[] for _ in range(publishers)])
    pasts = [[0] * publishers for _ in range(publishers)]
    heard: dict[tuple[int, str], int] = {}
    for number, each in enumerate(numbered.history.publications):
        if each.ordered:
            publisher = numbered.publishers[number]
            highest = pasts[publisher]
            causes = _heard_since(numbered, heard, publisher, each)
            past.news[publisher].append(_taken_in(numbered, past, highest, causes, each))
            # Its own place is in the past of the publisher's next one, so nobody's news can raise it.
            highest[publisher] = past.places[number] = len(past.news[publisher])
    return past


def _heard_since(
    numbered: Numbered, heard: dict[tuple[int, str], int], publisher: int, publication: HistoryEvent
) -> list[int]:
    """What the client's subscriptions delivered since this publisher's last publication."""
    causes: list[int] = []
    for subscription, count in publication.seen or ():
        who = (publisher, subscription)
        start = heard.get(who, 0)
        if count > start:
            heard[who] = count
            causes += numbered.heard(subscription, start, count)
    return causes


def _taken_in(
    numbered: Numbered, past: Past, highest: list[int], causes: list[int], effect: HistoryEvent
) -> News:
    """Take publications and their pasts into a past; return what is new in that."""
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
