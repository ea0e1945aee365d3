"""Keys of scenario files: what each means, what it may be, and reading a table of them.

Laws:

1. A class per table, a field per key. The field carries the key's meaning and what is allowed, so that errors
   and documentation say the same.
2. An error names the file, the key with its table, what was found and what is allowed.
"""

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Final, TypeVar, cast

import attrs

from broker.errors import ConcordError

Kind = TypeVar("Kind")

_KEY: Final = "key"
_TABLE: Final = "table"


class ScenarioError(ConcordError):
    """A scenario makes no sense; the text names the file, the key, and what is allowed."""


@attrs.frozen
class Key:
    """One key: its meaning, the allowed values in words, and their check, which returns None for others."""

    about: str
    allowed: str
    accept: Callable[[object], object | None] = attrs.field(repr=False)


def _field(default: object, key: Key) -> object:
    factory: object = attrs.Factory(lambda: dict(cast("Mapping[str, object]", default)))
    return attrs.field(
        default=factory if isinstance(default, Mapping) else default, metadata={_KEY: key}, kw_only=True
    )


def whole(default: int, low: int, high: int, about: str) -> int:
    """Return the field of a whole number."""

    def accept(value: object) -> int | None:
        return value if type(value) is int and low <= value <= high else None

    return cast("int", _field(default, Key(about, f"a whole number from {low:,} to {high:,}", accept)))


def number(default: float, low: float, high: float, about: str) -> float:
    """Return the field of a number that need not be whole."""

    def accept(value: object) -> float | None:
        is_number = type(value) in (int, float) and isfinite(cast("float", value))
        return float(cast("float", value)) if is_number and low <= cast("float", value) <= high else None

    return cast("float", _field(default, Key(about, f"a number from {low:g} to {high:,g}", accept)))


def choice(default: str, options: Sequence[str], about: str) -> str:
    """Return the field of one word out of several."""

    def accept(value: object) -> str | None:
        return value if isinstance(value, str) and value in options else None

    return cast("str", _field(default, Key(about, " or ".join(f'"{each}"' for each in options), accept)))


def text(default: str, about: str, allowed: str = "text") -> str:
    """Return the field of a text."""
    return cast("str", _field(default, Key(about, allowed, lambda v: v if isinstance(v, str) else None)))


def flag(about: str, *, default: bool) -> bool:
    """Return the field of a truth value."""
    return cast(
        "bool", _field(default, Key(about, "true or false", lambda v: v if type(v) is bool else None))
    )


def texts(default: tuple[str, ...], about: str) -> tuple[str, ...]:
    """Return the field of a list of texts."""

    def accept(value: object) -> tuple[str, ...] | None:
        is_list = isinstance(value, list) and all(isinstance(each, str) for each in value)
        return tuple(cast("list[str]", value)) if is_list else None

    return cast("tuple[str, ...]", _field(default, Key(about, "a list of texts", accept)))


def texts_by_name(about: str) -> Mapping[str, str]:
    """Return the field of a table from names to texts."""

    def accept(value: object) -> Mapping[str, str] | None:
        is_table = isinstance(value, dict) and all(isinstance(each, str) for each in value.values())
        return cast("dict[str, str]", value) if is_table else None

    return cast("Mapping[str, str]", _field({}, Key(about, "a table of texts", accept)))


def numbers_by_name(low: float, high: float, about: str) -> Mapping[str, float]:
    """Return the field of a table from names to numbers."""

    def accept(value: object) -> Mapping[str, float] | None:
        is_table = isinstance(value, dict) and all(
            type(each) in (int, float) and low <= each <= high for each in value.values()
        )
        return {name: float(each) for name, each in value.items()} if is_table else None  # type: ignore[attr-defined]  # it is a table

    allowed = f"a table of numbers from {low:g} to {high:,g}"
    return cast("Mapping[str, float]", _field({}, Key(about, allowed, accept)))


def table(kind: type[Kind]) -> Kind:
    """Return the field of a table with keys of its own."""
    return attrs.field(factory=kind, metadata={_TABLE: kind}, kw_only=True)


def key_of(attribute: "attrs.Attribute[object]") -> Key | None:
    """Return what a field says about its key; nothing if it is a table."""
    return cast("Key | None", attribute.metadata.get(_KEY))


def _table_of(attribute: "attrs.Attribute[object]") -> type | None:
    return cast("type | None", attribute.metadata.get(_TABLE))


def keys_of(kind: type, place: str = "") -> dict[str, tuple[Key, object]]:
    """Return every key of a table and the tables in it, with its default: `publishers.count` and so on."""
    found: dict[str, tuple[Key, object]] = {}
    for attribute in attrs.fields(kind):
        inner, key = _table_of(attribute), key_of(attribute)
        if inner is not None:
            found |= keys_of(inner, f"{place}{attribute.name}.")
        elif key is not None:
            default = attribute.default
            found[place + attribute.name] = (key, {} if isinstance(default, attrs.Factory) else default)  # type: ignore[arg-type]  # attrs types it as a function
    return found


def read(kind: type[Kind], content: object, where: str, place: str = "") -> Kind:
    """Read a table; `where` names the file, `place` the table in it."""
    if not isinstance(content, Mapping):
        raise ScenarioError(f"{where}: {place.removesuffix('.')}: expected a table, found {content!r}")
    known = {attribute.name: attribute for attribute in attrs.fields(kind)}  # type: ignore[arg-type]  # all kinds are attrs classes
    values: dict[str, object] = {}
    for name, value in content.items():
        if name not in known:
            raise ScenarioError(f"{where}: {place}{name}: no such key; there are {', '.join(known)}")
        inner, key = _table_of(known[name]), key_of(known[name])
        if inner is not None:
            values[name] = read(inner, value, where, f"{place}{name}.")
            continue
        assert key is not None
        values[name] = key.accept(value)
        if values[name] is None:
            raise ScenarioError(f"{where}: {place}{name}: expected {key.allowed}, found {value!r}")
    return kind(**values)
