"""`connect` and what it gives: a client that publishes and subscribes at one broker.

A user sees plain errors: nothing that is raised inside a block is wrapped into a group by the nursery that
keeps the connection, and nothing that happens in the background is raised anywhere but in the user's calls.
"""

import secrets
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from random import Random
from typing import Final, Literal

import trio
from attrs import define

from broker.backoff import Backoff
from broker.client.connection import Connection
from broker.client.deliveries import Deliveries
from broker.client.dialling import dialler
from broker.client.life import Phase, StateChange
from broker.client.limits import BOUND_BYTES, Limits
from broker.client.machine import ClientMachine
from broker.client.options import subscription
from broker.client.outbox import Outbox
from broker.client.publisher import Publisher
from broker.client.questions import Asked, Forgetting, Question
from broker.client.reading import Reading
from broker.client.replay import Replay
from broker.client.session import Session
from broker.filters import Filter, parse

__all__ = ["Client", "connect", "open_client"]

_LIMITS: Final = Limits()
_INCARNATION_BYTES: Final = 8
"""Two clients of one name are told apart by this; 64 bits do not meet by chance."""


@define(eq=False)
class Client:
    """A connection to a broker that is made again when it is lost. Made by `connect`."""

    name: str
    _connection: Connection

    @property
    def state(self) -> str:
        """The connection's state: "connected", "reconnecting" or "closed"."""
        return self._connection.machine.state

    @property
    def broker(self) -> str:
        """The name of the broker, or nothing while there is no connection."""
        welcome = self._connection.machine.session.welcome
        return "" if welcome is None else welcome.name

    @asynccontextmanager
    async def advertise(self, filter: str | Filter) -> AsyncIterator[Publisher]:  # noqa: A002 - what it is
        """Become a publisher of what the filter matches; entered once the whole overlay knows.

        Leaving the block waits until everything published is taken over; leaving it by an error does not.

        Raises:
            FilterError: the filter cannot be read.
            RefusedError: the broker does not let this client advertise that.
        """
        parsed = self._parsed(filter)
        machine = self._connection.machine
        source = machine.session.advertise(str(filter))
        publisher = Publisher(Outbox(source, parsed, machine), self._connection)
        try:
            await self._connection.until(lambda: source.phase is not Phase.OPENING)
            if source.ended is not None:
                raise source.ended
            yield publisher
            await publisher.settle()
        finally:
            publisher.close()

    @asynccontextmanager
    async def subscribe(  # noqa: PLR0913 - every option but the first is named and may be left out
        self,
        filter: str | Filter,  # noqa: A002 - what it is
        *,
        ordered: bool = True,
        bound_bytes: int = BOUND_BYTES,
        policy: Literal["disconnect", "drop"] | None = None,
        durable: str = "",
        age_s: float = 0,
        after: int | None = None,
        replay: Replay | str | int | None = None,
    ) -> AsyncIterator[Deliveries]:
        """Subscribe to what the filter matches; entered once every matching publication will come.

        If more than `bound_bytes` wait at the broker because this program is slow, or away, the policy
        decides: the broker ends the subscription ("disconnect", the default), or leaves a gap ("drop", the
        default with a durable name).

        Args:
            filter: what to subscribe to.
            ordered: whether its order is that on which ordered subscriptions agree.
            bound_bytes: how much may wait at the broker.
            policy: what happens when more waits.
            durable: a name under which the subscription outlives the program. It goes on behind what the
                program had of it: a delivery was had when the next one was asked for.
            age_s: how long it is kept without a program; 0 leaves that to the broker.
            replay: which part of the past comes first: an age ("5m"; "now" is all since this call), a count
                (1000), or a `Replay` with both. What is live follows; each publication comes once.
            after: the `position` behind which it is to go on, for a program that keeps its own place.

        Raises:
            FilterError: the filter cannot be read.
            RefusedError: the broker does not let this client subscribe to that.
        """
        self._parsed(filter)
        machine = self._connection.machine
        inbox = subscription(
            str(filter),
            ordered=ordered,
            bound_bytes=bound_bytes,
            policy=policy,
            durable=durable,
            age_s=age_s,
            after=after,
            replay=replay,
            limits=machine.session.limits,
            now_s=trio.current_time(),
        )
        machine.session.subscribe(inbox, trio.current_time())
        deliveries = Deliveries(Reading(inbox, machine), self._connection)
        is_done = False
        try:
            await self._connection.until(lambda: inbox.phase is not Phase.OPENING)
            if inbox.ended is not None:
                raise inbox.ended
            yield deliveries
            is_done = True
        finally:
            await deliveries.leave(had_last=is_done)

    async def forget(self, durable: str) -> None:
        """End the durable subscription of that name that belongs to this user and client name.

        Raises:
            RefusedError: the broker knows none of that name (`code` is "unknown").
        """
        forgetting = Forgetting(durable)
        await self._answered(forgetting)

    async def durable_subscriptions(self) -> list[dict[str, object]]:
        """Ask the broker what it keeps for this user and client name: one entry per durable subscription."""
        question = Question("", 0, "durable")
        await self._answered(question)
        return question.answers()

    async def explain(self, publisher: str = "", sequence: int = 0) -> list[dict[str, object]]:
        """Ask the broker what waits there and for whom; or, for a publication, which way it took.

        One entry per blocked target, or per broker that the publication came to.
        """
        question = Question(publisher, sequence, "way" if publisher else "waiting")
        await self._answered(question)
        return question.answers()

    async def explain_uplinks(self) -> dict[str, object]:
        """Ask the broker for its uplink, how often it moved, and whom it would dial without."""
        question = Question("", 0, "uplinks")
        await self._answered(question)
        (answer,) = question.answers() or ({},)
        return answer

    async def _answered(self, question: Asked) -> None:
        self._check()
        session = self._connection.machine.session
        session.ask(question)
        try:
            await self._connection.until(lambda: question.is_answered)
        finally:
            session.dismiss(question)
        if question.failure is not None:
            raise question.failure

    def _check(self) -> None:
        self._connection.machine.check()

    def _parsed(self, text: str | Filter) -> Filter:
        self._check()
        return parse(str(text))


