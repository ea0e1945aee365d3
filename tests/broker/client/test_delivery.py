from math import isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.client.delivery import Delivery, Gap
from broker.filters.constraints import Value
from broker.wire import decode_delivery, encode_publication, publication_prefix
from broker.wire.events import give_back, read_delivered, recognise
from broker.wire.limits import SMALL_BYTES
from tests.broker.wire.strategies import Published, publications

VALUES = st.one_of(
    st.text(max_size=20), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False)
)
ATTRIBUTES = st.dictionaries(st.sampled_from(["kind", "price", "a.b"]), VALUES)


@given(
    st.text(max_size=50),
    st.integers(1, 2**63 - 1),
    st.integers(0, 2**63 - 1),
    ATTRIBUTES,
    st.binary(),
    st.booleans(),
)
def test_a_delivery_is_what_was_published(  # noqa: PLR0913, PLR0917 - the fields of a publication
    publisher: str,
    sequence: int,
    published_ns: int,
    attributes: dict[str, Value],
    payload: bytes,
    ordered: bool,  # noqa: FBT001 - hypothesis passes arguments by place
) -> None:
    prefix = publication_prefix(publisher)
    delivery = Delivery(encode_publication(prefix, sequence, published_ns, attributes, payload, ordered))
    assert delivery.payload == payload
    assert delivery.attributes == attributes
    assert list(map(type, delivery.attributes.values())) == list(map(type, attributes.values()))
    assert (delivery.publisher, delivery.sequence, delivery.ordered) == (publisher, sequence, ordered)
    assert delivery.published_ns == published_ns
    assert delivery.published_at == pytest.approx(published_ns / 1e9)


def test_a_delivery_shows_what_it_is() -> None:
    frame = encode_publication(publication_prefix("bob@B1/1"), 7, 0, {"kind": "trade"}, b"xy", True)
    assert repr(Delivery(frame)) == "<Delivery bob@B1/1 7 {'kind': 'trade'} with 2 bytes>"


def test_a_gap_says_how_much_is_missing_and_why() -> None:
    assert "3 deliveries are missing" in str(Gap(3))
    assert "unknown number" in str(Gap(None))
    assert "goes back behind what it had" in str(Gap(2, "taken"))
    assert "link on their way was lost" in str(Gap(None, "lost"))


@given(publications)
def test_usual_and_other_deliveries_are_read_alike(published: Published) -> None:
    fields = decode_delivery(published.frame)[:-1]
    for _ in range(2):
        reader = read_delivered(published.frame)
        if reader is not None:
            payload = published.frame[reader.payload_at :]
            read = reader.publisher, reader.sequence, reader.published_ns, reader.attributes, payload
            assert repr(read) == repr(fields)
            give_back(reader)
        recognise(fields[3])
    is_small = len(published.frame) - len(published.payload) < SMALL_BYTES
    assert reader is not None or not is_small or not all(map(_is_usual, published.attributes.values()))


def _is_usual(value: object) -> bool:
    if isinstance(value, float):
        return isfinite(value)
    return isinstance(value, str | int)
