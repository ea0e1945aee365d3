"""Pages: a message that grows with what a broker knows leaves it in pages of limited size.

Theory of operation. Every message leaves the core through one function, which cuts it (`pages_of`). Requests
that are acknowledged are cut where they get their numbers or tokens (`cut`): each page of them is a request
of its own, acknowledged by itself. Most pages are applied one by one. Three messages may take effect only
when they are complete: they are collected where messages come in (`Collector`), and all other code gets them
whole.

Laws.

1. A page has at least one item, unless there is none at all, and no more than fit. Any single item fits; so
   every known route can be announced.
2. The pages have all items in their order, each once: added items come before withdrawn ones.
3. The pages of a message that is collected follow each other on the link, and `more` means that another one
   comes. No other message about routes or brokers may come between them.
4. Collected pages belong to one link, are limited, and are dropped when the link is lost. A session that is
   resumed continues where it was: pages are messages like others.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain, pairwise
from typing import Final, TypeVar

from attrs import Factory, define, evolve

from broker.core.effects import ProtocolError
from broker.core.hops import Hop
from broker.filters import Filter
from broker.healing import Location
from broker.messages import (
    AttachRequest,
    BrokersChanged,
    Control,
    LinkMessage,
    Notice,
    RouteIds,
    Synchronise,
    Whereabouts,
)
from broker.page_limits import COLLECTED_COUNT_MAX, COLLECTED_PAGES_MAX, PAGE_BYTES
from broker.routing.strategy import RouteFilter

Collected = AttachRequest | RouteIds | Synchronise
"""The messages that take effect only when all pages have come (R9)."""

_Item = str | RouteFilter | Location | tuple[str, Filter]

First = TypeVar("First", bound=_Item)
Second = TypeVar("Second", bound=_Item)

_HEAD_BYTES: Final = 3
"""The bytes that CBOR puts before a text of up to 64 KiB."""

_NUMBER_BYTES: Final = 9


# --- cutting ------------------------------------------------------------------------------------------


def cut(items: Sequence[First], page_bytes: int) -> list[tuple[First, ...]]:
    """Cut a list into pages; return one empty page if it is empty."""
    ends = _ends([*map(_size_of, items)], page_bytes)
    return [tuple(items[begin:end]) for begin, end in pairwise((0, *ends))]


def cut_both(
    first: Sequence[First], second: Sequence[Second], page_bytes: int
) -> list[tuple[tuple[First, ...], tuple[Second, ...]]]:
    """Cut two lists, the second behind the first, into pages; return one empty page if both are empty."""
    count = len(first)
    ends = _ends([*map(_size_of, first), *map(_size_of, second)], page_bytes)
    return [
        (tuple(first[begin:end]), tuple(second[max(begin - count, 0) : max(end - count, 0)]))
        for begin, end in pairwise((0, *ends))
    ]


def _ends(sizes_bytes: Sequence[int], page_bytes: int) -> list[int]:
    """Return where each page ends, so that every page but those of one item keeps the limit."""
    ends: list[int] = []
    left_bytes = page_bytes
    for place, size_bytes in enumerate(sizes_bytes):
        if size_bytes > left_bytes < page_bytes:
            ends.append(place)
            left_bytes = page_bytes
        left_bytes -= size_bytes
    return [*ends, len(sizes_bytes)]


def _size_of(item: _Item) -> int:
    """Return the bytes of a frame that an item takes at most."""
    if isinstance(item, str):
        return _text_bytes(item)
    if isinstance(item, RouteFilter):
        return 2 + _text_bytes(item.id) + _text_bytes(str(item.filter))
    if isinstance(item, Location):
        return 1 + _NUMBER_BYTES + sum(map(_text_bytes, (item.name, item.address, item.uplink)))
    name, content = item
    return 1 + _text_bytes(name) + _text_bytes(str(content))


def _text_bytes(text: str) -> int:
    return _HEAD_BYTES + (len(text) if text.isascii() else len(text.encode()))


def pages_of(message: Control | Notice, page_bytes: int) -> Sequence[Control | Notice]:
    """Return the pages of a message; one that does not grow is its own only page."""
    pages = _PAGES.get(message.__class__)
    return (message,) if pages is None else pages(message, page_bytes)


def _pages_of_request(message: AttachRequest, page_bytes: int) -> Sequence[Control]:
    pages = cut(sorted(message.brokers), page_bytes)
    return _marked([evolve(message, brokers=frozenset(brokers)) for brokers in pages])


def _pages_of_ids(message: RouteIds, page_bytes: int) -> Sequence[Control]:
    pages = cut_both(sorted(message.advertisements), sorted(message.subscriptions), page_bytes)
    return _marked([RouteIds(frozenset(one), frozenset(other)) for one, other in pages])


def _pages_of_synchronise(message: Synchronise, page_bytes: int) -> Sequence[Control]:
    return _marked([Synchronise(routes) for routes in cut(message.advertisements, page_bytes)])


def _marked(pages: Sequence[Collected]) -> Sequence[Control]:
    return [*[evolve(page, more=True) for page in pages[:-1]], pages[-1]]


def _pages_of_brokers(message: BrokersChanged, page_bytes: int) -> Sequence[Control]:
    pages = cut_both(sorted(message.added), sorted(message.removed), page_bytes)
    return [BrokersChanged(frozenset(added), frozenset(removed)) for added, removed in pages]


def _pages_of_whereabouts(message: Whereabouts, page_bytes: int) -> Sequence[Control]:
    return [Whereabouts(places) for places in cut(message.places, page_bytes)]


_PAGES: Final[Mapping[type, Callable[..., Sequence[Control]]]] = {
    AttachRequest: _pages_of_request,
    RouteIds: _pages_of_ids,
    Synchronise: _pages_of_synchronise,
    BrokersChanged: _pages_of_brokers,
    Whereabouts: _pages_of_whereabouts,
}


# --- collecting ---------------------------------------------------------------------------------------


@define(eq=False)
class _Incomplete:
    """The pages of one message so far, and how many items they have."""

    pages: list[Collected] = Factory(list)
    count: int = 0

    @property
    def name(self) -> str:
        return type(self.pages[0]).__name__

    def goes_on_with(self, page: Collected) -> bool:
        return _head_of(self.pages[0]) == _head_of(page)


@define(eq=False)
class Collector:
    """The pages of incomplete messages, by link."""

    _incomplete: dict[Hop, _Incomplete] = Factory(dict)

    def take(self, message: LinkMessage, link: Hop) -> LinkMessage | None:
        """Return a message when all of it is there, and None before that.

        Raises:
            ProtocolError: it does not continue the pages before it, or these are too many.
        """
        known = self._incomplete.get(link)
        if known is not None and not (isinstance(message, Collected) and known.goes_on_with(message)):
            kind = type(message).__name__
            raise ProtocolError(f"{link.name} sent {kind} before the last page of its {known.name} had come")
        if not isinstance(message, Collected) or (known is None and not message.more):
            return message
        if known is None:
            known = self._incomplete[link] = _Incomplete()
        known.pages.append(message)
        known.count += _count_of(message)
        _check_bounds(known, link)
        if message.more:
            return None
        del self._incomplete[link]
        return _whole(known.pages)

    def forget(self, link: Hop) -> None:
        """Drop the pages of a lost link."""
        self._incomplete.pop(link, None)

    def __len__(self) -> int:
        return len(self._incomplete)


def _head_of(message: Collected) -> tuple[object, ...]:
    """Return the fields that all pages of a message have in common."""
    if isinstance(message, AttachRequest):
        return AttachRequest, message.asker, message.number
    return (type(message),)


def _count_of(message: Collected) -> int:
    match message:
        case AttachRequest():
            return len(message.brokers)
        case RouteIds():
            return len(message.advertisements) + len(message.subscriptions)
        case Synchronise():
            return len(message.advertisements)


def _check_bounds(known: _Incomplete, link: Hop) -> None:
    if known.count > COLLECTED_COUNT_MAX:
        text = f"{known.count} items in one {known.name}: at most {COLLECTED_COUNT_MAX} are taken"
        raise ProtocolError(f"{link.name} announced {text}")
    if len(known.pages) > COLLECTED_PAGES_MAX:
        text = f"at most {COLLECTED_PAGES_MAX} of {PAGE_BYTES} bytes are taken"
        raise ProtocolError(f"{link.name} sent {len(known.pages)} pages of one {known.name}: {text}")


def _whole(pages: Sequence[Collected]) -> Collected:
    """Put the pages of one message together."""
    first = pages[0]
    match first:
        case AttachRequest():
            brokers = [each.brokers for each in pages if isinstance(each, AttachRequest)]
            return evolve(first, brokers=frozenset().union(*brokers), more=False)
        case RouteIds():
            ids = [each for each in pages if isinstance(each, RouteIds)]
            return RouteIds(
                frozenset().union(*(each.advertisements for each in ids)),
                frozenset().union(*(each.subscriptions for each in ids)),
            )
        case Synchronise():
            routes = [each.advertisements for each in pages if isinstance(each, Synchronise)]
            return Synchronise(tuple(chain.from_iterable(routes)))
