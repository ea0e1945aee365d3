"""Leases: what is known through a link expires unless the neighbour says again that it has told it.

So a broker heals from whatever happened to its tables: what is not true any more goes, what is missing is
told again. Each broker says again, on each link for itself, all that it has told there. It does not matter
which subscriptions stand behind that, or how many: none can be missing because another one is like it.

Theory of operation. There is no clock here: whoever drives the core calls `refresh` and `sweep`, each as
often as the settings say (`broker.leases`). Saying again is a digest of a few bytes, in its place behind
everything that was told before (R5). If the neighbour's own digest differs, it asks, and is told all of it.
What it does not know it takes in as if it had just been asked for; what it knows and is not told expires.

Laws.

1. In a broker and between brokers that keep all rules nothing is changed: digests agree, and nothing expires.
2. What the neighbour has withdrawn and what serves on here for a while (make before break) does not expire.
3. An entry is swept when `patience` sweeps and the time since the one before have passed since it was last
   said, or since it came, if it was not there when the neighbour last said what it tells.
"""

# ruff: noqa: SLF001 - renewing is a part of routing that needs the others

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Final

from attrs import Factory, define

from broker.core.hops import Hop
from broker.core.mending import Mending
from broker.core.pages import cut_both
from broker.core.routing import Routing, SendControl
from broker.core.tables import Entry, wish_of
from broker.filters import Filter
from broker.messages import (
    AdvertisementAdded,
    LeaseAsked,
    LeaseRenewed,
    LeaseTold,
    SubscriptionsReplaced,
)
from broker.routing.flooding import EVERYTHING
from broker.routing.strategy import Wish

DIGEST_BYTES: Final = 8
"""Of one item. Two tables that differ by chance are taken for equal once in 2**62 times."""

DIGEST_MAX: Final = 2**62

Key = tuple[bool, str]
"""Whether it is a subscription, and its id on the link."""


