"""One law of pages broken per function: each acts on fewer items than were announced, or on more."""

from collections.abc import Sequence

from broker.core import pages
from broker.core.hops import Hop
from broker.core.pages import Collected, Collector, cut_both
from broker.messages import Control, LinkMessage
from broker.routing import RouteFilter

_whole = pages._whole
_marked = pages._marked
_take = Collector.take


def forgets_the_first(collected: Sequence[Collected]) -> Collected:
    """Leave the first page out of the message."""
    return _whole(collected[1:])


def begins_with_the_last(collected: Sequence[Collected]) -> Sequence[Control]:
    """Send the last page of a message first."""
    *others, last = _marked(collected)
    return [last, *others]


def acts_on_every_page(self: Collector, message: LinkMessage, link: Hop) -> LinkMessage:
    """Act on every page as if it were the whole message."""
    del self, link
    return message


def goes_on_across_links(self: Collector, message: LinkMessage, link: Hop) -> LinkMessage | None:
    """Go on with the pages that came over an earlier link to the same neighbour."""
    for earlier in [each for each in self._incomplete if each.name == link.name]:
        self._incomplete[link] = self._incomplete.pop(earlier)
    return _take(self, message, link)


def forgets_nothing(self: Collector, link: Hop) -> None:
    """Keep the pages of a link that is lost."""
    del self, link


def withdraws_first(
    added: Sequence[RouteFilter], removed: Sequence[str], page_bytes: int
) -> list[tuple[tuple[RouteFilter, ...], tuple[str, ...]]]:
    """Withdraw on the first pages, and add the replacements on later ones (R7)."""
    return cut_both(added, removed, page_bytes)[::-1]
