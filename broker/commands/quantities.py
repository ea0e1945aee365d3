"""Sizes and spans of time as options."""

from collections.abc import Callable
from math import inf
from typing import Final

import click
from attrs import define

from broker.quantities import read_size, read_span

__all__ = ["SIZE", "SPAN"]


@define
class _Quantity(click.ParamType[float]):
    """Text that a function reads, or a number that is one already."""

    name: str
    _read: Callable[[str], float]

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, int | float):
            if not 0 <= value < inf:
                self.fail(f"expected a number from 0 on, got {value}", param, ctx)
            return value
        try:
            return self._read(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


SIZE: Final = _Quantity("size", read_size)
SPAN: Final = _Quantity("time", read_span)
