"""The values an attribute can have, and the three types the language knows.

Laws:

* Truth values are no numbers, although `True == 1` in Python.
* Whole and floating numbers are one type and compare exactly, however large.
* Not-a-number is a value (the attribute exists) but satisfies no predicate of any type.
"""

from collections.abc import Callable, Collection, Mapping
from typing import TypeGuard

Number = int | float
Value = str | bool | int | float
Attributes = Mapping[str, Value]
Matcher = Callable[[Attributes], bool]

COLLIDING_FROM = 2**61 - 1
"""From here on numbers share their hashes with smaller ones."""

EXACT_INTEGERS = 2**53
"""Up to here every whole number is a float too, so it is written as a whole number; beyond, as a float if
it is one."""


def is_number(value: object) -> TypeGuard[Number]:
    """Distinguish numbers from truth values, which Python counts among them."""
    return isinstance(value, int | float) and not isinstance(value, bool)


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
