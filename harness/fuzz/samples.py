"""Valid frames for the fuzzer to damage, and conversations to put them into."""

from itertools import product
from typing import Final

import attrs
from attrs import AttrsInstance, frozen

from broker.filters import Filter, parse
from broker.filters.constraints import Value
from broker.healing import Location
from broker.messages import Deliver, Fault, Hello, Placed, Welcome
from broker.routing import RouteFilter
from broker.wire import VERSION, Peer, encode, encode_publication, marked, publication_prefix, replayed
from broker.wire.fields import CHOICES
from broker.wire.header import PUBLICATION
from broker.wire.kinds import ROWS, DecoderStage, KindRow

_TRADES: Final = parse("kind == 'trade' and symbol in ('IBM', 'SAP') and 100 < price <= 250")
_ALL: Final = parse("True")

_VALUES: Final[dict[object, tuple[object, ...]]] = {
    str: ("", "alice@B1.k3f9/2"),
    int: (1, 2**40),
    bool: (False, True),
    Filter: (_ALL, _TRADES),
    frozenset[str]: (frozenset(), frozenset({"a", "b"})),
    tuple[tuple[str, str], ...]: ((), (("a", "x > 0"), ("b", ""))),
    tuple[tuple[str, Filter], ...]: ((), (("a", _ALL), ("b", _TRADES))),
    tuple[Location, ...]: ((), (Location("B1", 1, "b1.example:7411", ""), Location("B2", 300, "", "B1"))),
    tuple[RouteFilter, ...]: ((), (RouteFilter("a", _ALL, ordered=False), RouteFilter("b", _TRADES))),
    tuple[int, ...]: ((), (1, 300)),
    tuple[str, ...]: ((), ("{}", '{"a": 1}')),
    tuple[bytes, ...]: (
        (),
        (encode_publication(publication_prefix("alice@B1.k3f9/2"), 7, 5, {"x": 1}, b"", ordered=True),) * 2,
    ),
}

_ATTRIBUTES: Final[tuple[dict[str, Value], ...]] = (
    {},
    {"kind": "trade", "symbol": "IBM", "price": 101.5},
    {"kind": "trade", "volume": 300, "is_last": True, "when": 1_700_000_000_000, "change": -1},
    {"text": "x" * 600, "größe": 1.0},
    {f"a{place}": place for place in range(40)},
    {
        "order": {"items": [{"sku": "A7", "qty": 3}, {"sku": "", "tags": ["a", None]}], "owner": None},
        "a.b": 1,
    },
    {"rows": [[1, 2.5], [], [True]], "deep": [[[[[[[["x"]]]]]]]], "many": [0] * 600},
)


FIRST_NUMBER: Final = 1
"""Of a client's requests on a connection."""

SUBSCRIPTIONS: Final = 3
"""The client for which deliveries are made has so many."""


@frozen
class Sample:
    """A connection that is ready for frames: what came before, what to damage, what may stand beside it."""

    peer: Peer
    greeting: tuple[bytes, ...]
    frames: tuple[bytes, ...]
    neighbours: tuple[bytes, ...]


def _messages(row: KindRow) -> list[AttrsInstance]:
    """A small and a large message of one row."""
    choices = [_choices(row, each) for each in attrs.fields(row.message)]
    return [row.message(*[values[which] for values in choices]) for which in (0, -1)]


def _choices(row: KindRow, field: "attrs.Attribute[object]") -> tuple[object, ...]:
    if field.name == "version":
        return (VERSION,)
    return CHOICES.get(f"{row.name}.{field.name}") or _VALUES[field.type]


def _control(stage: DecoderStage) -> tuple[bytes, ...]:
    rows = [row for row in ROWS if stage in row.stages and row.kind != PUBLICATION]
    return tuple(encode(message) for row in rows for message in _messages(row))


def _publications() -> tuple[bytes, ...]:
    prefix = publication_prefix("alice@B1.k3f9/2")
    return tuple(
        encode_publication(prefix, 7, 1_700_000_000_000_000_000, attributes, payload, ordered=True)
        for attributes, payload in product(_ATTRIBUTES, (b"", b"x" * 100, bytes(700)))
    )


def _samples() -> tuple[Sample, ...]:
    hello, welcome = _control(DecoderStage.HELLO), _control(DecoderStage.WELCOME)
    publications = _publications()
    marks = tuple(marked(frame, 3) for frame in publications)
    quiet = tuple(
        encode(message)
        for row in ROWS
        if DecoderStage.LINK in row.stages and row.kind != PUBLICATION and row.message is not Fault
        for message in _messages(row)
    )
    client = encode(Hello(VERSION, "client", "alice", "k3f9", "", "secret"))
    answer = encode(Welcome(VERSION, "B1", "k3f9", "fifo", 1 << 20, 5000))
    pasts = tuple(replayed("alice@B1.k3f9/2", 7, frame).frame for frame in publications)
    delivered = tuple(
        encode(Deliver(FIRST_NUMBER + place % SUBSCRIPTIONS, 1)) + frame
        for place, frame in enumerate(publications + pasts)
    )
    runs = tuple(encode(Deliver(FIRST_NUMBER, count)) + b"".join(publications[:count]) for count in (2, 9))
    return (
        Sample(Peer.DIALLER, (), hello, hello),
        Sample(Peer.UPLINK, (), welcome, welcome + quiet),
        Sample(Peer.DIALLER, (client,), _control(DecoderStage.CLIENT), publications),
        Sample(Peer.DIALLER, (client,), publications, publications),
        Sample(Peer.DIALLER, (client,), publications, publications),
        Sample(Peer.UPLINK, (answer,), quiet, quiet + publications),
        Sample(Peer.UPLINK, (answer,), publications + marks, publications + marks),
        Sample(Peer.UPLINK, (answer,), publications + marks, publications),
        Sample(Peer.SERVER, (answer,), _control(DecoderStage.SERVER) + delivered, delivered),
        Sample(Peer.SERVER, (answer,), delivered + runs, delivered + runs),
        Sample(Peer.NEIGHBOUR, (), quiet, quiet + publications),
        Sample(Peer.NEIGHBOUR, (), publications + marks + pasts, publications + marks + pasts),
    )


PLACEMENTS: Final = tuple(
    encode(Placed(number, f"alice@B1.k3f9/{number}", 0, goes_on=False))
    for number in range(FIRST_NUMBER, FIRST_NUMBER + SUBSCRIPTIONS)
)
"""What a broker says to that client before it delivers."""

SAMPLES: Final = _samples()
