"""Fields of messages: each attrs type has its way to CBOR and back, with every check.

Laws:

* What `read_fields` accepts is what `write_fields` can produce. A message class needs nothing but its attrs
  types; the few fields that have a larger limit or only some values are named in a table here.
* A plain value (a truth value, a number in bounds, a short text in ASCII) is its own form on the wire, and is
  taken without a call. Everything else is for its field's `read`, which raises an error that names the fault.
* A field that is an object of fields itself is written as its own fields, in order.
"""

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any, Final

import attrs
from attrs import frozen

from broker.filters import Filter, FilterError, parse
from broker.healing.roster import Location
from broker.routing.strategy import RouteFilter
from broker.wire.errors import MALFORMED, OVERSIZE, WireError, malformed, oversize
from broker.wire.header import HEADER, LENGTH_BYTES, PUBLICATION
from broker.wire.limits import MAX_NUMBER, WireLimits

Read = Callable[[object, str, WireLimits], object]
Write = Callable[[Any], object]

METHODS: Final = ("end", "path", "reattach")
"""How a broker moves, or that it ends."""

CHOICES: Final = {
    "Hello.role": ("client", "broker"),
    "Subscribe.policy": ("disconnect", "drop"),
    "Explain.about": ("waiting", "way", "durable", "uplinks", "brokers", "traffic"),
    "AttachAnswer.verdict": ("granted", "cycle", "duplicate"),
    "Move.method": METHODS,
    "MoveAsked.method": METHODS,
    "LiftedRoutes.part": ("advertised", "wants", "announced", "added"),
    "LiftedIds.part": ("knows", "ended", "brokers"),
}
"""Text fields that take one of a few words."""

LOCATION_FIELDS: Final = len(attrs.fields(Location))
ROUTE_FILTER_FIELDS: Final = len(attrs.fields(RouteFilter))

PROSE: Final = frozenset(
    {
        "Hello.token",
        "Fault.text",
        "Advertise.filter",
        "Discover.filter",
        "Subscribe.filter",
        "Refused.text",
        "Ended.text",
        "StepRefused.text",
        "StepFailed.text",
    }
)
"""Text fields that may be as long as a filter; all others are names, ids and codes."""


@frozen
class Field:
    """One field of a message on its way to CBOR and back.

    Values of the type `plain` go both ways as they are; texts have the bound of that name in `WireLimits`.
    """

    name: str
    get: Callable[[object], Any]
    write: Write | None
    read: Read
    plain: type | None = None
    bound: str = "id_bytes"


def fields_of(message: type[attrs.AttrsInstance]) -> tuple[Field, ...]:
    """The fields of a message class in their order on the wire."""
    return tuple(_fields(message.__name__, message, ""))


def _fields(message: str, owner: type[attrs.AttrsInstance], prefix: str) -> Iterator[Field]:
    for each in attrs.fields(owner):
        name, declared = prefix + each.name, each.type
        if declared not in _CODECS and isinstance(declared, type) and attrs.has(declared):
            yield from _fields(message, declared, f"{name}.")
        else:
            yield _field(f"{message}.{name}", name, declared)


def _field(where: str, name: str, declared: object) -> Field:
    get = attrgetter(name)
    if where in CHOICES:
        return Field(name, get, None, _read_choice(CHOICES[where]))
    if where in PROSE:
        return Field(name, get, None, read_prose, str, "prose_bytes")
    if declared not in _CODECS:
        raise TypeError(f"{where}: no way to put {declared} into a frame; add one to _CODECS")
    write, read = _CODECS[declared]
    return Field(name, get, write, read, declared if declared in _PLAIN else None)


def write_fields(fields: Sequence[Field], message: object) -> list[object]:
    """Return the fields of a message as values for CBOR."""
    values: list[object] = []
    for each in fields:
        value = each.get(message)
        values.append(value if each.write is None else each.write(value))
    return values


def read_fields(
    fields: Sequence[Field], items: Sequence[object], where: str, limits: WireLimits
) -> list[Any]:
    """Return the values of the fields; there are as many items as fields.

    Raises:
        WireError: an item is no value of its field.
    """
    values: list[Any] = []
    for each, item in zip(fields, items, strict=True):
        if type(item) is str:
            is_plain = each.plain is str and item.isascii() and len(item) <= getattr(limits, each.bound)
        elif type(item) is int:
            is_plain = each.plain is int and 0 <= item <= MAX_NUMBER
        else:
            is_plain = type(item) is each.plain
        values.append(item if is_plain else each.read(item, f"{where}.{each.name}", limits))
    return values