@define(eq=False)
class Leases:
    """What each neighbour has said again, and when, counted in sweeps."""

    _routing: Routing
    mending: Mending
    _send: SendControl
    _renewed: dict[Hop, dict[Key, int]] = Factory(dict)
    _heard: dict[Hop, int] = Factory(dict)
    _sweeps: int = 0
    renewals: int = 0
    mended: int = 0
    expired: int = 0

    # --- saying again ---

    def refresh(self) -> None:
        """Make what was told agree with the tables; then say again to each neighbour what it was told."""
        self.mending.mend()
        for link in list(self._routing.links.values()):
            told = self._told(link)
            self._send(link, LeaseRenewed(digest(*told)))

    def _told(self, link: Hop) -> tuple[list[tuple[str, Filter]], list[Wish]]:
        routing = self._routing
        advertised = [(wish.id, wish.filter) for wish in routing.advertising.told[link].wishes.values()]
        return advertised, list(routing.subscribing.neighbours[link].told.wishes.values())

    def asked(self, _: LeaseAsked, link: Hop) -> None:
        """The neighbour knows something else: tell it all, page by page."""
        for advertised, wanted in cut_both(*self._told(link), self._routing.strategies.page_bytes):
            number = self._routing.subscribing._next_number()
            self._send(link, LeaseTold(number, advertised, wanted))

    # --- hearing it ---

    def renewed(self, message: LeaseRenewed, link: Hop) -> None:
        """The neighbour says again what it has told."""
        self.renewals += 1
        self._heard[link] = self._sweeps
        advertised, wanted = self._known(link)
        known = digest(advertised.items(), wanted.values())
        if known == message.digest:
            self._renewed[link] = self._now(advertised, wanted)
        else:
            self.mended += 1
            # What is not here any more, and comes again, comes then.
            held, before = self._now(advertised, wanted), self._renewed.get(link, {})
            self._renewed[link] = {key: before[key] for key in held if key in before}
            self._send(link, LeaseAsked(known))

    def _known(self, link: Hop) -> tuple[dict[str, Filter], dict[str, Wish]]:
        """What the neighbour should have told, but for what it has withdrawn and what serves on (law 2)."""
        tables = self._routing.tables
        advertised = dict(tables.advertisements(link).filters)
        if self._routing.strategies.advertisements.floods:
            del advertised[EVERYTHING.id]
        retiring = self._routing.subscribing.neighbours[link].arrivals.retiring
        known = tables.entries_of(link)
        return advertised, {id_: wish_of(each) for id_, each in known.items() if id_ not in retiring}

    def _held(self, link: Hop) -> list[Key]:
        """The same by its keys."""
        return list(self._now(*self._known(link)))

    def _now(self, advertised: Iterable[str], wanted: Iterable[str]) -> dict[Key, int]:
        """What is said again at this time."""
        keys = [*((False, each) for each in advertised), *((True, each) for each in wanted)]
        return dict.fromkeys(keys, self._sweeps)

    def told(self, message: LeaseTold, link: Hop) -> None:
        """The neighbour tells a page of all that it has told: take in what is not so here.

        What is here and is told on no page goes on growing old.
        """
        known = self._routing.tables.advertisements(link).filters
        for each, content in message.advertisements:
            if known.get(each) != content:
                self._routing.withdraw_advertisement(each, link)
                self._routing.add_advertisement(AdvertisementAdded(each, content), link)
        self._take_in(message, link, self._routing.tables.entries_of(link))
        advertised = [each for each, _ in message.advertisements]
        wanted = [wish.id for wish in message.subscriptions]
        self._renewed.setdefault(link, {}).update(self._now(advertised, wanted))

    def _take_in(self, message: LeaseTold, link: Hop, known: Mapping[str, Entry]) -> None:
        subscribing, arrivals = self._routing.subscribing, self._routing.subscribing.neighbours[link].arrivals
        new = tuple(
            wish
            for wish in message.subscriptions
            if wish.id not in known or wish.id in arrivals.retiring or wish_of(known[wish.id]) != wish
        )
        for wish in new:
            if wish.id not in known:
                subscribing._acknowledge(link, arrivals.removed(wish.id))
        if new:
            asked = SubscriptionsReplaced(message.number, new, frozenset())
            self._routing.add_subscriptions(asked, link)

    @property
    def is_heard(self) -> bool:
        """Whether every neighbour has said something again since the last sweep."""
        return all(self._heard.get(link) == self._sweeps for link in self._routing.links.values())

    # --- expiring ---

    def sweep(self, patience: int) -> None:
        """Forget what has not been said again for so many sweeps (law 3)."""
        self._sweeps += 1
        for known in (self._renewed, self._heard):
            for link in [link for link in known if not self._routing.is_linked(link)]:
                del known[link]
        for link in list(self._routing.links.values()):
            self._sweep_link(link, patience)

    def _sweep_link(self, link: Hop, patience: int) -> None:
        held = self._held(link)
        before = self._renewed.get(link, {})
        # What is seen first came after the sweep before this one.
        renewed = self._renewed[link] = {key: before.get(key, self._sweeps - 1) for key in held}
        for is_subscription, each in held:
            if self._sweeps - renewed[is_subscription, each] <= patience:
                continue
            self.expired += 1
            del renewed[is_subscription, each]
            if is_subscription:
                self._routing.unsubscribe(each, link)
            else:
                self._routing.withdraw_advertisement(each, link)


def digest(advertised: Iterable[tuple[str, Filter]], wanted: Iterable[Wish]) -> int:
    """Return a number that says what was told, in whatever order."""
    total = 0
    for each, content in advertised:
        total += _number_of(f"a\0{each}\0{content}")
    for wish in wanted:
        total += _number_of(f"{'o' if wish.ordered else 'u'}\0{wish.id}\0{wish.filter}")
    return total % DIGEST_MAX


def _number_of(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=DIGEST_BYTES).digest())
