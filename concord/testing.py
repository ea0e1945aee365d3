"""For tests: overlays of brokers, there with a block and gone with it, and the laws of constraint types.

    async with overlay("B1>B2,B1>B3") as brokers:
        async with brokers.connect("B2") as publishing, brokers.connect("B3") as subscribing:
            ...

`B1>B2` attaches B2 to B1. Brokers form one tree; a broker alone is its name. When the block is entered all
are attached, so nothing that matches is missed. How clients reach brokers is not said: use `connect` alone.

    check_constraint_type(MY_TYPE, calls, values)

tries the laws of a constraint type on calls and values that hypothesis draws.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

import trio
from attrs import field, frozen

from broker.addresses import Address
from broker.client import Client, Limits, StateChange, connect
from broker.commands.options import routing_for
from broker.filters.constraint_types import Call, ConstraintType, Content, Subject
from broker.filters.type_laws import LawBrokenError, check_laws
from broker.filters.values import Value
from broker.routing import parse
from broker.server.server import Server
from broker.server.settings import DEFAULT_ORDERING, Settings

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from broker.filters.installed import AnyConstraintType

__all__ = ["Brokers", "LawBrokenError", "check_constraint_type", "overlay"]

START_TIMEOUT_S: Final = 30.0
"""For one broker: far more than a busy machine needs, and less than a test may take."""

_HOST: Final = "127.0.0.1"
_LIMITS: Final = Limits()
_NO_OPTIONS: Final[Mapping[str, str]] = MappingProxyType({})


CALLS_DRAWN: Final = 3
VALUES_DRAWN: Final = 8
"""Of one example: each call is compared with each, on each value."""


def check_constraint_type(
    own: ConstraintType[Content, Subject],
    calls: "SearchStrategy[Call]",
    values: "SearchStrategy[Value]",
    *,
    examples: int = 200,
) -> None:
    """Try the laws of a constraint type on calls and values that are drawn; hypothesis must be installed.

    Args:
        own: the constraint type.
        calls: draws the name of a predicate and the arguments behind the attribute.
        values: draws values of attributes; best are those that the calls nearly distinguish.
        examples: how many sets of calls and values are drawn.

    Raises:
        LawBrokenError: a law is broken; the text names it, with the smallest calls and value that were found.
    """
    from hypothesis import given, settings  # noqa: PLC0415 - only tests need it
    from hypothesis import strategies as st  # noqa: PLC0415 - likewise

    @settings(max_examples=examples, deadline=None, database=None)
    @given(st.lists(calls, max_size=CALLS_DRAWN), st.lists(values, max_size=VALUES_DRAWN))
    def check(some: list[Call], seen: list[Value]) -> None:
        check_laws(cast("AnyConstraintType", own), some, seen)

    check()


def _ignore(_: StateChange) -> None:
    """Where no callback is given."""


@frozen
class Brokers:
    """The brokers of an overlay that runs. `names` has them from the root down."""

    names: tuple[str, ...]
    _addresses: Mapping[str, str] = field(repr=False)

    def connect(
        self,
        broker: str,
        /,
        *,
        name: str = "client",
        limits: Limits = _LIMITS,
        on_state: Callable[[StateChange], None] = _ignore,
    ) -> AbstractAsyncContextManager[Client]:
        """Connect a client to a broker, as `concord.connect` does; the options are the same.

        Raises:
            ValueError: no broker of the overlay has that name.
        """
        if broker not in self._addresses:
            raise ValueError(f"no broker is called {broker!r}; there are {', '.join(self.names)}")
        return connect(self._addresses[broker], name=name, limits=limits, on_state=on_state)


@asynccontextmanager
async def overlay(
    shape: str, *, ordering: str = DEFAULT_ORDERING, ordering_options: Mapping[str, str] = _NO_OPTIONS
) -> AsyncIterator[Brokers]:
    """Start the brokers of a shape such as "B1>B2,B1>B3", and end them with the block.

    Args:
        shape: pairs `UPLINK>BROKER` with commas between; a row `B1>B2>B3` is two of them.
        ordering: the ordering plugin of all brokers.
        ordering_options: what the plugin is made with.

    Raises:
        ValueError: the shape is not one tree; the message says where.
        ConcordError: the brokers cannot start so.
    """
    uplinks = _uplinks(shape)
    escaped: BaseException | None = None
    async with trio.open_nursery() as nursery:
        addresses: dict[str, Address] = {}
        try:
            for broker, uplink in uplinks.items():
                settings = Settings(
                    name=broker,
                    listen=Address(_HOST, 0),
                    uplinks=() if uplink is None else (addresses[uplink],),
                    ordering=ordering,
                    ordering_options=ordering_options,
                    routing=parse(routing_for(ordering)),
                )
                addresses[broker] = await _started(nursery, settings)
            yield Brokers(tuple(uplinks), {name: str(address) for name, address in addresses.items()})
        except BaseException as error:  # noqa: BLE001 - raised again below
            # As it was raised, and not in the exception group of this nursery.
            escaped = error
        nursery.cancel_scope.cancel()
    if escaped is not None:
        raise escaped


async def _started(nursery: trio.Nursery, settings: Settings) -> Address:
    """Start a broker; return its address when it is attached."""
    server = Server.prepare(settings)
    accepting = trio.Event()
    nursery.start_soon(server.run, accepting.set)
    with trio.fail_after(START_TIMEOUT_S):
        await accepting.wait()
        await server.settled()
    return Address(_HOST, server.port)


def _uplinks(shape: str) -> dict[str, str | None]:
    """Return each broker's uplink, in an order in which every uplink comes before those below it."""
    uplinks: dict[str, str | None] = {}
    for row in shape.split(","):
        above: str | None = None
        for broker in map(str.strip, row.split(">")):
            if not broker:
                raise ValueError(f"{shape!r}: {row!r} lacks a broker's name; write B1>B2 or B1")
            known = uplinks.setdefault(broker, above)
            if above is not None and known is None:
                uplinks[broker] = above
            elif above not in {None, known}:
                raise ValueError(f"{shape!r}: {broker} has two uplinks, {known} and {above}")
            above = broker
    return _from_the_root(shape, uplinks)


def _from_the_root(shape: str, uplinks: Mapping[str, str | None]) -> dict[str, str | None]:
    """Sort brokers so that uplinks come first, and refuse what is no tree."""
    roots = [broker for broker, uplink in uplinks.items() if uplink is None]
    if len(roots) > 1:
        raise ValueError(f"{shape!r}: {roots[0]} and {roots[1]} have no uplink; an overlay is one tree")
    ordered: dict[str, str | None] = dict.fromkeys(roots)
    for above in (following := list(roots)):
        below = [broker for broker, uplink in uplinks.items() if uplink == above]
        ordered |= dict.fromkeys(below, above)
        following += below
    if rest := uplinks.keys() - ordered.keys():
        raise ValueError(f"{shape!r}: {', '.join(sorted(rest))} form a ring; an overlay is one tree")
    return ordered
