"""Strategies by name: `covering`, `covering+identity`, `merging:1.5`.

The second name is the strategy for advertisements. Law: `parse(str(routing)) == routing`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from attrs import field, frozen

from broker.errors import ConcordError
from broker.page_limits import PAGE_ITEMS_BYTES
from broker.routing.covering import COVERING
from broker.routing.flooding import Flooding
from broker.routing.identity import IDENTITY
from broker.routing.merging import Merging
from broker.routing.simple import Simple
from broker.routing.strategy import Strategy
from broker.routing.unions import PERFECT

SEPARATOR: Final = "+"
FACTOR_SEPARATOR: Final = ":"

_PLAIN: Final[Mapping[str, Strategy]] = MappingProxyType(
    {each.name: each for each in (Flooding(), Simple(), IDENTITY, COVERING, Merging())}
)

_SECOND: Final[Mapping[str, str]] = MappingProxyType({"flooding": "simple", "merging": "covering"})
"""The strategy for advertisements where one name alone means another for them than for subscriptions. Where
publications are flooded, advertisements still show which subscriptions are exposed, so that order costs no
more than it must. Advertisements are merged only on request: each new union would be announced to the whole
overlay, and every publisher that has a part in it would wait for that."""

FACTOR_LIMIT: Final = 1000.0
"""Far more than any user needs: by then nearly all ranges of numbers are one."""


PART_COUNT: Final = 100
"""Entries that a step looks at, chooses, announces or opens for a new neighbour: each takes up to 0.2 ms."""


class RoutingError(ConcordError):
    """A text that names no routing."""


@frozen
class Routing:
    """A strategy for each level. What is announced is cut into pages with `page_bytes` of items each.

    What a new neighbour is to know is worked out in parts of `part_count` (`broker.core.crossing`).
    """

    subscriptions: Strategy
    advertisements: Strategy
    page_bytes: int = field(default=PAGE_ITEMS_BYTES, eq=False, repr=False)
    part_count: int = field(default=PART_COUNT, eq=False, repr=False)

    def __str__(self) -> str:
        """Return both names, as `parse` reads them."""
        return f"{self.subscriptions.name}{SEPARATOR}{self.advertisements.name}"


SIMPLE: Final = Routing(Simple(), Simple())
"""Every subscription and every advertisement is announced, under its own id."""


DEFAULT: Final = Routing(COVERING, Simple())
"""The routing of brokers that are configured with none. Subscriptions are many, and many of them cover
others. Advertisements are few; where each is announced by itself, its publisher waits for no other
publisher's."""


def known() -> tuple[str, ...]:
    """Return the names of all strategies, from the simplest to the most ambitious."""
    return tuple(_PLAIN)


def parse(text: str) -> Routing:
    """Read a name for both levels, or one for subscriptions and one for advertisements."""
    first, separator, second = text.partition(SEPARATOR)
    if not separator:
        second = _SECOND.get(first.partition(FACTOR_SEPARATOR)[0], first)
    return Routing(_strategy(first, text), _strategy(second, text))


def _strategy(name: str, text: str) -> Strategy:
    strategy = _PLAIN.get(name)
    kind, separator, factor = name.partition(FACTOR_SEPARATOR)
    if kind == Merging().name and separator:
        strategy = _merging(factor)
    if strategy is None:
        raise RoutingError(
            f"{text!r} names no routing: {name!r} is none of {', '.join(_PLAIN)};"
            " write one of them, or two as in 'covering+identity', for subscriptions and for advertisements;"
            f" merging may have a factor from 1 to {FACTOR_LIMIT:.0f}, as in 'merging:1.5'"
        )
    return strategy


def _merging(factor: str) -> Merging | None:
    """Read the factor behind the name."""
    try:
        number = float(factor)
    except ValueError:
        return None
    return Merging(number) if PERFECT <= number <= FACTOR_LIMIT else None
