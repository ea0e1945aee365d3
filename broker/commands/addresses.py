"""HOST:PORT as commands take it: one way to read it, one way to complain about it."""

import re
from typing import Final

import attrs
import click

__all__ = ["ADDRESS", "Address", "parse_address"]

_PORT_MAX: Final = 65_535
"""Ports are 16 bits in TCP. Port 0 asks the system for a free one, which only listening can use."""

_SHAPE: Final = re.compile(r"(?:\[(?P<bracketed>[^\]\s]+)\]|(?P<plain>[^\[\]:\s]+)):(?P<port>\d+)", re.ASCII)


@attrs.frozen
class Address:
    """A host and a TCP port; `str()` gives back what `parse_address` reads."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """Read `HOST:PORT` or `[IPv6]:PORT`; a `ValueError` says what was wrong with the text."""
    found = _SHAPE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not HOST:PORT, for example 127.0.0.1:7411 or [::1]:7411")
    port = int(found["port"])
    if port > _PORT_MAX:
        raise ValueError(f"{text!r} has port {port}, but ports end at {_PORT_MAX}")
    return Address(found["bracketed"] or found["plain"], port)


class _AddressType(click.ParamType[Address]):
    """The type of an option that takes an address."""

    name = "HOST:PORT"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Address:
        if isinstance(value, Address):
            return value
        try:
            return parse_address(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


ADDRESS: Final = _AddressType()
"""Use as `@click.option("--listen", type=ADDRESS)`; the command gets an `Address`."""
