"""What grows with a broker's state leaves it in frames of bounded size, however much it is."""

from collections.abc import Callable
from random import Random

import pytest
from attrs import AttrsInstance, evolve
from hypothesis import given
from hypothesis import strategies as st

from broker.core import BrokerCore, Hop, ProtocolError, pages
from broker.core.pages import cut, cut_both, pages_of
from broker.filters import Filter, parse
from broker.healing import Location
from broker.messages import (
    AdvertisementWithdrawn,
    AttachAnswer,
    AttachDone,
    AttachRequest,
    BrokersChanged,
    Control,
    Flood,
    LeaseListed,
    LinkMessage,
    Notice,
    Publication,
    RouteIds,
    SubscriptionAcknowledged,
    SubscriptionsReplaced,
    Synchronise,
    WayAnswer,
    Whereabouts,
)
from broker.page_limits import COLLECTED_PAGES_MAX, PAGE_BYTES, PAGE_ITEMS_BYTES
from broker.routing import RouteFilter
from broker.routing import parse as strategies
from broker.station import Station, snapshot_of
from broker.station.snapshots import station_from
from broker.wire import encode
from ordering.fifo import Fifo
from tests.broker.core.network import Network

Sent = list[LinkMessage]


def large(number: int) -> str:
    """A filter of some 8 KiB, none of which covers or equals another."""
    return f"x == {number} and text == '{'a' * 8000}'"


class Overlay(Network):
    """Brokers whose links are watched: everything that was sent, by type."""

    def __init__(self) -> None:
        super().__init__(Fifo, Random(1))
        self.sent: Sent = []

    def chain_with(self, routing: str, *names: str) -> None:
        for name in names:
            self.cores[name] = BrokerCore(name, self.ordering, routing=strategies(routing))

    def collect(self, broker: str) -> None:
        before = {end: len(waiting) for end, waiting in self.in_flight.items()}
        super().collect(broker)
        for end, waiting in self.in_flight.items():
            self.sent += list(waiting)[before[end] :]

    def largest(self) -> int:
        """How large the largest frame was that is no publication."""
        return max(len(encode(each)) for each in self.sent if not isinstance(each, Publication | Notice))

    def count(self, kind: type) -> int:
        return sum(isinstance(each, kind) for each in self.sent)


@pytest.mark.parametrize("routing", ["simple", "covering+simple", "covering"])
def test_large_tables_cross_new_links_in_small_frames(routing: str) -> None:
    network = Overlay()
    network.chain_with(routing, "A", "B", "C", "D")
    network.dial("B", "A")
    network.dial("D", "C")
    network.settle()
    for number in range(40):
        network.advertise("C", f"p{number}", large(number))
        network.subscribe("A", f"s{number}", large(number))
    network.settle()
    network.dial("C", "B")
    network.settle()
    assert network.largest() <= PAGE_BYTES
    assert network.count(Synchronise) > 5
    assert network.count(Flood) > 5
    if not routing.endswith("covering"):
        assert network.count(RouteIds) > 2
    assert network.count(SubscriptionsReplaced) > 5
    assert len(network.advertised) == len(network.subscribed) == 40
    assert network.cores["D"].counts()["subscriptions"] == 0
    assert network.cores["C"].counts()["subscriptions"] == 40
    network.publish("C", "p7", x=7, text="a" * 8000)
    network.settle()
    assert network.got("s7") == [("p7", 1)]
    assert all(
        core.counts()["incomplete"] == core.counts()["open_floods"] == 0 for core in network.cores.values()
    )


def test_each_page_of_a_difference_is_a_request_that_is_answered_once() -> None:
    network = Overlay()
    network.chain_with("covering", "A", "B")
    network.dial("B", "A")
    network.advertise("A", "p", "x >= 0")
    network.settle()
    network.subscribe("B", "all", "x >= 0")
    for number in range(30):
        network.subscribe("B", f"s{number}", large(number))
    network.settle()
    network.sent.clear()
    network.unsubscribe("B", "all")
    network.settle()
    requests = [each for each in network.sent if isinstance(each, SubscriptionsReplaced)]
    assert len(requests) > 3
    assert [bool(each.withdrawn) for each in requests] == [False] * (len(requests) - 1) + [True]
    answers = [each.number for each in network.sent if isinstance(each, SubscriptionAcknowledged)]
    assert answers == [each.number for each in requests]
    assert network.largest() <= PAGE_BYTES


