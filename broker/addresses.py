"""HOST:PORT: one way to read it, one way to complain about it, for commands, brokers and clients."""

import ipaddress
import re
from typing import Final

from attrs import frozen

_PORT_MAX: Final = 65_535
"""Ports are 16 bits in TCP. Port 0 asks the system for a free one, which only listening can use."""

_SHAPE: Final = re.compile(r"(?:\[(?P<bracketed>[^\]\s]+)\]|(?P<plain>[^\[\]:\s]+)):(?P<port>\d+)", re.ASCII)


@frozen
class Address:
    """A host and a TCP port; `str()` gives back what `parse_address` reads."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Return whether only programs on this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def is_wildcard(self) -> bool:
        """Return whether it means all addresses of a machine: one can listen there, and not dial it."""
        try:
            return ipaddress.ip_address(self.host).is_unspecified
        except ValueError:
            return False

    @property
    def is_dialable(self) -> bool:
        """Return whether it makes sense to dial it."""
        return self.port != 0 and not self.is_wildcard


def parse_address(text: str) -> Address:
    """Read `HOST:PORT` or `[IPv6]:PORT`; a `ValueError` says what was wrong with the text."""
    found = _SHAPE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not HOST:PORT, for example 127.0.0.1:7411 or [::1]:7411")
    digits = found["port"].lstrip("0") or "0"
    if len(digits) > len(str(_PORT_MAX)) or int(digits) > _PORT_MAX:
        raise ValueError(f"{text!r} has port {digits[:12]}, but ports end at {_PORT_MAX}")
    return Address(found["bracketed"] or found["plain"], int(digits))
