"""Objects as events: what is written is read back, by classes of every kind; what cannot be says where."""

from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, Literal, NewType, final
from uuid import UUID

import attrs
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.client.objects import attributes_of, object_of
from broker.errors import EventTypeError, InvalidPublicationError, UnreadableEventError
from broker.filters import FilterError
from broker.objects import SchemaCheck, filter_of, promise_of, register, schema_of
from broker.objects.registry import Registry
from broker.wire import encode_publication, publication_prefix

Sku = NewType("Sku", str)


class Side(Enum):
    BUY = "buy"
    SELL = "sell"


class Venue(Enum):
    HERE = ("x", 1)
    THERE = ("y", 2)


@attrs.frozen
class Item:
    sku: Sku
    qty: int = 1


@register(name="tests.Event")
@attrs.frozen(kw_only=True)
class Happening:
    at: datetime | None = None


@register
@attrs.frozen(kw_only=True, slots=False)
class Tagged:
    tags: frozenset[str] = frozenset()


@register(name="tests.Order")
@attrs.frozen(kw_only=True)
class Order(Happening):
    id: int
    side: Side = Side.BUY
    venue: Venue = Venue.HERE
    items: list[Item] = attrs.field(factory=list)
    limits: dict[str, float] = attrs.field(factory=dict)
    pair: tuple[int, str] = (0, "")
    day: date | None = None
    key: UUID | None = None
    price: Decimal = Decimal(0)
    size: Literal["s", "l"] | int = "s"
    parent: "Order | None" = None
    extra: Any = None
    _secret: str = ""
    length: int = attrs.field(init=False)

    @length.default
    def _length(self) -> int:
        return len(self.items)


@register(name="tests.Gift")
@attrs.frozen(kw_only=True)
class Gift(Order, Tagged):
    note: str = ""


@register(name="tests.Alert")
@dataclass
class Alert:
    level: int
    text: str = ""
    order: Order | None = None
    seen: list[bool] = field(default_factory=list)


class Place(pydantic.BaseModel):  # type: ignore[misc]  # checks do not look into pydantic
    name: str


@register(name="tests.Reading")
class Measured(pydantic.BaseModel):  # type: ignore[misc]  # as above
    celsius: float = pydantic.Field(gt=-274)
    sensor: str = pydantic.Field(alias="sensorId")
    places: list[Place] = []
    at: datetime | None = None


CHECKS: dict[type, SchemaCheck] = {each: SchemaCheck.of(schema_of(each)) for each in (Order, Gift, Alert)}

orders = st.builds(
    Order,
    id=st.integers(-(2**63), 2**63 - 1),
    at=st.none() | st.datetimes() | st.datetimes(timezones=st.just(UTC)),
    side=st.sampled_from(Side),
    venue=st.sampled_from(Venue),
    items=st.lists(st.builds(Item, st.text(max_size=5), st.integers(0, 9)), max_size=3),
    limits=st.dictionaries(st.text(min_size=1, max_size=5), st.floats(allow_nan=False), max_size=3),
    pair=st.tuples(st.integers(0, 9), st.text(max_size=5)),
    day=st.none() | st.dates(),
    key=st.none() | st.uuids(),
    price=st.decimals(allow_nan=False),
    size=st.sampled_from(["s", "l", 3]),
    secret=st.text(max_size=5),
)


@settings(max_examples=20)
@given(orders, st.none() | orders, st.frozensets(st.text(max_size=3), max_size=3))
def test_what_is_written_is_read_back(order: Order, parent: Order | None, tags: frozenset[str]) -> None:
    gift = Gift(tags=tags, **{**_fields(order), "parent": parent})
    for each in (order, gift, Alert(1, "x", gift, [True])):
        attributes = attributes_of(each)
        encode_publication(publication_prefix("p"), 1, 0, attributes, b"", True)
        assert object_of(attributes) == each
        assert CHECKS[type(each)].failing(attributes) == ""


def _fields(order: Order) -> dict[str, Any]:
    return {each.alias or "": getattr(order, each.name) for each in attrs.fields(Order) if each.init}


def test_an_event_lists_its_types_and_comes_as_the_nearest_that_is_known() -> None:
    attributes = attributes_of(Gift(id=1, note="for you", tags=frozenset({"b", "a"})))
    names = ["tests.Gift", "tests.Order", "tests.Event", "Tagged"]
    assert attributes["types"] == [text for name in names for text in (f"{name}@1", name)]
    assert attributes["tags"] == ["a", "b"]
    unknown = {**attributes, "types": ["Wrapped@3", "Wrapped", *attributes["types"][2:]]}
    assert type(object_of(unknown)) is Order
    assert object_of(unknown, Tagged) == Tagged(tags=frozenset({"a", "b"}))
    with pytest.raises(UnreadableEventError, match="none of them is known here"):
        object_of(unknown, Alert)
    for base in (Gift, Order, Happening, Tagged):
        assert filter_of(base).match(attributes)
    assert not filter_of(Alert).match(attributes)


def test_a_final_class_is_advertised_as_itself_and_its_bases() -> None:
    @register(name="tests.Last")
    @final
    @attrs.frozen(kw_only=True)
    class Last(Order):
        pass

    promise = promise_of(Last, "id > 0")
    assert promise.match(attributes_of(Last(id=1)))
    assert not promise.match(attributes_of(Last(id=0)))
    assert [promise.overlaps(filter_of(each)) for each in (Last, Order, Happening, Gift, Alert)] == [
        True, True, True, False, False,
    ]  # fmt: skip
    assert promise_of(Order).overlaps(filter_of(Alert))