@asynccontextmanager
async def connect(  # noqa: PLR0913 - every option but the first is named and may be left out
    address: str,
    *,
    name: str = "client",
    token: str | None = None,
    tls: ssl.SSLContext | None = None,
    retry: bool = False,
    limits: Limits = _LIMITS,
    on_state: Callable[[StateChange], None] | None = None,
    random: Random | None = None,
) -> AsyncIterator[Client]:
    """Connect to the broker at HOST:PORT; the client reconnects by itself until the block is left.

    Args:
        address: HOST:PORT of the broker.
        name: what the broker calls this client; it need not be unique.
        token: proves to the broker who this client is, where the broker asks for that.
        tls: how to check the broker's certificate (and show one's own); None connects without TLS.
        retry: keep trying if the first connection cannot be made, instead of raising.
        limits: the client's bounds.
        on_state: called with each `StateChange`: connected, reconnecting, closed.
        random: where the spread of the waits between attempts comes from.

    Raises:
        ConnectionFailedError: no connection could be made; the message names address and cause.
        BrokerFaultError: the broker refuses this client.
    """
    session = Session(name, secrets.token_hex(_INCARNATION_BYTES), token or "", limits)
    spread = random or Random()  # noqa: S311 - spreads waits, hides nothing
    machine = ClientMachine(session, address, Backoff(spread))
    connection = Connection(machine, dialler(address, tls), on_state or _tell_nobody)
    async with open_client(connection, retry=retry) as client:
        yield client


def _tell_nobody(_: StateChange) -> None:
    """Where no callback is given."""


@asynccontextmanager
async def open_client(connection: Connection, *, retry: bool) -> AsyncIterator[Client]:
    """What `connect` does with a connection that is ready to dial."""
    client = Client(connection.machine.session.name, connection)
    escaped: BaseException | None = None
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(connection.run, retry=retry))
            try:
                await connection.opened()
                yield client
                await connection.left()
            except BaseException as error:  # noqa: BLE001 - raised again below, outside the nursery
                escaped = error
            finally:
                connection.close()
                nursery.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        # The user's own error comes first; cancellations are those of scopes around, which raise them again.
        defects = group.split(trio.Cancelled)[1]
        if defects is not None:
            raise defects.exceptions[0] from None
        if escaped is None:
            raise
    if escaped is not None:
        raise escaped
