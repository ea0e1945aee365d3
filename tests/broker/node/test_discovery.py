"""What a broker shows of what is on offer: judged by what stands, and the client may not even read."""

from hashlib import sha256
from random import Random

import pytest
from attrs import define, field

from broker.client.offers import Offers
from broker.discovery_messages import Discover, Discovered, Undiscover
from broker.filters import parse
from broker.messages import (
    Advertise,
    Refused,
    Unadvertise,
)
from broker.node.access import Access, User
from broker.node.budget import Resource
from broker.node.discovery import CHANGES_MAX
from broker.node.limits import NodeLimits
from broker.wire import encode
from tests.broker.node.driven import Driven, Wire, driven

FILTERS = ("x > 0", "x > 10 and kind == 'a'", "kind == 'b'", "kind == 'a' or x < 3", "True")


@define(eq=False)
class Catalogue:
    """A client that keeps a list by what it is shown."""

    wire: Wire
    offers: Offers
    shown: dict[str, str] = field(factory=dict)
    completions: int = 0

    def look(self, broker: Driven) -> dict[str, str]:
        for page in broker.frames_sent(self.wire, Discovered):
            if page.number == self.offers.number:
                self.offers.put(page)
        while (change := self.offers.take()) is not None:
            if change.kind == "added":
                self.shown[change.publisher] = change.filter
            elif change.kind == "removed":
                del self.shown[change.publisher]
            else:
                self.completions += 1
        return self.shown


def catalogue(broker: Driven, text: str = "True", token: str = "", number: int = 1) -> Catalogue:
    made = Catalogue(broker.client("watcher", token), Offers(text))
    broker.say(made.wire, encode(made.offers.ask(number)))
    return made


def standing(broker: Driven, text: str = "True") -> dict[str, str]:
    asked = parse(text)
    known = broker.node.exchange.publishers.values()
    return {each.id: str(each.filter) for each in known if each.filter.overlaps(asked)}


def filled(texts: list[str], **limits: int) -> tuple[Driven, Wire]:
    broker = driven(limits=NodeLimits(**limits))
    publisher = broker.client("publisher")
    broker.say(publisher, *[encode(Advertise(place, text, "")) for place, text in enumerate(texts, 1)])
    broker.catch_up()
    return broker, publisher


@pytest.mark.parametrize("text", FILTERS)
def test_a_snapshot_and_its_changes_are_what_stands(text: str) -> None:
    broker, publisher = filled(["x > 5"] * 300)
    watcher = catalogue(broker, text)
    random, open_numbers, last = Random(text), list(range(1, 301)), 300
    for _ in range(40):
        for _ in range(random.randint(1, 20)):
            if random.random() < 0.5:
                last += 1
                open_numbers.append(last)
                broker.say(publisher, encode(Advertise(last, random.choice(FILTERS), "")))
            else:
                number = open_numbers.pop(random.randrange(len(open_numbers)))
                broker.say(publisher, encode(Unadvertise(number)))
        broker.catch_up()
        assert watcher.look(broker) == standing(broker, text)
    assert watcher.completions == 1


def test_an_end_is_an_end() -> None:
    broker, publisher = filled(["x > 5"])
    watcher = catalogue(broker)
    watcher.look(broker)
    broker.say(watcher.wire, encode(Undiscover(1)), encode(Undiscover(7)))
    broker.say(publisher, encode(Unadvertise(1)))
    assert not broker.frames_sent(watcher.wire, Discovered)
    assert broker.node.exchange.budgets.broker.used[Resource.WATCHES] == 0


def test_who_does_not_read_keeps_little_and_learns_what_stands() -> None:
    broker, publisher = filled([], outbox_bytes=16 * 1024)
    watcher = catalogue(broker)
    watcher.look(broker)
    watcher.wire.reads = False
    for number in range(1, 2 * CHANGES_MAX):
        broker.say(publisher, encode(Advertise(number, f"x > {number}", "")))
        if number % 3 == 0:
            broker.say(publisher, encode(Unadvertise(number - 1)))
        broker.catch_up()
    assert broker.node.connections[watcher.wire.number].outbox_bytes < 80 * 1024
    (watch,) = broker.node.exchange.watches
    assert len(watch._changes) <= CHANGES_MAX  # type: ignore[attr-defined]  # what no door shows
    watcher.wire.reads = True
    broker.flush()
    broker.catch_up()
    assert watcher.look(broker) == standing(broker)
    assert watcher.completions > 1


def users(**rules: str | None) -> Access:
    digests = {name: sha256(name.encode()).digest() for name in rules}
    made = [
        User(name, digests[name], None, ("client",), parse("True"), None if rule is None else parse(rule))
        for name, rule in rules.items()
    ]
    return Access(tuple(made))


def test_a_user_is_shown_what_its_rule_covers_and_not_even_that_the_rest_has_gone() -> None:
    broker = driven(access=users(producer="True", reader="kind == 'a'", nobody=None))
    publisher = broker.client("publisher", "producer")
    for number, text in enumerate(("kind == 'a' and x > 1", "kind == 'b'", "kind in ('a', 'b')"), 1):
        broker.say(publisher, encode(Advertise(number, text, "")))
    watcher = catalogue(broker, "True", "reader")
    assert list(watcher.look(broker).values()) == ["kind == 'a' and x > 1"]
    broker.say(publisher, encode(Unadvertise(2)), encode(Unadvertise(3)))
    assert not broker.frames_sent(watcher.wire, Discovered)
    broker.say(publisher, encode(Unadvertise(1)))
    assert watcher.look(broker) == {}
    refused = catalogue(broker, "True", "nobody")
    (refusal,) = broker.frames_sent(refused.wire, Refused)
    assert refusal.code == "not-allowed"


def test_watches_are_charged_and_bounded() -> None:
    broker = driven(limits=NodeLimits(watches=2, user_watches=3))
    one, other = broker.client("one"), broker.client("other")
    broker.say(one, *[encode(Discover(number, "True")) for number in range(1, 4)])
    broker.say(other, *[encode(Discover(number, "True")) for number in range(1, 4)])
    broker.catch_up()
    texts = [each.text for wire in (one, other) for each in broker.frames_sent(wire, Refused)]
    assert texts[0] == "a connection has at most 2 watches of advertisements at a time"
    assert texts[1].endswith("has at most 3 watches of advertisements at a time")
    assert len(texts) == 3
    broker.lose(one)
    broker.lose(other)
    used = broker.node.exchange.budgets.broker.used
    assert (used[Resource.WATCHES], used[Resource.FILTER_BYTES]) == (0, 0)
    assert not broker.node.exchange.watches
