"""Every message there can be, and every publication, for properties of the wire format."""

import string
from typing import Final

import attrs
from attrs import AttrsInstance, frozen
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from broker.filters import Filter, parse
from broker.filters.constraints import Value
from broker.healing import Location
from broker.messages import Hello, Welcome
from broker.routing import RouteFilter
from broker.wire import VERSION, Decoder, Peer, WireLimits, encode, encode_publication, publication_prefix
from broker.wire.fields import CHOICES
from broker.wire.header import PUBLICATION
from broker.wire.kinds import ROWS, DecoderStage, KindRow
from broker.wire.limits import MAX_NUMBER, MIN_NUMBER

FILTERS: Final = (
    "True",
    "x == 1",
    "kind == 'trade' and symbol in ('IBM', 'SAP') and 100 < price <= 250",
    "not (level >= 3) or region.startswith('é-')",
)

CONTROL_ROWS: Final = tuple(row for row in ROWS if row.kind != PUBLICATION)

numbers = st.integers(0, MAX_NUMBER)
texts = st.text(max_size=20)
filters: SearchStrategy[Filter] = st.sampled_from(FILTERS).map(parse)

_FIELDS: Final[dict[object, SearchStrategy[object]]] = {
    str: texts,
    int: numbers,
    bool: st.booleans(),
    Filter: filters,
    frozenset[str]: st.frozensets(texts, max_size=5),
    tuple[tuple[str, str], ...]: st.lists(st.tuples(texts, texts), max_size=5).map(tuple),
    tuple[tuple[str, Filter], ...]: st.lists(st.tuples(texts, filters), max_size=5).map(tuple),
    tuple[Location, ...]: st.lists(st.builds(Location, texts, numbers, texts, texts), max_size=5).map(tuple),
    tuple[RouteFilter, ...]: st.lists(
        st.builds(RouteFilter, texts, filters, st.booleans()), max_size=5, unique_by=lambda route: route.id
    ).map(tuple),
    tuple[int, ...]: st.lists(numbers, max_size=5).map(tuple),
    tuple[str, ...]: st.lists(texts, max_size=5).map(tuple),
    tuple[bytes, ...]: st.lists(
        st.builds(
            lambda sequence, ordered: encode_publication(
                publication_prefix("P"), sequence, 5, {"x": 1}, b"", ordered
            ),
            st.integers(1, MAX_NUMBER),
            st.booleans(),
        ),
        max_size=5,
    ).map(tuple),
}


def messages_of(row: KindRow) -> SearchStrategy[AttrsInstance]:
    """Every message of one row."""
    return st.builds(row.message, **{each.name: _field(row, each) for each in attrs.fields(row.message)})


def _field(row: KindRow, field: "attrs.Attribute[object]") -> SearchStrategy[object]:
    where = f"{row.name}.{field.name}"
    if where in CHOICES:
        return st.sampled_from(CHOICES[where])
    if field.name == "version":
        return st.just(VERSION)
    if where == "Deliver.count":
        return st.integers(1, MAX_NUMBER)
    return _FIELDS[field.type]


names: SearchStrategy[str] = st.lists(
    st.text(string.ascii_letters + "_é", min_size=1, max_size=6), min_size=1, max_size=3
).map(".".join)

scalars: SearchStrategy[Value] = st.one_of(
    st.text(max_size=300),
    st.booleans(),
    st.integers(MIN_NUMBER, MAX_NUMBER),
    st.floats(allow_nan=False),
    st.none(),
)

nested: SearchStrategy[Value] = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(min_size=1, max_size=6), inner, max_size=4)
    ),
    max_leaves=8,
)

values: SearchStrategy[Value] = st.one_of(scalars, scalars, scalars, nested)

attributes: SearchStrategy[dict[str, Value]] = st.dictionaries(names, values, max_size=30)


@frozen
class Published:
    """The attributes of one publication."""

    publisher: str
    sequence: int
    published_ns: int
    attributes: dict[str, Value]
    payload: bytes
    ordered: bool

    @property
    def frame(self) -> bytes:
        return encode_publication(
            publication_prefix(self.publisher),
            self.sequence,
            self.published_ns,
            self.attributes,
            self.payload,
            self.ordered,
        )


publications = st.builds(
    Published,
    publisher=texts,
    sequence=st.integers(1, MAX_NUMBER),
    published_ns=numbers,
    attributes=attributes,
    payload=st.binary(max_size=600),
    ordered=st.booleans(),
)


def frame_of(body: bytes, kind: int = PUBLICATION, flags: int = 0) -> bytes:
    """A frame put together by hand, with any content."""
    return (len(body) + 2).to_bytes(4) + bytes([kind, flags]) + body


def decoder_at(stage: DecoderStage, limits: WireLimits | None = None) -> Decoder:
    """A decoder that has come as far as the stage."""
    bounds = limits or WireLimits()
    match stage:
        case DecoderStage.HELLO:
            return Decoder(bounds, Peer.DIALLER)
        case DecoderStage.WELCOME:
            return Decoder(bounds, Peer.UPLINK)
        case DecoderStage.LINK | DecoderStage.SERVER:
            decoder = Decoder(bounds, Peer.UPLINK if stage is DecoderStage.LINK else Peer.SERVER)
            decoder.feed(encode(Welcome(VERSION, "B1", "k3f9", "fifo", 1 << 20, 5000)))
            return decoder
        case _:
            decoder = Decoder(bounds, Peer.DIALLER)
            decoder.feed(encode(hello()))
            if stage is DecoderStage.CLIENT:
                decoder.welcomed()
            return decoder


def hello(role: str = "client") -> AttrsInstance:
    return Hello(VERSION, role, "alice", "k3f9", "", "secret")
