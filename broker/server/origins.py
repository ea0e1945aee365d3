"""From where pages may connect: a browser says of which origin a page is, and lets no page lie about it.

Without such a rule any page in a person's browser could use the brokers that this machine can reach.
"""

import ipaddress
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from attrs import frozen

ANY_ORIGIN: Final = "*"
"""Allows every page."""

_NO_ORIGIN: Final = "null"
"""What browsers write for pages out of files, and for others that are nobody's."""

_SHOWN: Final = 200
"""Characters of a peer's header in a text."""


@frozen
class Origins:
    """The pages that may connect: those of `allowed`, or, if it is empty, those of the host they connect to.

    That host must be an address, `localhost`, or one of `names`: an attacker's name that resolves to this
    machine (DNS rebinding) is not a name of this broker.
    """

    allowed: frozenset[str]
    names: frozenset[str]

    def objection(self, origin: str, host: str) -> str:
        """Return why a page of this origin may not connect to this host; nothing if it may."""
        shown = f"{origin!r:.{_SHOWN}}"
        if self.allowed:
            if self.allowed.isdisjoint((origin, ANY_ORIGIN)):
                return f"pages of {shown} may not connect: this broker's --ws-origin names others"
            return ""
        name = _name_in(f"//{host}")
        if name and name == _name_in(origin) and (_is_local(name) or name in self.names):
            return ""
        return (
            f"pages of {shown} may not connect to {host!r:.{_SHOWN}}: start the broker with "
            f"--ws-origin and the origin of the page"
        )


def _name_in(address: str) -> str | None:
    """Return the host in an address."""
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


def _is_local(name: str) -> bool:
    """Return whether nobody can make this name resolve to another machine's address."""
    if name == "localhost":
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def read_origins(texts: Iterable[str]) -> frozenset[str]:
    """Take origins as browsers write them. Raises `ValueError` for what is none."""
    return frozenset(map(_read_origin, texts))


def _read_origin(text: str) -> str:
    if text in {ANY_ORIGIN, _NO_ORIGIN}:
        return text
    parts = urlsplit(text)
    plain = f"{parts.scheme}://{parts.netloc}"
    if not (parts.scheme and parts.hostname) or parts.username is not None or text.lower() != plain.lower():
        raise ValueError(f"{text!r} is no origin, for example https://shop.example or http://127.0.0.1:8000")
    return plain.lower()
