"""A constraint type as another distribution would bring it: whole numbers that a number divides."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import EntryPoint
from math import lcm
from typing import ClassVar

import pytest

from broker.filters import installed
from concord.constraints import ArgumentError, Call, ConstraintType, Kind, Scalar, Value


class Divisible(ConstraintType[int, int]):
    """The contents are divisors."""

    predicates: ClassVar[tuple[str, ...]] = ("divisible",)
    kind: ClassVar[Kind] = "number"
    everything = 1

    def parse(self, predicate: str, arguments: Sequence[Scalar]) -> int | None:
        if len(arguments) != 1:
            raise ArgumentError(f"write {predicate}(n, 3)")
        (divisor,) = arguments
        if not isinstance(divisor, int) or isinstance(divisor, bool) or not 0 <= divisor < 10**9:
            raise ArgumentError("a divisor is a whole number", 0)
        return divisor or None

    def printed(self, content: int) -> Call:
        return "divisible", (content,)

    def read(self, value: Value) -> int | None:
        return value if isinstance(value, int) else None

    def match(self, content: int, subject: int) -> bool:
        return subject % content == 0

    def covers(self, one: int, other: int) -> bool:
        return other % one == 0

    def intersect(self, one: int, other: int) -> int | None:
        both = lcm(one, other)
        return both if both < 10**9 else None

    def cells(self, content: int) -> Iterable[Hashable]:
        return ("even" if content % 2 == 0 else "any",)

    def cells_of(self, subject: int) -> Iterable[Hashable]:
        return ("any",) if subject % 2 else ("any", "even")

    def examples(self, content: int) -> Iterator[Value]:
        yield content


class Shadow(Divisible):
    """A type that takes another one's predicate."""

    predicates: ClassVar[tuple[str, ...]] = ("near",)


class Newer(Divisible):
    """A type for an interface that does not exist yet."""

    INTERFACE_VERSION = 2


SHADOW, NEWER = Shadow(), Newer()
TYPE = Divisible()


def entry_point(name: str, attribute: str) -> EntryPoint:
    return EntryPoint(name, f"{__name__}:{attribute}", "concord.constraints")


DIVISIBLE = entry_point("divisible", "TYPE")


@contextmanager
def brought(monkeypatch: pytest.MonkeyPatch, *points: EntryPoint) -> Iterator[None]:
    """While this lasts, other distributions bring these types and no others."""
    with monkeypatch.context() as patch:
        patch.setattr(installed, "entry_points", lambda **_: points)
        forget()
        yield
    forget()


def forget() -> None:
    installed.installed.cache_clear()
    installed.by_predicate.cache_clear()
