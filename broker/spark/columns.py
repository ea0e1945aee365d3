"""Events as rows of a schema, and rows as events.

A column has the attribute of its name, or what that path leads to in maps; columns in `OWN`, which begin with
an underscore, have what else there is of an event. An attribute that is absent, or does not fit its column,
is null. Of a row, the columns that are not null are the attributes of its event.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from pyspark.sql import types as t

from broker.client.delivery import Delivery, Gap
from broker.filters.values import flattened

DEFAULT: Final = (
    "_publisher STRING, _sequence BIGINT, _position BIGINT, _published_at TIMESTAMP, _attributes STRING, "
    "_payload BINARY"
)
"""The columns of a source that is given no schema."""

GAP: Final = "_gap"
PAYLOAD: Final = "_payload"
ORDERED: Final = "_ordered"

Convert = Callable[[Any], Any]
_Own = Callable[[Delivery, str], object]


def _json(delivery: Delivery) -> str:
    from broker.commands.lines import to_json  # noqa: PLC0415 - it loads Trio, which tasks do not need

    return to_json(delivery.attributes)


OWN: Final[Mapping[str, tuple[type[t.DataType], _Own]]] = {
    "_publisher": (t.StringType, lambda delivery, _: delivery.publisher),
    "_sequence": (t.LongType, lambda delivery, _: delivery.sequence),
    "_position": (t.LongType, lambda delivery, _: delivery.position),
    "_published_at": (
        t.TimestampType,
        lambda delivery, _: datetime.fromtimestamp(delivery.published_at, UTC),
    ),
    "_attributes": (t.StringType, lambda delivery, _: _json(delivery)),
    PAYLOAD: (t.BinaryType, lambda delivery, _: delivery.payload),
    ORDERED: (t.BooleanType, lambda delivery, _: delivery.ordered),
    "_filter": (t.StringType, lambda _, filter_text: filter_text),
    GAP: (t.StringType, lambda *_: None),
    "_gap_count": (t.LongType, lambda *_: None),
}
"""The columns that are no attributes: their types, and how each follows from a delivery and its filter."""

_WHOLE_BITS: Final = {t.ByteType: 8, t.ShortType: 16, t.IntegerType: 32, t.LongType: 64}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _truth(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _whole(limit: int, value: object) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return value if is_whole and isinstance(value, int) and -limit <= value < limit else None


def _list(element: Convert, value: object) -> list[object] | None:
    return [element(each) for each in value] if isinstance(value, list | tuple) else None


def _map(element: Convert, value: object) -> dict[object, object] | None:
    return {name: element(each) for name, each in value.items()} if isinstance(value, Mapping) else None


def _struct(fields: Sequence[tuple[str, Convert]], value: object) -> tuple[object, ...] | None:
    return tuple(each(value.get(name)) for name, each in fields) if isinstance(value, Mapping) else None


_PLAIN: Final[Mapping[type[t.DataType], Convert]] = {
    t.StringType: _text,
    t.BooleanType: _truth,
    t.FloatType: _number,
    t.DoubleType: _number,
    **{kind: partial(_whole, 1 << (bits - 1)) for kind, bits in _WHOLE_BITS.items()},
}


def converter(kind: t.DataType) -> Convert:
    """Return the function that makes an attribute fit a column, or null.

    Raises:
        ValueError: no attribute fits such a column.
    """
    if (plain := _PLAIN.get(type(kind))) is not None:
        return plain
    if isinstance(kind, t.ArrayType):
        return partial(_list, converter(kind.elementType))
    if isinstance(kind, t.MapType) and isinstance(kind.keyType, t.StringType):
        return partial(_map, converter(kind.valueType))
    if isinstance(kind, t.StructType):
        return partial(_struct, [(each.name, converter(each.dataType)) for each in kind.fields])
    raise ValueError(
        f"attributes are texts, numbers, truth values, lists and maps, and never {kind.simpleString()}"
    )


class RowShape:
    """How events become rows of one schema."""

    def __init__(self, schema: t.StructType) -> None:
        """Look at the columns.

        Raises:
            ValueError: a column can have nothing of an event; the message names it.
        """
        self._names = [each.name for each in schema.fields]
        self._cells = [_cell(each) for each in schema.fields]

    @property
    def has_gaps(self) -> bool:
        """Whether a row can say that events are missing."""
        return GAP in self._names

    def row(self, delivery: Delivery, filter_text: str) -> tuple[object, ...]:
        """Return the row of a delivery."""
        return tuple([cell(delivery, filter_text) for cell in self._cells])

    def gap_row(self, gap: Gap, position: int, filter_text: str) -> tuple[object, ...]:
        """Return the row of a gap, whose last position is given."""
        known = {GAP: gap.reason, "_gap_count": gap.count, "_position": position, "_filter": filter_text}
        return tuple(known.get(name) for name in self._names)


def _cell(column: t.StructField) -> _Own:
    own = OWN.get(column.name)
    if own is not None:
        if not isinstance(column.dataType, own[0]):
            raise ValueError(f"column {column.name}: expected {own[0]().simpleString()}")
        return own[1]
    try:
        convert = converter(column.dataType)
    except ValueError as error:
        raise ValueError(f"column {column.name}: {error}") from None
    name = column.name
    if "." in name:
        return lambda delivery, _: convert(flattened(delivery.attributes).get(name))
    return lambda delivery, _: convert(delivery.attributes.get(name))


OutgoingEvent = tuple[dict[str, Any], bytes, bool]
"""Attributes, payload, and whether its order matters."""


class EventShape:
    """How rows of one schema become events."""

    def __init__(self, schema: t.StructType) -> None:
        """Look at the columns.

        Raises:
            ValueError: a column can be no attribute; the message names it.
        """
        self._attributes = [each.name for each in schema.fields if each.name not in {PAYLOAD, ORDERED}]
        self._has = {each.name for each in schema.fields}
        for each in schema.fields:
            if each.name in self._attributes:
                _check_attribute(each)

    def events(self, rows: Iterator[t.Row]) -> Iterator[OutgoingEvent]:
        """Yield an event for each row."""
        for row in rows:
            attributes = {name: _plain(row[name]) for name in self._attributes if row[name] is not None}
            payload = row[PAYLOAD] if PAYLOAD in self._has else None
            is_ordered = row[ORDERED] if ORDERED in self._has else None
            content = payload.encode() if isinstance(payload, str) else bytes(payload or b"")
            yield attributes, content, is_ordered is not False


def _check_attribute(column: t.StructField) -> None:
    if column.name in OWN:
        raise ValueError(f"column {column.name}: brokers set it, drop or rename it")
    try:
        converter(column.dataType)
    except ValueError as error:
        raise ValueError(f"column {column.name}: {error}; cast it") from None


def _plain(value: object) -> object:
    """Return a value of a row as an attribute has it."""
    if isinstance(value, t.Row):
        return {name: _plain(each) for name, each in value.asDict().items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return value
