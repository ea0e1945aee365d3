"""What the bodies of frames may be made of, and that nothing else gets through."""

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.wire import WireError
from broker.wire.cbor import SEPARATOR, load_item, load_items

DEPTH = 3

plain = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(2**63), 2**63), st.text(max_size=5), st.binary(max_size=9)
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
bodies = st.one_of(
    plain.map(cbor2.dumps),
    plain.map(lambda item: cbor2.dumps(item)[:-1]),
    st.tuples(plain, st.binary(max_size=10)).map(lambda pair: cbor2.dumps(pair[0]) + pair[1]),
    plain.map(lambda item: cbor2.dumps(item) + SEPARATOR + cbor2.dumps(item)),
    st.sampled_from([b"", SEPARATOR, SEPARATOR[:-1], b"\x40", b"\x58\x09", b"\x49" + SEPARATOR]),
    st.binary(max_size=12),
)


def _one_by_one(each: bytes) -> object:
    return load_item(each, "Body")


@given(st.lists(bodies, max_size=6))
def test_bodies_decoded_together_are_what_each_is_alone(together: list[bytes]) -> None:
    items = load_items(together, DEPTH)
    if items is not None:
        assert items == [_one_by_one(each) for each in together]


@given(st.lists(plain.map(cbor2.dumps), max_size=6))
def test_good_bodies_without_a_separator_are_decoded_together(together: list[bytes]) -> None:
    shallow = [each for each in together if _depth(cbor2.loads(each)) <= DEPTH and SEPARATOR not in each]
    assert load_items(shallow, DEPTH) == [cbor2.loads(each) for each in shallow]


def _depth(item: object) -> int:
    if isinstance(item, list):
        return 1 + max(map(_depth, item), default=0)
    if isinstance(item, dict):
        return 1 + max(map(_depth, item.values()), default=0)
    return 0


@given(plain, st.binary(min_size=1, max_size=20))
def test_bytes_after_the_item_are_refused(item: object, after: bytes) -> None:
    with pytest.raises(WireError):
        load_item(cbor2.dumps(item) + after, "Body")


@pytest.mark.parametrize("after", [SEPARATOR, SEPARATOR * 3, b"\x5a\x00\x00\x00\x0a" + bytes(10), b"\x40"])
@pytest.mark.parametrize("item", [1, b"", b"\xff" * 9, "text"])
def test_what_stands_behind_a_body_cannot_be_forged_inside_it(item: object, after: bytes) -> None:
    body = cbor2.dumps(item) + after
    with pytest.raises(WireError, match="expected one item"):
        load_item(body, "Body")
    assert load_items([body], DEPTH) is None


def test_a_body_cannot_swallow_the_one_behind_it() -> None:
    first = b"\x58" + bytes([len(SEPARATOR) + 2])
    assert load_items([first, b"\x01\x02" + SEPARATOR + b"\x01"], DEPTH) is None


@pytest.mark.parametrize("body", [SEPARATOR, b"\x49" + SEPARATOR, cbor2.dumps([2**64 - 1, SEPARATOR])])
def test_a_separator_as_a_value_is_a_value_like_others(body: bytes) -> None:
    assert load_item(body, "Body") == cbor2.loads(body)


def test_every_tag_is_refused() -> None:
    passed = [tag for tag in range(70_000) if not _is_refused(tag)]
    assert passed == []


def _is_refused(tag: int) -> bool:
    try:
        load_item(b"\xda" + tag.to_bytes(4) + b"\x61x", "Body")
    except WireError as error:
        return "tags are not used in frames" in error.text
    return False


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("", "ends within an item"),
        ("8201", "ends within an item"),
        ("9b7fffffffffffffff", "ends within an item"),
        ("5a7fffffff", "ends within an item"),
        ("9f01ff", "indefinite length"),
        ("bf616101ff", "indefinite length"),
        ("7f6161ff", "indefinite length"),
        ("5f4161ff", "indefinite length"),
        ("a2616101616102", "Duplicate map key: 'a'"),
        ("a10102", "map key"),
        ("a1f501", "map key"),
        ("a1820102 03", "map key"),
        ("81" * 17, "nesting depth"),
        ("c11a514b67b0", "tags are not used"),
        ("c249010000000000000000", "tags are not used"),
        ("d81c80", "tags are not used"),
        ("d9d9f701", "tags are not used"),
        ("61ff", "utf-8"),
        ("63eda080", "utf-8"),
        ("ff", "break"),
        ("1c", "subtype"),
        ("f801", "simple value"),
        ("0102", "more bytes after it"),
    ],
)
def test_what_is_no_plain_cbor_is_refused_with_a_reason(body: str, text: str) -> None:
    with pytest.raises(WireError, match=text) as caught:
        load_item(bytes.fromhex(body), "Body")
    assert caught.value.code == "malformed"
    assert caught.value.text.startswith("Body: ")
