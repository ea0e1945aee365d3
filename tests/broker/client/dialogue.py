"""Performs the steps of a dialogue with a machine; docs/reference/conformance.md describes them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import attrs
from attrs import define, field

from broker.backoff import Backoff
from broker.client.delivery import Delivery, Gap
from broker.client.inbox import Inbox
from broker.client.life import Phase, Wants
from broker.client.limits import BOUND_BYTES, OPEN_COUNT, Limits
from broker.client.machine import ClientMachine
from broker.client.offers import Offers
from broker.client.options import subscription
from broker.client.outbox import Outbox
from broker.client.reading import Reading
from broker.client.session import Session
from broker.client.window import PendingFlush, Source
from broker.errors import BrokerFaultError
from broker.filters import parse
from broker.wire import DEFAULT_LIMITS, decode_delivery, encode, encode_publication, publication_prefix
from broker.wire.control import decode
from broker.wire.header import HEADER, LENGTH_BYTES, PUBLICATION
from broker.wire.kinds import ROWS
from tests.broker.client.talk import BEGUN_S

Json = Any
"""What a file of cases has: its shape is in docs/reference/conformance.md."""

ANY = {"any": True}

_KINDS = {row.name: row.message for row in ROWS}


class _Longest:
    """Chance that always draws the longest wait."""

    def uniform(self, a: float, b: float, /) -> float:  # noqa: ARG002 - the protocol's signature
        return b


def frame_of(message: Sequence[Json]) -> bytes:
    kind, *fields = message
    if kind == "Publication":
        publisher, sequence, attributes, payload, ordered = fields
        values = {name: int(value["int"]) for name, value in attributes.items()}
        return encode_publication(
            publication_prefix(publisher), sequence, 0, values, bytes.fromhex(payload), ordered
        )
    return encode(_KINDS[kind](*map(_field, fields)))


def _field(value: Json) -> Json:
    return tuple(map(_field, value)) if isinstance(value, list) else value


def messages_in(output: bytes) -> Iterator[list[Json]]:
    while output:
        length, kind, _ = HEADER.unpack_from(output)
        frame, output = output[: LENGTH_BYTES + length], output[LENGTH_BYTES + length :]
        if kind == PUBLICATION:
            publisher, sequence, _, attributes, payload, ordered = decode_delivery(frame)
            values = {name: {"int": str(value)} for name, value in attributes.items()}
            yield ["Publication", publisher, sequence, values, payload.hex(), ordered]
        else:
            message: Any = decode(kind, frame[HEADER.size :], DEFAULT_LIMITS)
            fields = attrs.astuple(message, recurse=False)
            yield [
                type(message).__name__,
                *(list(each) if isinstance(each, tuple) else each for each in fields),
            ]


@define
class Dialogue:
    """One client's machine, driven by steps."""

    machine: ClientMachine
    now_s: float = BEGUN_S
    _named: dict[str, Any] = field(factory=dict)
    _readings: dict[str, Reading] = field(factory=dict)

    @classmethod
    def of(cls, client: Mapping[str, Json]) -> "Dialogue":
        address, *others = client["addresses"]
        limits = Limits(**client.get("limits", {}))
        session = Session(client["name"], client["incarnation"], client["token"], limits)
        dialogue = cls(ClientMachine(session, address, Backoff(_Longest()), tuple(others)))
        dialogue.machine.start(dialogue.now_s, retry=False)
        return dialogue

    def perform(self, step: Mapping[str, Json]) -> None:
        ((verb, content),) = step.items()
        perform: Callable[[Json], None] = getattr(self, f"_{verb}")
        perform(content)
        while self.machine.wants is Wants.CLOSE:
            self.machine.lost(None, self.now_s)

    def _dial(self, address: str) -> None:
        assert self.machine.wants is Wants.DIAL
        assert self.machine.address == address
        self.machine.dialling(self.now_s)
        self.machine.connected(self.now_s)

    def _send(self, expected: list[list[Json]]) -> None:
        found: list[list[Json]] = []
        while output := self.machine.take_output():
            found += messages_in(output)
            self.machine.written(self.now_s)
        for message, wanted in zip(found, expected, strict=False):
            for place, each in enumerate(wanted[: len(message)]):
                if each == ANY:
                    message[place] = ANY
        assert found == expected

    def _receive(self, messages: list[list[Json]]) -> None:
        for message in messages:
            self.machine.received(frame_of(message), self.now_s)

    def _lost(self, reason: str | None) -> None:
        if self.machine._has_transport:
            self.machine.lost(reason, self.now_s)

    def _pass_s(self, seconds: float) -> None:
        end_s = self.now_s + seconds
        while (deadline_s := self.machine.next_deadline()) <= end_s and self.machine.wants is not Wants.DIAL:
            self.now_s = max(self.now_s, deadline_s)
            self.machine.tick(self.now_s)
        self.now_s = end_s

    def _leave(self, _: bool) -> None:  # noqa: FBT001 - what the step has
        self.machine.leave(self.now_s)

    def _advertise(self, wanted: Mapping[str, Json]) -> None:
        self._named[wanted["as"]] = self.machine.session.advertise(wanted["filter"], wanted.get("resume", ""))

    def _publish(self, wanted: Mapping[str, Json]) -> None:
        source: Source = self._named[wanted["by"]]
        outbox = Outbox(source, parse(source.filter), self.machine)
        outbox.refill()
        values = {name: int(value["int"]) for name, value in wanted["attributes"].items()}
        assert outbox.put(values, b"", 0, ordered=True)

    def _flush(self, wanted: Mapping[str, Json]) -> None:
        self._named[wanted["as"]] = self.machine.session.flush()

    def _subscribe(self, wanted: Mapping[str, Json]) -> None:
        options = {
            "ordered": True, "bound_bytes": BOUND_BYTES, "policy": None, "durable": "", "age_s": 0,
            "after": None, "ack": "auto", "max_open": OPEN_COUNT, "replay": None, "resume": "",
        } | {name: value for name, value in wanted.items() if name not in {"as", "filter"}}  # fmt: skip
        inbox = subscription(
            wanted["filter"], limits=self.machine.session.limits, now_s=self.now_s, **options
        )
        self._named[wanted["as"]] = inbox
        self._readings[wanted["as"]] = Reading(inbox, self.machine)
        self.machine.session.subscribe(inbox, self.now_s)

    def _discover(self, wanted: Mapping[str, Json]) -> None:
        offers = self._named[wanted["as"]] = Offers(wanted["filter"])
        self.machine.session.discover(offers)

    def _changes(self, wanted: Mapping[str, Json]) -> None:
        offers: Offers = self._named[wanted["of"]]
        for expected in wanted["items"]:
            change = offers.take()
            assert ([] if change is None else list(attrs.astuple(change))) == expected

    def _yield(self, wanted: Mapping[str, Json]) -> None:
        reading = self._readings[wanted["of"]]
        for expected in wanted["items"]:
            item: Delivery | Gap | bool | None = next(reading.batch, None)
            if item is None:
                item = reading.advance()
                item = next(reading.batch) if item is True else item
            if isinstance(item, Gap):
                assert {"gap": item.count, "reason": item.reason} == expected
            else:
                assert isinstance(item, Delivery)
                found = {"publisher": item.publisher, "sequence": item.sequence, "position": item.position}
                assert found == expected

    def _wait_for(self, name: str) -> None:
        reading = self._readings[name]
        assert not list(islice(reading.batch, 1))
        assert reading.advance() is False

    def _ack(self, wanted: Mapping[str, Json]) -> None:
        reading = self._readings[wanted["of"]]
        reading.acknowledge(reading.inbox.era, wanted["position"])

    def _close(self, name: str) -> None:
        if (reading := self._readings.get(name)) is not None:
            reading.close(had_last=True)
        elif isinstance(offers := self._named[name], Offers):
            self.machine.session.undiscover(offers)
        else:
            self.machine.session.unadvertise(self._named[name])

    def _is(self, condition: Mapping[str, Json]) -> None:
        ((what, value),) = condition.items()
        machine = self.machine
        if what == "state":
            assert machine.state == value
        elif what == "failed":
            assert isinstance(machine.failure, BrokerFaultError)
            assert machine.failure.code == value
        elif what == "ended":
            ended: Source | Inbox = self._named[value[0]]
            assert getattr(ended.ended, "code", None) == value[1]
        else:
            self._is_named(what, self._named[value])

    @staticmethod
    def _is_named(what: str, named: Source | Inbox | PendingFlush) -> None:
        match what, named:
            case "open" | "opening", Source() | Inbox():
                assert named.phase is Phase[what.upper()]
            case "wanted" | "unwanted", Source():
                assert named.is_wanted is (what == "wanted")
            case "done" | "pending", PendingFlush():
                assert named.is_done is (what == "done")
            case _:
                raise AssertionError(f"nothing is {what}")
