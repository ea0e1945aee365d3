"""What a hostile peer does to a broker: each attack in its smallest form, and what becomes of it.

Everybody else goes on in every test: an honest publisher and an honest subscriber share the broker.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from attrs import define, evolve

from broker.filters import parse
from broker.messages import (
    Advertise,
    Advertised,
    Credit,
    Ended,
    Explain,
    Explained,
    Fault,
    Flush,
    Flushed,
    Hello,
    Ping,
    Placed,
    Pong,
    Refused,
    Subscribe,
    Unsubscribe,
    Wanted,
    Welcome,
)
from broker.node.access import EVERYBODY, Access, User
from broker.node.limits import NodeLimits
from broker.node.node import CONTROLS_MAX
from broker.page_limits import PAGE_BYTES
from broker.server.settings import Tls
from broker.server.users import load_access
from broker.wire import VERSION, DeliveredBatch, encode, encode_publication, publication_prefix
from tests.broker.node.driven import Driven, Wire, driven

KIB, MIB = 1024, 1024 * 1024
NOBODYS = "x < 0 and y > 0"
"""What nobody honest here publishes or reads."""

SMALL = NodeLimits(outbox_bytes=64 * KIB, step_units=500, unconfirmed_bytes=1024 * KIB)


def advertise(number: int, text: str = "x > 0", resume: str = "") -> bytes:
    return encode(Advertise(number, text, resume))


def subscribe(
    number: int, text: str = "x > 0", *, credit: int = 1000, bound: int = MIB, policy: str = "disconnect"
) -> bytes:
    return encode(Subscribe(number, text, True, credit, bound, policy, "", 0, "", (), ()))


def subscribe_durably(number: int, text: str) -> bytes:
    return encode(Subscribe(number, text, True, 0, MIB, "drop", durable=f"d{number}"))


def replay(number: int) -> bytes:
    """A subscription that asks for the whole past and takes none of it."""
    return encode(Subscribe(number, "x > 0", True, 0, MIB, "disconnect", replay=(60_000,)))


@define(eq=False)
class Publishing:
    """A publisher that a test makes publish."""

    broker: Driven
    wire: Wire
    id: str
    sequence: int = 0

    def publish(self, count: int = 1, payload: bytes = b"") -> None:
        prefix = publication_prefix(self.id)
        frames = []
        for _ in range(count):
            self.sequence += 1
            frames.append(encode_publication(prefix, self.sequence, 0, {"x": 1}, payload, True))
        self.broker.say(self.wire, *frames)
        self.broker.catch_up()


@define(eq=False)
class Honest:
    """A publisher and a subscriber that want nothing but to go on."""

    broker: Driven
    publisher: Publishing
    reader: Wire
    got: int = 0

    def confirm(self) -> None:
        self.got += sum(len(batch.frames) for batch in self.broker.frames_sent(self.reader, DeliveredBatch))
        self.broker.say(self.reader, encode(Credit(1, 0, self.got)))

    def goes_on(self) -> None:
        """Whatever the attack did, an event of this publisher comes to this subscriber."""
        self.publisher.publish()
        self.confirm()
        assert self.got == self.publisher.sequence


def publishing(broker: Driven, name: str = "honest", token: str = "") -> Publishing:
    wire = broker.client(name, token)
    broker.say(wire, advertise(1))
    (answer,) = broker.frames_sent(wire, Advertised)
    return Publishing(broker, wire, answer.publisher)


def honest(broker: Driven, token: str = "") -> Honest:
    publisher = publishing(broker, "honest", token)
    reader = broker.client("reader", token)
    broker.say(reader, subscribe(1))
    return Honest(broker, publisher, reader)


@contextmanager
def shared() -> Iterator[Driven]:
    """A broker that honest clients share with an attacker, and that no attack may stop."""
    made = driven(limits=SMALL)
    others = honest(made)
    yield made
    others.goes_on()
    assert made.failure is None


@pytest.fixture
def broker() -> Iterator[Driven]:
    with shared() as made:
        yield made


# --- what is not read cannot fill the memory -------------------------------------------------------------


@pytest.mark.parametrize("question", [Ping, Flush])
def test_a_client_that_does_not_read_its_answers_is_not_read_either(broker: Driven, question: type) -> None:
    rude = broker.client("rude")
    rude.reads = False
    number = 0
    while not rude.is_paused:
        assert number < 100_000
        broker.say(rude, *[encode(question(number + place)) for place in range(1, 101)])
        broker.catch_up()
        number += 100
    connection = broker.node.connections[rude.number]
    assert connection.outbox_bytes < 2 * SMALL.outbox_bytes
    rude.reads = True
    broker.flush()
    assert not rude.is_paused


def test_refusals_that_nobody_reads_stop_the_reading(broker: Driven) -> None:
    rude = broker.client("rude")
    rude.reads = False
    number = 0
    while not rude.is_paused:
        assert number < 10_000
        broker.say(rude, *[subscribe(number + place, "x ==") for place in range(1, 11)])
        broker.catch_up()
        number += 10
    assert broker.node.connections[rude.number].outbox_bytes < 3 * SMALL.outbox_bytes


def test_a_peer_that_does_not_read_gets_no_notice_of_every_change(broker: Driven) -> None:
    rude, other = broker.client("rude"), broker.client("other")
    broker.say(rude, *[advertise(number, NOBODYS) for number in range(1, 501)])
    broker.catch_up()
    broker.frames_sent(rude, Advertised)
    rude.reads = False
    for number in range(1, 101):
        broker.say(other, subscribe(number, NOBODYS))
        broker.say(other, encode(Unsubscribe(number)))
    waiting_bytes = broker.node.connections[rude.number].outbox_bytes
    assert waiting_bytes < 2 * SMALL.outbox_bytes
    broker.say(other, subscribe(101, NOBODYS))
    rude.reads = True
    broker.flush()
    said = {wanted.number: wanted.is_wanted for wanted in broker.frames_sent(rude, Wanted)}
    assert said == dict.fromkeys(range(1, 501), True)


def test_a_long_answer_waits_for_a_client_that_does_not_read_and_so_do_later_frames(broker: Driven) -> None:
    rude = broker.client("rude")
    broker.say(rude, *[subscribe_durably(number, f"name == '{number:08000}'") for number in range(1, 41)])
    broker.catch_up()
    rude.reads = False
    broker.say(rude, *[encode(Explain(number, "", 0, "durable")) for number in range(41, 61)])
    broker.catch_up()
    waiting_bytes = broker.node.connections[rude.number].outbox_bytes
    assert waiting_bytes < 3 * SMALL.outbox_bytes
    rude.reads = True
    broker.flush()
    broker.catch_up()
    lines = sum(len(page.lines) for page in broker.frames_sent(rude, Explained))
    assert lines == 20 * 40


def test_a_client_that_leaves_within_a_long_answer_leaves_nothing(broker: Driven) -> None:
    rude = broker.client("rude")
    broker.say(rude, *[subscribe_durably(number, f"name == '{number:08000}'") for number in range(1, 41)])
    broker.catch_up()
    rude.reads = False
    broker.say(rude, *[encode(Explain(number, "", 0, "durable")) for number in range(41, 51)])
    broker.catch_up()
    broker.lose(rude)
    broker.catch_up()
    assert rude.number not in broker.node.connections


# --- what a step may cost -------------------------------------------------------------------------------


def test_requests_beyond_the_work_of_a_step_wait_for_the_next_one(broker: Driven) -> None:
    busy = broker.client("busy")
    frames = [
        subscribe(number, f"x > {number} and name.startswith('{'y' * 400}')") for number in range(1, 41)
    ]
    broker.say(busy, *frames)
    assert busy.is_paused
    first = len(broker.frames_sent(busy, Placed))
    assert 0 < first < 20
    broker.catch_up()
    assert first + len(broker.frames_sent(busy, Placed)) == 40
    assert not broker.wires[busy.number].is_paused


def test_what_was_read_before_a_connection_broke_is_handled() -> None:
    broker = driven(limits=SMALL)
    others = honest(broker)
    busy = broker.client("busy")
    frames = [subscribe(number, f"name.startswith('{'y' * 400}')") for number in range(1, 41)]
    broker.say(busy, *frames, encode(Fault("left", "done")))
    broker.lose(busy)
    broker.catch_up()
    assert busy.is_ended
    assert [
        each for each in broker.node.exchange.subscribers.values() if each.state.terms.client == "busy"
    ] == []
    others.goes_on()


def test_a_malformed_frame_behind_much_work_is_refused_after_it(broker: Driven) -> None:
    busy = broker.client("busy")
    frames = [subscribe(number, f"name.startswith('{'y' * 400}')") for number in range(1, 41)]
    broker.say(busy, *frames, b"\x00\x00\x00\x02\xff\x00")
    broker.catch_up()
    assert len(broker.frames_sent(busy, Placed)) == 40
    assert [fault.code for fault in broker.frames_sent(busy, Fault)] == ["unknown"]
    assert busy.is_ended


def test_rights_come_before_work(monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = User("nobody", token_sha256=bytes(32))
    access = Access((evolve(EVERYBODY, name="ada", certificate="ada"), evolve(nobody, certificate="nobody")))
    broker = driven(access=Access((evolve(nobody, token_sha256=None, certificate="nobody"),)))
    del access
    wire = broker.accept(certificates=("nobody",))
    broker.say(wire, encode(Hello(VERSION, "client", "x", "1", "", "")))
    broker.at(1)
    assert broker.frames_sent(wire, Welcome)

    def read(_: str) -> None:
        raise AssertionError("nobody makes a broker read a filter")

    monkeypatch.setattr("broker.node.clients.parse", read)
    broker.say(wire, subscribe(1), advertise(2), encode(Explain(3, "", 0, "waiting")))
    refused = broker.frames_sent(wire, Refused)
    assert [each.code for each in refused] == ["not-allowed"] * 3
    assert "may not subscribe at all" in refused[0].text


def test_a_filter_that_is_too_deep_to_print_is_refused_like_any_other(broker: Driven) -> None:
    rude = broker.client("rude")
    broker.say(rude, subscribe(1, "(1" + "**1" * 2600 + ").z()"), encode(Ping(2)))
    (refused,) = broker.frames_sent(rude, Refused)
    assert refused.code == "filter"
    assert not rude.is_ended


def test_no_more_requests_are_decoded_than_a_step_can_handle(broker: Driven) -> None:
    busy = broker.client("busy")
    broker.say(busy, *[encode(Ping(number)) for number in range(1, 5001)])
    assert 0 < len(broker.node.connections[busy.number].unhandled) <= CONTROLS_MAX
    broker.catch_up()
    assert len(broker.frames_sent(busy, Pong)) == 5000


def test_an_answer_that_is_long_comes_in_pages_that_fit_into_frames(broker: Driven) -> None:
    curious = broker.client("curious")
    frames = [subscribe_durably(number, f"name == '{number:08000}'") for number in range(1, 41)]
    broker.say(curious, *frames, encode(Explain(41, "", 0, "durable")))
    broker.catch_up()
    pages = broker.frames_sent(curious, Explained)
    assert len(pages) > 3
    assert [page.more for page in pages] == [True] * (len(pages) - 1) + [False]
    assert sum(len(page.lines) for page in pages) == 40
    assert max(len(encode(page)) for page in pages) <= PAGE_BYTES


# --- identity -------------------------------------------------------------------------------------------


def test_resuming_ones_own_live_publisher_leaves_no_ghost(broker: Driven) -> None:
    publisher = publishing(broker, "twice")
    before = set(broker.node.exchange.publishers)
    broker.say(publisher.wire, advertise(2, resume=publisher.id))
    assert [ended.number for ended in broker.frames_sent(publisher.wire, Ended)] == [1]
    (answer,) = broker.frames_sent(publisher.wire, Advertised)
    assert (answer.number, answer.publisher) == (2, publisher.id)
    assert set(broker.node.exchange.publishers) == before
    broker.say(publisher.wire, encode(Fault("left", "")))
    assert set(broker.node.exchange.publishers) == before - {publisher.id}


def test_a_live_neighbour_is_not_replaced_by_a_peer_that_knows_its_incarnation() -> None:
    broker = driven()
    real = broker.neighbour("B2", incarnation="run")
    thief = broker.neighbour("B2", incarnation="run")
    (ping,) = broker.frames_sent(real, Ping)
    broker.say(real, encode(Ping(ping.number)))
    broker.at(broker.now_s + 1.5)
    assert [fault.code for fault in broker.frames_sent(thief, Fault)] == ["duplicate-name"]
    assert not real.is_ended


def test_a_neighbours_name_belongs_to_the_user_that_first_took_it() -> None:
    users = tuple(
        evolve(EVERYBODY, name=name, certificate=name, subscribe=parse("True")) for name in ("ada", "bob")
    )
    broker = driven(access=Access(users))

    def dial(user: str) -> Wire:
        from broker.wire import Peer  # noqa: PLC0415 - used here alone

        wire = broker.accept(Peer.UPLINK, (user,))
        broker.say(wire, encode(Hello(VERSION, "broker", "B2", "1", broker.config.manner, "")))
        return wire

    first = dial("ada")
    assert broker.frames_sent(first, Welcome)
    broker.lose(first)
    second = dial("bob")
    (fault,) = broker.frames_sent(second, Fault)
    assert (fault.code, "belongs to another user" in fault.text) == ("auth", True)


def test_the_name_of_the_user_is_in_the_ids_that_all_read() -> None:
    user = evolve(EVERYBODY, name="ada", certificate="ada")
    broker = driven(access=Access((user,)))
    wire = broker.accept(certificates=("ada",))
    broker.say(wire, encode(Hello(VERSION, "client", "bob", "1", "", "")))
    broker.at(1)
    broker.say(wire, advertise(1))
    (answer,) = broker.frames_sent(wire, Advertised)
    assert answer.publisher.startswith("ada/bob@B1.")


def test_without_users_a_certificate_is_a_clients_unless_it_is_said_to_be_a_brokers() -> None:
    access = Access(asks_for_certificates=True, broker_names=frozenset({"b2.example"}))
    assert access.identify("client", "", ()) is None
    assert access.identify("broker", "", ("ada",)) is None
    ada, b2 = access.identify("client", "", ("ada",)), access.identify("broker", "", ("B2", "b2.example"))
    assert ada is not None
    assert b2 is not None
    assert (ada.name, b2.name) == ("ada", "B2")


def test_who_has_an_authority_asks_for_certificates_and_knows_brokers_by_theirs() -> None:
    certificate = Path("certificate")
    tls = Tls(certificate=certificate, key=certificate, authority=certificate, brokers=("b2.example",))
    access = load_access(None, tls)
    assert access.identify("client", "", ()) is None
    assert access.identify("broker", "", ("ada",)) is None
    assert access.identify("broker", "", ("b2.example",)) is not None


# --- defects --------------------------------------------------------------------------------------------


def test_a_defect_that_hurt_nothing_ends_the_connection_that_met_it(
    broker: Driven, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = broker.client("victim")

    def fail(_: str) -> None:
        raise RecursionError("too deep")

    with monkeypatch.context() as broken:
        broken.setattr("broker.node.clients.parse", fail)
        broker.say(victim, encode(Flush(1)), subscribe(2))
    assert broker.frames_sent(victim, Flushed)
    (fault,) = broker.frames_sent(victim, Fault)
    assert fault.code == "defect"
    assert victim.is_ended
    assert broker.node.exchange.totals.defects == 1
    assert [line.event for line in broker.logs if line.level == "error"] == ["defect contained"]


def test_a_defect_behind_which_the_state_is_in_doubt_stops_the_broker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker = driven()
    victim = broker.client("victim")

    def fail(*_: object, **__: object) -> None:
        raise RecursionError("too deep")

    monkeypatch.setattr(type(broker.node.station.core), "subscribe", fail)
    with pytest.raises(RecursionError):
        broker.say(victim, subscribe(1))
