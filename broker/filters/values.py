"""The values an attribute can have, the types the language knows, and the paths into maps.

Laws:

* Truth values are no numbers, although `True == 1` in Python.
* Whole and floating numbers are one type and compare exactly, however large.
* Not-a-number is a value (the attribute exists) but satisfies no predicate of any type. Null is a value too:
  an attribute that is null exists, one that is absent does not.
* A path is keys joined by dots. A key may have dots itself; where several keys lead to one path, the longest
  counts. So a path has one value at most, and flat attributes with dotted names are found as they are.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, TypeGuard, Union, cast

from broker.filters.limits import DEPTH_LIMIT, NAME_LIMIT_BYTES

Number = int | float
Scalar = str | bool | int | float
Value = Union[Scalar, None, Sequence["Value"], Mapping[str, "Value"]]  # noqa: UP007 - it names itself
Attributes = Mapping[str, Value]
Matcher = Callable[[Attributes], bool]

SELF: Final = ""
"""The path of an element itself, in what is demanded of the elements of a list. No key is empty."""

MISSING: Final = cast("Value", object())
"""In place of the value of an attribute that is absent. It is no value."""

COLLIDING_FROM = 2**61 - 1
"""From here on numbers share their hashes with smaller ones."""

EXACT_INTEGERS = 2**53
"""Up to here every whole number is a float too, so it is written as a whole number; beyond, as a float if
it is one."""


def is_number(value: object) -> TypeGuard[Number]:
    """Distinguish numbers from truth values, which Python counts among them."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def flattened(attributes: Attributes) -> Attributes:
    """Return the values of all paths; the same attributes where none of them is a map."""
    for value in attributes.values():
        if value.__class__ is dict:
            found: dict[str, Value] = {}
            _flatten(attributes, "", 0, found)
            return found
    return attributes


def _flatten(values: Attributes, above: str, level: int, found: dict[str, Value]) -> None:
    """Find the values of the paths that begin with `above`."""
    keys = sorted(values, key=len, reverse=True) if any("." in key for key in values) else values
    for key in keys:
        path = above + key
        if len(path) <= NAME_LIMIT_BYTES:
            value = values[key]
            found.setdefault(path, value)
            if value.__class__ is dict and level < DEPTH_LIMIT:
                _flatten(value, path + ".", level + 1, found)


def element_attributes(element: Value) -> Attributes:
    """Return an element of a list as conditions on it see it: what is no map is its own only value."""
    return element if element.__class__ is dict else {SELF: element}


def canonical_number(number: Number) -> Number:
    """Choose one way to write a number, so that equal filters have equal texts: 1.0 is 1, 10**20 is 1e+20."""
    if isinstance(number, float):
        return int(number) if number.is_integer() and abs(number) <= EXACT_INTEGERS else number
    if abs(number) <= EXACT_INTEGERS:
        return number
    as_float = float(number)
    return as_float if as_float == number else number


def may_collide(number: Number) -> bool:
    """Return whether a peer may choose many numbers beside this one that Python hashes alike.

    Python hashes a number to its remainder by `COLLIDING_FROM`, without a secret. Smaller whole numbers are
    their own hash, and of smaller floats fewer than 200 share one.
    """
    return not -COLLIDING_FROM < number < COLLIDING_FROM


def label(number: Number) -> str:
    """Return a text that equal numbers have in common, and no others: texts are hashed with a secret.

    What is keyed by numbers that peers choose is keyed by labels where the numbers `may_collide`, and hashes
    labels where it hashes several numbers together.
    """
    if isinstance(number, float):
        if not number.is_integer():
            return number.hex()
        number = int(number)
    return hex(number)


def printed_set(name: str, values: Collection[str] | Collection[Number], one: str, many: str) -> str:
    """Write a comparison with one value or with several of one type."""
    if len(values) == 1:
        return f"{name} {one} {next(iter(values))!r}"
    return f"{name} {many} {listed([repr(each) for each in sorted(values)])}"


def listed(literals: list[str]) -> str:
    """Write a tuple of literals."""
    return f"({', '.join(literals)}{',' if len(literals) == 1 else ''})"