def read_text(value: object, where: str, limit_bytes: int) -> str:
    """Take text of at most so many bytes."""
    if type(value) is not str:
        raise malformed(where, "text", value)
    try:
        size = len(value) if value.isascii() else len(value.encode())
    except UnicodeEncodeError:
        raise malformed(where, "text that UTF-8 can carry", value) from None
    if size > limit_bytes:
        raise oversize(where, limit_bytes, "bytes of text", size)
    return value


def read_id(value: object, where: str, limits: WireLimits) -> str:
    """Take a name, an id or a code."""
    return read_text(value, where, limits.id_bytes)


def read_prose(value: object, where: str, limits: WireLimits) -> str:
    """Take a filter as its user wrote it, an error's text, or a token."""
    return read_text(value, where, limits.prose_bytes)


def read_number(value: object, where: str, _: WireLimits) -> int:
    """Take a count, a number of a request, a size."""
    if type(value) is not int or value < 0:
        raise malformed(where, "a whole number of 0 or more", value)
    if value > MAX_NUMBER:
        raise WireError(OVERSIZE, f"{where}: expected a number of at most 2**63 - 1")
    return value


def read_truth(value: object, where: str, _: WireLimits) -> bool:
    """Take true or false; a number is neither."""
    if type(value) is not bool:
        raise malformed(where, "a truth value", value)
    return value


def read_filter(value: object, where: str, limits: WireLimits) -> Filter:
    """Take a filter in canonical text."""
    text = read_prose(value, where, limits)
    try:
        return parse(text)
    except FilterError as error:
        raise WireError(MALFORMED, f"{where}: expected a filter: {error}") from None


def read_ids(value: object, where: str, limits: WireLimits) -> frozenset[str]:
    """Take a set of ids; on the wire an array without repeats."""
    listed = [read_id(each, f"{where}[{index}]", limits) for index, each in enumerate(_array(value, where))]
    ids = frozenset(listed)
    if len(ids) != len(listed):
        raise WireError(MALFORMED, f"{where}: expected every id once, got one twice")
    return ids


def read_routes(value: object, where: str, limits: WireLimits) -> tuple[tuple[str, Filter], ...]:
    """Take pairs of an id and a filter."""
    return tuple(
        _read_route(each, f"{where}[{index}]", limits) for index, each in enumerate(_array(value, where))
    )


def _read_route(value: object, where: str, limits: WireLimits) -> tuple[str, Filter]:
    id_, text = _pair(value, where)
    return read_id(id_, where, limits), read_filter(text, where, limits)


def _pair(value: object, where: str) -> list[object]:
    pair = _array(value, where)
    if len(pair) != 2:  # noqa: PLR2004 - a pair has two
        raise WireError(MALFORMED, f"{where}: expected an id and a filter, got {len(pair)} items")
    return pair


def read_offers(value: object, where: str, limits: WireLimits) -> tuple[tuple[str, str], ...]:
    """Take pairs of an id and the text of a filter, which is not read."""
    return tuple(
        _read_offer(each, f"{where}[{index}]", limits) for index, each in enumerate(_array(value, where))
    )


def _read_offer(value: object, where: str, limits: WireLimits) -> tuple[str, str]:
    id_, text = _pair(value, where)
    return read_id(id_, where, limits), read_prose(text, where, limits)


def read_route_filters(value: object, where: str, limits: WireLimits) -> tuple[RouteFilter, ...]:
    """Take routes, each with an id of its own."""
    routes = tuple(
        _read_route_filter(each, f"{where}[{index}]", limits)
        for index, each in enumerate(_array(value, where))
    )
    if len({route.id for route in routes}) != len(routes):
        raise WireError(MALFORMED, f"{where}: expected every id once, got one twice")
    return routes


def _read_route_filter(value: object, where: str, limits: WireLimits) -> RouteFilter:
    items = _array(value, where)
    if len(items) != ROUTE_FILTER_FIELDS:
        raise WireError(MALFORMED, f"{where}: expected {ROUTE_FILTER_FIELDS} fields, got {len(items)}")
    id_, content, ordered = items
    return RouteFilter(
        read_id(id_, where, limits), read_filter(content, where, limits), read_truth(ordered, where, limits)
    )


