"""Addresses in networks: `in_network(ip, '10.0.0.0/8')`, with one network or several, of IPv4 and IPv6.

An attribute is an address if Python's `ipaddress` reads it as one. What is asked for is a set of addresses:
everything about it is exact, whichever networks it was written with.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from ipaddress import summarize_address_range as networks_between
from typing import ClassVar, Final

from broker.constraint_types.spans import Spans, common, holds, includes, meets, united
from broker.filters.constraint_types import ArgumentError, Call, ConstraintType, Kind
from broker.filters.values import Scalar, Value

Addresses = Spans[int]
Network = IPv4Network | IPv6Network

IN_NETWORK: Final = "in_network"

_IPV4_BITS: Final = 32
_IPV6_AT: Final = 1 << 40
"""Where the addresses of IPv6 begin on the line, well behind those of IPv4."""

_KEPT: Final = 4096
"""Addresses and sets that were read or written lately: events have the same ones again and again."""

_BITS_A_CELL: Final = {4: 8, 6: 16}
"""Networks are looked up by so many bits, twice so many, and so on."""


class Networks(ConstraintType[Addresses, int]):
    """Sets of addresses."""

    predicates: ClassVar[tuple[str, ...]] = (IN_NETWORK,)
    kind: ClassVar[Kind] = "text"
    everything: Addresses = ((0, 1 << _IPV4_BITS), (_IPV6_AT, _IPV6_AT + (1 << 128)))

    def parse(self, predicate: str, arguments: Sequence[Scalar]) -> Addresses:
        """Read networks, or single addresses."""
        if not arguments:
            raise ArgumentError(f"it takes one network or several; write {predicate}(ip, '10.0.0.0/8')")
        return united(_span(_network(at, each)) for at, each in enumerate(arguments))

    def printed(self, content: Addresses) -> Call:
        """Write the fewest networks, without the length where it is a single address."""
        return IN_NETWORK, _written(content)

    def read(self, value: Value) -> int | None:
        """Read an address."""
        return _read(value) if isinstance(value, str) else None

    def match(self, content: Addresses, subject: int) -> bool:
        """Return whether the address is in one of the networks."""
        return holds(content, subject)

    def covers(self, one: Addresses, other: Addresses) -> bool:
        """Compare exactly."""
        return includes(one, other)

    def overlaps(self, one: Addresses, other: Addresses) -> bool:
        """Compare exactly."""
        return meets(one, other)

    def intersect(self, one: Addresses, other: Addresses) -> Addresses:
        """Return the addresses of both."""
        return common(one, other)

    def merge(self, one: Addresses, other: Addresses) -> Addresses:
        """Return the addresses of either."""
        return united((*one, *other))

    def weight(self, content: Addresses) -> int:
        """Return how many networks there are."""
        return len(_written(content))

    def cells(self, content: Addresses) -> Iterable[Hashable]:
        """Return the first bits of each network, as many as are looked up."""
        return [
            _cell(each.version, int(each.network_address), each.prefixlen - each.prefixlen % step)
            for each in _networks(content)
            for step in (_BITS_A_CELL[each.version],)
        ]

    def cells_of(self, subject: int) -> Iterable[Hashable]:
        """Return the first bits of the address, of each number that is looked up."""
        if subject < _IPV6_AT:
            return [_cell(4, subject, count) for count in range(0, _IPV4_BITS + 1, _BITS_A_CELL[4])]
        return [_cell(6, subject - _IPV6_AT, count) for count in range(0, 129, _BITS_A_CELL[6])]

    def examples(self, content: Addresses) -> Iterator[Value]:
        """Yield the ends of the networks."""
        for first, end in content:
            yield str(_address(first))
            yield str(_address(end - 1))


NETWORKS: Final = Networks()


def _network(at: int, argument: Scalar) -> Network:
    if not isinstance(argument, str):
        raise ArgumentError("a network is a text; write '10.0.0.0/8'", at)
    try:
        return ip_network(argument)
    except ValueError as error:
        raise ArgumentError(f"{error}; write a network like '10.0.0.0/8' or '2001:db8::/32'", at) from None


def _span(network: Network) -> tuple[int, int]:
    start = int(network.network_address) + (0 if network.version == 4 else _IPV6_AT)  # noqa: PLR2004 - a version
    return start, start + network.num_addresses


@lru_cache(_KEPT)
def _read(text: str) -> int | None:
    try:
        found = ip_address(text)
    except ValueError:
        return None
    if isinstance(found, IPv4Address):
        return int(found)
    return None if found.scope_id else int(found) + _IPV6_AT


def _address(subject: int) -> IPv4Address | IPv6Address:
    return IPv4Address(subject) if subject < _IPV6_AT else IPv6Address(subject - _IPV6_AT)


@lru_cache(_KEPT)
def _networks(content: Addresses) -> tuple[Network, ...]:
    return tuple(
        each for first, end in content for each in networks_between(_address(first), _address(end - 1))
    )


@lru_cache(_KEPT)
def _written(content: Addresses) -> tuple[str, ...]:
    return tuple(str(each) for each in _networks(content))


def _cell(version: int, address: int, count: int) -> Hashable:
    return version, count, address >> ((_IPV4_BITS if version == 4 else 128) - count)  # noqa: PLR2004 - likewise
