"""What each publication's past is: everything that may have caused it.

A past is one number per publisher, the highest place of theirs in it: with a publication, all earlier ones of
its publisher are in a past. It is kept only where it grows, as the *news* that came with each publication. So
it costs what the pasts grow by, not what they hold.

Law: a past is closed. What is in the past of something in it is in it too.
"""

from collections.abc import Iterable, Iterator

from attrs import define, field

from ordering.verdicts.history import HistoryError, Published
from ordering.verdicts.numbering import Numbered
from ordering.verdicts.words import name

News = list[tuple[str, int]]
"""Publishers, each with the highest place of theirs that came into a past."""


@define(eq=False)
class Past:
    """The pasts of all ordered publications.

    `places` says where among its publisher's ordered publications each one is, from 1. `news` holds for each
    publisher, place by place, what came into the past there, other publishers' alone.
    """

    places: dict[int, int] = field(factory=dict)
    news: dict[str, list[News]] = field(factory=dict)


def raised(highest: dict[str, int], news: Iterable[News]) -> News:
    """Raise the highest places to those in the news; return what was raised."""
    grown = []
    for each in news:
        for publisher, place in each:
            if place > highest.get(publisher, 0):
                highest[publisher] = place
                grown.append((publisher, place))
    return grown


def past_of(numbered: Numbered) -> Past:
    """Work out every past, in the order in which they were published."""
    past = Past()
    pasts: dict[str, dict[str, int]] = {}
    heard: dict[tuple[str, str], int] = {}
    for number, each in enumerate(numbered.history.publications):
        if not each.ordered:
            continue
        highest = pasts.setdefault(each.publisher, {})
        news: News = []
        for cause in _heard_since(numbered, heard, each):
            news += _taken_in(numbered, past, highest, cause, each)
        chain = past.news.setdefault(each.publisher, [])
        chain.append(news)
        # Its own place is in the past of the publisher's next one, so nobody's news can raise it.
        highest[each.publisher] = past.places[number] = len(chain)
    return past


def _heard_since(
    numbered: Numbered, heard: dict[tuple[str, str], int], publication: Published
) -> Iterator[int]:
    """What the client's subscriptions delivered since this publisher's last publication."""
    for subscription, count in publication.seen or ():
        who = (publication.publisher, subscription)
        start = heard.get(who, 0)
        if count > start:
            heard[who] = count
            yield from _ordered(numbered, subscription, start, count)


def _ordered(numbered: Numbered, subscription: str, start: int, end: int) -> Iterator[int]:
    for key in numbered.delivered(subscription)[start:end]:
        number = numbered.numbers.get(key)
        if number is not None and number not in numbered.unordered:
            yield number


def _taken_in(numbered: Numbered, past: Past, highest: dict[str, int], cause: int, effect: Published) -> News:
    """Take a publication and its past into a past; return what is new in that."""
    publisher = numbered.keys[cause][0]
    place = past.places.get(cause)
    if place is None:
        raise HistoryError(
            f"{effect.publisher}/{effect.sequence} is listed before {name(numbered.keys[cause])}, which was "
            "delivered to its client before: list publications in the order they were published"
        )
    known = highest.get(publisher, 0)
    if place <= known:
        return []
    news = raised(highest, past.news[publisher][known:place])
    highest[publisher] = place
    return [*news, (publisher, place)]
