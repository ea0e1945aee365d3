"""Which attributes a publication may have; the hand-made CBOR equals the library's."""

import math
from enum import StrEnum

import cbor2
import pytest
from hypothesis import example, given

from broker.filters.constraints import Value
from broker.wire import DEFAULT_LIMITS, WireError
from broker.wire import attributes as module
from broker.wire.attributes import check_attributes, encode_attributes, known_names
from tests.broker.wire.strategies import attributes


class Colour(StrEnum):
    RED = "red"


@given(attributes)
@example({"a": "é" * 127 + "x"})
@example({"a": "x" * 255})
@example({"a": "x" * 256})
@example({"a": 2**32 - 1, "b": 2**32, "c": -1, "d": 0})
@example({f"a{place}": place for place in range(23)})
@example({f"a{place}": place for place in range(24)})
@example({f"a{place}": place for place in range(256)})
def test_attributes_survive_encoding(some: dict[str, Value]) -> None:
    for _ in range(2):
        # The second time every name is known.
        decoded = cbor2.loads(encode_attributes(some))
        assert decoded == some
        assert list(map(type, decoded.values())) == list(map(type, some.values()))
        assert list(decoded) == list(some)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_floating_numbers_need_not_be_finite(value: float) -> None:
    assert repr(cbor2.loads(encode_attributes({"x": value}))["x"]) == repr(value)


@pytest.mark.parametrize("name", ["x", "_", "kind", "a.b", "a.b1._c", "größe", "x" * 255, "class"])
def test_names_are_identifiers_joined_by_dots(name: str) -> None:
    assert cbor2.loads(encode_attributes({name: 1})) == {name: 1}


@pytest.mark.parametrize("name", ["", ".", "a.", ".a", "a..b", "a b", "1a", "a-b", "a.1", "a\n"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(WireError, match="expected names of identifiers joined by dots") as caught:
        encode_attributes({"fine": 1, name: 1})
    assert caught.value.code == "malformed"


def test_a_name_of_more_than_255_bytes_is_refused() -> None:
    with pytest.raises(WireError, match="at most 255 bytes of text are taken, got 256") as caught:
        encode_attributes({"ü" * 128: 1})
    assert caught.value.code == "oversize"


@pytest.mark.parametrize(
    ("value", "got"),
    [
        (b"x", "bytes"),
        ((1, 2), "tuple"),
        ({1}, "set"),
        (Colour.RED, "Colour"),
        (cbor2.undefined, "UndefinedType"),
        ("\ud800", "text"),
    ],
)
def test_other_values_are_refused_with_the_name_of_the_attribute(value: object, got: str) -> None:
    with pytest.raises(WireError, match=rf"Publication\.attributes\[x\]: expected .*, got {got}$"):
        encode_attributes({"x": value})  # type: ignore[dict-item]  # that is the point


REFUSED_INSIDE: list[tuple[object, str, str]] = [
    ([b"x"], "malformed", "attributes[x][0]: expected text, a truth value, a number, null, a list or a map"),
    ({"a": {"b": (1,)}}, "malformed", "attributes[x][a][b]: expected text"),
    ([{"a": 2**63}], "oversize", "attributes[x][0][a]: expected a whole number of 64 bits"),
    (["\ud800"], "malformed", "attributes[x][0]: expected text that UTF-8 can carry"),
    ([["x" * 65537]], "oversize", "attributes[x][0][0]: at most 65536 bytes of text are taken, got 65537"),
    ({"": 1}, "malformed", "attributes[x]: expected keys of 1 to 255 bytes, got an empty one"),
    ({"ü" * 128: 1}, "oversize", "attributes[x]: key: at most 255 bytes of text are taken, got 256"),
    ({1: 1}, "malformed", "attributes[x]: key: expected text, got a number"),
    ([[[[[[[[[]]]]]]]]], "oversize", "at most 8 levels of lists and maps are taken, got 9"),
    ([0] * 1025, "oversize", "attributes: at most 1024 values in lists and maps are taken, got 1025"),
    ([[0] * 512, [0] * 511], "oversize", "at most 1024 values in lists and maps are taken, got 1025"),
]


@pytest.mark.parametrize(("value", "code", "words"), REFUSED_INSIDE)
def test_what_is_inside_is_refused_with_its_place(value: object, code: str, words: str) -> None:
    for check in (encode_attributes, lambda each: check_attributes(each, DEFAULT_LIMITS)):
        with pytest.raises(WireError) as caught:
            check({"x": value})  # type: ignore[dict-item]  # that is the point
        assert caught.value.code == code
        assert words in caught.value.text


def test_a_value_within_itself_is_refused() -> None:
    endless: list[Value] = []
    endless.append(endless)
    with pytest.raises(WireError, match="at most 8 levels"):
        encode_attributes({"x": endless})


def test_values_of_several_attributes_count_together() -> None:
    encode_attributes({"x": [0] * 512, "y": [0] * 512})
    with pytest.raises(WireError, match="at most 1024 values in lists and maps are taken, got 1025"):
        encode_attributes({"x": [0] * 512, "y": [0] * 513})


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 2**64])
def test_whole_numbers_have_64_bits_with_sign(value: int) -> None:
    with pytest.raises(WireError, match=r"attributes\[x\]: expected a whole number of 64 bits") as caught:
        encode_attributes({"x": value})
    assert caught.value.code == "oversize"


def test_a_name_that_is_not_text_is_refused() -> None:
    with pytest.raises(WireError, match="name: expected text, got bytes"):
        check_attributes({b"x": 1}, DEFAULT_LIMITS)  # type: ignore[dict-item]  # that is the point


def test_a_text_may_have_64_kib() -> None:
    assert len(encode_attributes({"x": "x" * 65536})) > 65536
    with pytest.raises(WireError, match="at most 65536 bytes of text are taken, got 65537"):
        encode_attributes({"x": "x" * 65537})


def test_there_are_at_most_256_attributes() -> None:
    with pytest.raises(WireError, match="at most 256 attributes are taken, got 257"):
        encode_attributes({f"a{place}": 1 for place in range(257)})


def test_all_attributes_together_have_at_most_256_kib() -> None:
    with pytest.raises(WireError, match="at most 262144 bytes are taken, got"):
        encode_attributes({f"a{place}": "x" * 65536 for place in range(4)})


def test_so_many_names_are_remembered_and_no_more() -> None:
    for place in range(3 * module._KNOWN_NAMES_COUNT):
        encode_attributes({f"b{place}": 1, f"c{place}": 2})
        assert len(known_names) <= module._KNOWN_NAMES_COUNT
        assert len(module.encoded_names) <= module._KNOWN_NAMES_COUNT