def read_locations(value: object, where: str, limits: WireLimits) -> tuple[Location, ...]:
    """Take the locations of brokers."""
    return tuple(
        _read_location(each, f"{where}[{index}]", limits) for index, each in enumerate(_array(value, where))
    )


def _read_location(value: object, where: str, limits: WireLimits) -> Location:
    items = _array(value, where)
    if len(items) != LOCATION_FIELDS:
        raise WireError(MALFORMED, f"{where}: expected {LOCATION_FIELDS} fields, got {len(items)}")
    name, version, address, uplink = items
    return Location(
        read_id(name, where, limits),
        read_number(version, where, limits),
        read_id(address, where, limits),
        read_id(uplink, where, limits),
    )


def read_numbers(value: object, where: str, limits: WireLimits) -> tuple[int, ...]:
    """Take the numbers of an ordering message."""
    numbers = _array(value, where)
    if len(numbers) > limits.number_count:
        raise oversize(where, limits.number_count, "numbers", len(numbers))
    if not numbers:
        return ()
    return tuple([read_number(each, f"{where}[{index}]", limits) for index, each in enumerate(numbers)])


def read_lines(value: object, where: str, limits: WireLimits) -> tuple[str, ...]:
    """Take lines of text for a person or a program to read."""
    return tuple(
        read_prose(each, f"{where}[{index}]", limits) for index, each in enumerate(_array(value, where))
    )


def read_frames(value: object, where: str, limits: WireLimits) -> tuple[bytes, ...]:
    """Take whole publication frames, each a byte string with a plain header; what is in them is not read."""
    return tuple(
        _read_frame(each, f"{where}[{index}]", limits) for index, each in enumerate(_array(value, where))
    )


def _read_frame(value: object, where: str, limits: WireLimits) -> bytes:
    if type(value) is not bytes or len(value) < HEADER.size:
        raise malformed(where, "a whole publication frame", value)
    length, kind, flags = HEADER.unpack_from(value)
    if length > limits.publication_frame_bytes:
        raise oversize(where, limits.publication_frame_bytes, "bytes", length)
    if length + LENGTH_BYTES != len(value) or kind != PUBLICATION or flags > 1:
        raise WireError(MALFORMED, f"{where}: expected a whole publication frame with no mark")
    return value


def _array(value: object, where: str) -> list[object]:
    if type(value) is not list:
        raise malformed(where, "an array", value)
    return value


def _read_choice(choices: tuple[str, ...]) -> Read:
    def read_choice(value: object, where: str, _: WireLimits) -> str:
        if type(value) is not str or value not in choices:
            raise malformed(where, " or ".join(repr(each) for each in choices), value)
        return value

    return read_choice


def _write_locations(locations: tuple[Location, ...]) -> list[list[object]]:
    return [list(attrs.astuple(each)) for each in locations]


def _write_route_filters(routes: tuple[RouteFilter, ...]) -> list[list[object]]:
    return [[route.id, str(route.filter), route.ordered] for route in routes]


def _write_offers(offers: tuple[tuple[str, str], ...]) -> list[list[str]]:
    return [list(each) for each in offers]


def _write_routes(routes: tuple[tuple[str, Filter], ...]) -> list[list[str]]:
    return [[id_, str(filter_)] for id_, filter_ in routes]


_PLAIN: Final = (str, int, bool)

_CODECS: Final[dict[object, tuple[Write | None, Read]]] = {
    str: (None, read_id),
    int: (None, read_number),
    bool: (None, read_truth),
    Filter: (str, read_filter),
    frozenset[str]: (sorted, read_ids),
    tuple[tuple[str, Filter], ...]: (_write_routes, read_routes),
    tuple[tuple[str, str], ...]: (_write_offers, read_offers),
    tuple[Location, ...]: (_write_locations, read_locations),
    tuple[RouteFilter, ...]: (_write_route_filters, read_route_filters),
    tuple[int, ...]: (list, read_numbers),
    tuple[str, ...]: (list, read_lines),
    tuple[bytes, ...]: (list, read_frames),
}
