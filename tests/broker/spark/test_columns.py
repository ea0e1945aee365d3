from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import Row
from pyspark.sql import types as t

from broker.client.delivery import Delivery, Gap
from broker.spark.columns import OWN, EventShape, RowShape, converter
from broker.wire import encode_publication, publication_prefix

DELIVERY = Delivery(
    encode_publication(
        publication_prefix("p"),
        7,
        1_500_000_000,
        {"n": 3, "x": float("nan"), "at.b": "é", "box": {"w": [1, None]}},
        b"bytes",
        True,
    ),
    12,
)


INT, TEXT = t.IntegerType(), t.StringType()


def schema(**columns: t.DataType) -> t.StructType:
    own = {name: kind() for name, (kind, _) in OWN.items()}
    return t.StructType([t.StructField(name, kind) for name, kind in {**columns, **own}.items()])


def alone(**columns: t.DataType) -> t.StructType:
    return t.StructType([t.StructField(name, kind) for name, kind in columns.items()])


def test_columns_have_attributes_and_what_else_there_is() -> None:
    columns = schema(**{"n": INT, "at.b": TEXT, "nothing": TEXT, "box.w": t.ArrayType(INT)})
    row = dict(zip(columns.names, RowShape(columns).row(DELIVERY, "n > 2"), strict=True))
    assert row == {
        "n": 3,
        "at.b": "é",
        "nothing": None,
        "box.w": [1, None],
        "_publisher": "p",
        "_sequence": 7,
        "_position": 12,
        "_filter": "n > 2",
        "_ordered": True,
        "_published_at": datetime.fromtimestamp(1.5, UTC),
        "_payload": b"bytes",
        "_attributes": '{"n": 3, "x": null, "at.b": "é", "box": {"w": [1, null]}}',
        "_gap": None,
        "_gap_count": None,
    }


def test_a_gap_is_a_row_of_its_own() -> None:
    columns = schema(n=INT)
    shape = RowShape(columns)
    assert shape.has_gaps
    row = dict(zip(columns.names, shape.gap_row(Gap(4, "bound"), 16, "f"), strict=True))
    assert {name: value for name, value in row.items() if value is not None} == {
        "_gap": "bound",
        "_gap_count": 4,
        "_position": 16,
        "_filter": "f",
    }


@pytest.mark.parametrize(
    ("kind", "value", "found"),
    [
        (TEXT, "a", "a"),
        (TEXT, 1, None),
        (INT, 2**31 - 1, 2**31 - 1),
        (INT, 2**31, None),
        (INT, 3.0, 3),
        (t.LongType(), 3.5, None),
        (t.LongType(), True, None),
        (t.DoubleType(), 3, 3.0),
        (t.DoubleType(), True, None),
        (t.BooleanType(), True, True),
        (t.BooleanType(), 1, None),
        (t.ArrayType(INT), [1, "a"], [1, None]),
        (t.MapType(TEXT, t.DoubleType()), {"a": 1}, {"a": 1.0}),
        (alone(a=INT, b=TEXT), {"a": 1}, (1, None)),
        (t.ArrayType(INT), "a", None),
    ],
)
def test_a_value_that_does_not_fit_its_column_is_null(kind: t.DataType, value: Any, found: Any) -> None:
    fits = converter(kind)(value)
    assert fits == found
    assert type(fits) is type(found)


@pytest.mark.parametrize(
    ("name", "kind"), [("at", t.TimestampType()), ("_sequence", TEXT), ("m", t.MapType(INT, INT))]
)
def test_a_column_that_can_have_nothing_of_an_event_is_refused(name: str, kind: t.DataType) -> None:
    with pytest.raises(ValueError, match=f"column {name}: "):
        RowShape(alone(**{name: kind}))


def test_what_is_not_null_in_a_row_is_an_attribute() -> None:
    inner = alone(x=INT, y=t.ArrayType(INT))
    shape = EventShape(alone(a=INT, b=inner, c=TEXT, _payload=TEXT, _ordered=t.BooleanType()))
    rows = [
        Row(a=1, b=Row(x=1, y=[2]), c=None, _payload="é", _ordered=False),
        Row(a=0, b=None, c="", _payload=None, _ordered=None),
    ]
    assert [*shape.events(iter(rows))] == [
        ({"a": 1, "b": {"x": 1, "y": [2]}}, "é".encode(), False),
        ({"a": 0, "c": ""}, b"", True),
    ]


@pytest.mark.parametrize(("name", "kind"), [("at", t.TimestampType()), ("_publisher", TEXT)])
def test_a_column_that_can_be_no_attribute_is_refused(name: str, kind: t.DataType) -> None:
    with pytest.raises(ValueError, match=f"column {name}: "):
        EventShape(alone(**{name: kind}))