def test_the_list_of_a_lease_comes_in_pages_that_are_taken_in_one_by_one() -> None:
    network = Overlay()
    network.chain_with("simple", "A", "B")
    network.dial("B", "A")
    network.advertise("A", "p", "x >= 0")
    for number in range(30):
        network.subscribe("B", f"s{number}", large(number))
    network.settle()
    core = network.cores["A"]
    for number in range(30):
        core.tables.remove_entry(core.neighbours["B"], f"s{number}")
    network.sent.clear()
    network.cores["B"].refresh()
    network.collect("B")
    network.settle()
    lists = [each for each in network.sent if isinstance(each, LeaseListed)]
    assert len(lists) > 3
    assert len({each.number for each in lists}) == len(lists)
    assert network.largest() <= PAGE_BYTES
    assert core.counts()["subscriptions"] == 30


def test_the_way_through_many_brokers_comes_page_by_page() -> None:
    network = Overlay()
    names = ["A", *[f"B{number}-{'b' * 1000}" for number in range(80)]]
    network.chain("A")
    for name in names[1:]:
        network.add(name)
        network.dial(name, "A")
    for name in names[1:]:
        network.subscribe(name, f"s{name}", "True")
    network.advertise("A", "p", "True")
    network.settle()
    network.publish("A", "p", c=1)
    network.settle()
    network.cores[names[1]].explain_way("q", "p", 1)
    network.collect(names[1])
    network.settle()
    assert [answer.more for answer in network.explained] == [True] * (len(network.explained) - 1) + [False]
    assert sum(len(answer.steps) for answer in network.explained) == len(names)
    assert network.count(WayAnswer) > 80
    assert network.largest() <= PAGE_BYTES


# --- cutting ------------------------------------------------------------------------------------------