def test_versions_stand_side_by_side() -> None:
    registry = Registry()

    @attrs.frozen
    class Old:
        price: float

    @attrs.frozen
    class New:
        price: float
        currency: str = "EUR"

    registry.register(Old, "Trade", 1)
    registry.register(New, "Trade", 2)
    assert registry.attributes_of(New(1.5))["types"] == ["Trade@2", "Trade"]
    assert registry.object_of(registry.attributes_of(Old(1.0)), object) == Old(1.0)
    assert registry.object_of({"types": ["Trade@2"], "price": 2}, object) == New(2.0)
    with pytest.raises(EventTypeError, match="both registered as Trade@1: give one of them another"):
        registry.register(Item, "Trade", 1)


def test_pydantic_models_keep_their_own_rules() -> None:
    reading = Measured(celsius=20, sensorId="s1", places=[Place(name="a")])
    attributes = attributes_of(reading)
    assert attributes["sensor"] == "s1"
    assert object_of(attributes, Measured) == reading
    with pytest.raises(UnreadableEventError, match=r"Measured: the class refuses the event: ValidationError"):
        object_of({**attributes, "celsius": -300.0})


def test_a_value_that_does_not_fit_is_refused_with_its_place() -> None:
    wrong: Any = "five"
    order = Order(id=1, items=[Item(Sku("a")), Item(Sku("b"), wrong)])
    with pytest.raises(
        InvalidPublicationError, match=r"Order.items\[1\].qty: expected a whole number, got 'fi"
    ):
        attributes_of(order)
    with pytest.raises(InvalidPublicationError, match=r"Order.side: expected a member of Side, got 'buy'"):
        attributes_of(Order(id=1, side="buy"))  # type: ignore[arg-type]  # that is wrong
    with pytest.raises(InvalidPublicationError, match="Item is not registered"):
        attributes_of(Item(Sku("a")))
    attributes = attributes_of(Order(id=1))
    with pytest.raises(UnreadableEventError, match=r"Order.id: it is absent from the event"):
        object_of({name: value for name, value in attributes.items() if name != "id"})
    with pytest.raises(
        UnreadableEventError, match=r"Order.at: expected the text of a datetime or None, got 'n"
    ):
        object_of({**attributes, "at": "now"})


@pytest.mark.parametrize(
    ("annotation", "complaint"),
    [
        (bytes, "Broken.part: bytes has no place in an event"),
        (dict[int, str], r"Broken.part: dict has no place"),
        (list[complex], r"Broken.part: list has no place"),
    ],
)
def test_a_class_that_cannot_be_mapped_is_refused_when_it_is_registered(
    annotation: Any, complaint: str
) -> None:
    broken = attrs.make_class("Broken", {"part": attrs.field(type=annotation)})
    with pytest.raises(EventTypeError, match=complaint):
        Registry().register(broken, "", 1)


def test_a_class_without_fields_or_with_a_name_that_is_taken_is_refused() -> None:
    with pytest.raises(EventTypeError, match="int is no attrs class, dataclass or pydantic model"):
        register(int)
    taken = attrs.make_class("Broken", {"types": attrs.field(type=list[str])})
    with pytest.raises(EventTypeError, match=r"Broken.types: this name is taken"):
        register(taken)
    with pytest.raises(EventTypeError, match="a version is 1 or more"):
        register(Item, version=0)
    with pytest.raises(EventTypeError, match="'a b' is no name of a type"):
        register(Item, name="a b")


@pytest.mark.parametrize(
    "where",
    [
        "id > 5 and side == 'buy'",
        "any(i.sku == 'A7' and i.qty > 2 for i in items) or len(items) > 3",
        "parent.parent.id == 1 and limits.eur > 1 and extra.deep == 1",
        "at.startswith('2026') and exists(day) and not 'x' in types",
    ],
)
def test_a_filter_of_a_class_may_name_its_fields(where: str) -> None:
    assert filter_of(Order, where).overlaps(filter_of(Order))


@pytest.mark.parametrize(
    ("where", "column", "complaint"),
    [
        ("id > 5 and prize < 3", 12, "Order has no field 'prize'; it has at, id, side"),
        (
            "any(i.sku == 'A' and i.quantity > 2 for i in items)",
            22,
            "i has no field 'quantity'; it has sku, qty",
        ),
        ("  parent.nothing == 1", 3, "parent has no field 'nothing'"),
        ("tags.startswith('a')", 1, "Order has no field 'tags'"),
        ("all(x > 1 for x in lists)", 20, "Order has no field 'lists'"),
        ("id >", 5, ""),
    ],
)
def test_a_filter_that_names_no_field_is_an_error_with_its_column(
    where: str, column: int, complaint: str
) -> None:
    with pytest.raises(FilterError) as caught:
        filter_of(Order, where)
    assert caught.value.column == column
    assert complaint in caught.value.reason


def test_a_schema_says_what_does_not_fit_and_where() -> None:
    check = SchemaCheck.of(schema_of(Alert))
    attributes: dict[str, Any] = attributes_of(Alert(1, order=Order(id=1, items=[Item(Sku("a"))])))
    assert check.fits(attributes)
    attributes["order"]["items"][0]["qty"] = "x"
    assert not check.fits(attributes)
    assert check.failing(attributes) == "$.order.items[0].qty: 'x' is not of type 'integer'"
    with pytest.raises(EventTypeError, match=r"this is no JSON Schema, at \$.type"):
        SchemaCheck.of({"type": 5})