ids = st.text(max_size=1024 // 4)
filters = st.integers(0, 10**6).map(lambda number: parse(f"x == {number}"))


@given(st.lists(ids), st.lists(st.builds(RouteFilter, ids, filters, st.booleans())), st.integers(1, 3000))
def test_pages_hold_all_items_in_their_order_and_are_never_empty(
    names: list[str], routes: list[RouteFilter], page_bytes: int
) -> None:
    found = cut_both(names, routes, page_bytes)
    assert [each for page, _ in found for each in page] == names
    assert [each for _, page in found for each in page] == routes
    assert all(one or other for one, other in found) or found == [((), ())]
    assert not any(other for _, other in found[: next((i for i, page in enumerate(found) if page[1]), 0)])


@given(st.lists(ids), st.integers(1, 3000))
def test_a_page_is_as_full_as_can_be(names: list[str], page_bytes: int) -> None:
    found = cut(names, page_bytes)
    sizes = [sum(3 + len(each.encode()) for each in page) for page in found]
    assert all(size <= page_bytes or len(page) == 1 for size, page in zip(sizes, found, strict=True))
    assert all(
        one + 3 + len(page[0].encode()) > page_bytes for one, page in zip(sizes, found[1:], strict=False)
    )


LONGEST = "é" * 512
WORST: Filter = parse(f"text == '{'a' * 8180}'")


@pytest.mark.parametrize(
    "message",
    [
        AttachRequest(LONGEST, 2**63 - 1, frozenset(f"{each:03}{LONGEST[:510]}" for each in range(200))),
        RouteIds(
            frozenset(f"{each:03}{LONGEST[:510]}" for each in range(200)), frozenset(map(str, range(9**5)))
        ),
        Synchronise(tuple((LONGEST, WORST) for _ in range(50))),
        BrokersChanged(frozenset(map(str, range(9**5))), frozenset(map(str, range(9**5, 2 * 9**5)))),
        Whereabouts(tuple(Location(LONGEST, 2**63 - 1, LONGEST, LONGEST) for _ in range(100))),
    ],
    ids=lambda message: type(message).__name__,
)
def test_every_page_of_the_worst_case_fits_into_a_frame(message: Control) -> None:
    found = pages_of(message, PAGE_ITEMS_BYTES)
    assert len(found) > 1
    assert all(len(encode(page)) <= PAGE_BYTES for page in found)


@pytest.mark.parametrize(
    "make",
    [
        lambda _, filters: SubscriptionsReplaced(2**63 - 1, filters, frozenset((LONGEST,)), True),
        lambda routes, _: Flood(LONGEST, routes),
        lambda routes, filters: LeaseListed(2**63 - 1, routes[:3], filters[:3]),
    ],
)
def test_what_is_cut_where_it_gets_its_number_fits_too(make: Callable[..., AttrsInstance]) -> None:
    routes = cut([(LONGEST, WORST)] * 50, PAGE_ITEMS_BYTES)[0]
    filters = tuple(
        RouteFilter(f"{LONGEST[:510]}{number}", each.filter)
        for number, each in enumerate(cut([RouteFilter(LONGEST, WORST)] * 50, PAGE_ITEMS_BYTES)[0][:-1])
    )
    assert len(encode(make(routes, filters))) <= PAGE_BYTES


# --- collecting ---------------------------------------------------------------------------------------


def asked(number: int, *brokers: str, more: bool) -> AttachRequest:
    return AttachRequest("B.", number, frozenset(brokers), more)


def joining() -> tuple[BrokerCore, Hop]:
    core = BrokerCore("A", Fifo)
    return core, core.open_link("B", uplink=False)


def answers(core: BrokerCore, link: Hop) -> list[str]:
    return [type(each).__name__ for each in dict(core.take().outgoing).get(link, [])]


def test_a_request_counts_when_its_last_page_has_come() -> None:
    core, link = joining()
    core.receive(link, [asked(1, "B.", "C.", more=True)])
    assert answers(core, link) == []
    core.receive(link, [asked(1, "A.other", more=False)])
    assert answers(core, link) == ["AttachAnswer"]
    assert core.counts()["attachments"] == 0  # It named another broker of our name on its last page.


@pytest.mark.parametrize(
    "message",
    [
        asked(2, "C.", more=False),
        AttachDone("B.", 1),
        RouteIds(frozenset(), frozenset()),
        AdvertisementWithdrawn("p"),
        Publication("p", 1, {}, ordered=True, frame=b""),
    ],
)
def test_nothing_comes_between_the_pages_of_a_message(message: LinkMessage) -> None:
    core, link = joining()
    core.receive(link, [asked(1, "B.", more=True)])
    with pytest.raises(ProtocolError, match="before the last page of its AttachRequest had come"):
        core.receive(link, [message])


def test_a_lost_link_takes_its_pages_along() -> None:
    core, link = joining()
    core.receive(link, [asked(1, "B.", "A.other", more=True)])
    core.close_link(link)
    link = core.open_link("B", uplink=False)
    core.receive(link, [asked(1, "B.", more=False)])
    assert core.counts()["incomplete"] == 0
    assert core.counts()["attachments"] == 1


def test_what_is_collected_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    core, link = joining()
    page = asked(1, more=True)
    core.receive(link, [page] * COLLECTED_PAGES_MAX)
    with pytest.raises(
        ProtocolError, match="sent 4097 pages of one AttachRequest: at most 4096 of 65536 bytes"
    ):
        core.receive(link, [page])
    monkeypatch.setattr(pages, "COLLECTED_COUNT_MAX", 3)
    core, link = joining()
    with pytest.raises(ProtocolError, match="announced 4 items in one AttachRequest: at most 3 are taken"):
        core.receive(link, [asked(1, "B.", "C.", more=True), asked(1, "D.", "E.", more=True)])


def test_what_is_held_while_an_attachment_is_deferred_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("broker.core.membership.HELD_COUNT_MAX", 3)
    core, link = joining()
    core.advertise("p", parse("True"))
    ids_of = RouteIds(frozenset(), frozenset())
    core.receive(link, [asked(1, "B.", more=False), ids_of, Synchronise((("p", parse("True")),))])
    core.receive(link, [AdvertisementWithdrawn("q")] * 2)
    with pytest.raises(ProtocolError, match="at most 3 changes of routes"):
        core.receive(link, [AdvertisementWithdrawn("q")])


def test_what_was_held_is_taken_while_pages_are_still_coming() -> None:
    core, link = joining()
    core.advertise("p", parse("True"))
    stale = Synchronise((("p", parse("True")),))
    core.receive(link, [asked(1, "B.", more=False), RouteIds(frozenset(), frozenset()), stale])
    request = AttachRequest("C.", 1, frozenset(("C.",)), more=True)
    core.receive(link, [BrokersChanged(frozenset(("E.",)), frozenset()), request])
    core.unadvertise("p")
    assert core.attached(link)
    core.receive(link, [evolve(request, brokers=frozenset(("D.",)), more=False)])
    assert AttachAnswer("C.", 1, "granted") in dict(core.take().outgoing)[link]


def test_a_snapshot_keeps_the_pages_that_have_come() -> None:
    station = Station("A", Fifo, "1", ordering_name="fifo")
    link = station.open_link("B", "session", uplink=False)
    station.receive(link, [asked(1, "B.", more=True)])
    station.take()
    station = station_from(snapshot_of(station), "A", Fifo, "fifo")
    station.receive(station.link_at(link.number), [asked(1, "A.other", more=False)])
    [(_, [answer])] = station.take().outgoing
    assert answer == AttachAnswer("B.", 1, "duplicate")
