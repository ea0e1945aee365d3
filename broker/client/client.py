"""The client that `connect` returns: publishes and subscribes at one broker, under every shell alike."""

import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from random import Random
from time import time_ns
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, Unpack, overload

from attrs import define

from broker.backoff import Backoff
from broker.client.deliveries import Deliveries
from broker.client.discovering import AdvertisementWatch
from broker.client.driver import Driver, address_of
from broker.client.history import HistoryPast, opened_history
from broker.client.inbox import Inbox
from broker.client.life import Phase, StateChange
from broker.client.limits import BOUND_BYTES, OPEN_COUNT, Limits
from broker.client.machine import ClientMachine
from broker.client.offers import Offers
from broker.client.options import SubscriptionOptions, subscription
from broker.client.outbox import Outbox
from broker.client.publisher import Publisher
from broker.client.questions import BROKERS, Asked, Forgetting, Moving, Question
from broker.client.replay import Replay
from broker.client.reshaping import Moves, to_drain, to_insert
from broker.client.seen import SeenEvents
from broker.client.session import Session
from broker.client.typed import asked_of, check_of, deliveries_of
from broker.filters import Filter, parse

if TYPE_CHECKING:
    from broker.client.objects import ObjectDeliveries

T = TypeVar("T")

LIMITS: Final = Limits()
"""The default limits of a client."""

_INCARNATION_BYTES: Final = 8
"""This distinguishes two clients of one name; 64 random bits do not collide."""


def ignore_progress(_: str) -> None:
    """Do nothing, where the user gives no callback."""


@define(eq=False)
class Client:
    """A connection to a broker that is made again when it is lost. Made by `connect`."""

    name: str
    _driver: Driver

    @property
    def state(self) -> str:
        """The connection's state: "connected", "reconnecting" or "closed"."""
        return self._driver.machine.state

    @property
    def broker(self) -> str:
        """The name of the broker, or nothing while there is no connection."""
        welcome = self._driver.machine.session.welcome
        return "" if welcome is None else welcome.name

    @asynccontextmanager
    async def advertise(
        self,
        filter: str | Filter | type,  # noqa: A002 - what it is
        *,
        where: str = "",
        schema: Mapping[str, object] | bool = False,
        resume: str = "",
    ) -> AsyncIterator[Publisher]:
        """Become a publisher of what the filter matches; entered once the whole overlay knows.

        Leaving the block waits until everything published is taken over; leaving it by an error does not.

        Args:
            filter: what will be published, or the class whose objects will be (`concord.events`).
            where: for a class: a filter on its fields, of the objects that will be published.
            schema: a JSON Schema that events have to fit as well, checked here; True for that of the class.
            resume: the `id` of a publisher that an earlier client of this name had at this broker. It goes on
                behind the last event that the broker took of it (`sequence`). If the broker does not know it
                any more, the new one has another id.

        Raises:
            FilterError: the filter cannot be read.
            EventTypeError: the class is not registered, or the schema is none.
            RefusedError: the broker does not let this client advertise that.
        """
        self._check()
        text, parsed = asked_of(filter, where, is_promise=True)
        check = check_of(schema, filter)
        machine = self._driver.machine
        source = machine.session.advertise(text, resume)
        publisher = Publisher(Outbox(source, parsed, machine, check), self._driver)
        try:
            await self._driver.until(lambda: source.phase is not Phase.OPENING)
            if source.ended is not None:
                raise source.ended
            yield publisher
            await publisher.settle()
        finally:
            publisher.close()

    @overload
    def subscribe(
        self,
        filter: str | Filter,
        **options: Unpack[SubscriptionOptions],
    ) -> AbstractAsyncContextManager[Deliveries]: ...

    @overload
    def subscribe(
        self,
        filter: type[T],
        *,
        where: str = ...,
        **options: Unpack[SubscriptionOptions],
    ) -> "AbstractAsyncContextManager[ObjectDeliveries[T]]": ...

    @asynccontextmanager
    async def subscribe(  # noqa: PLR0913 - every option but the first is named and may be left out
        self,
        filter: str | Filter | type,  # noqa: A002 - what it is
        *,
        where: str = "",
        ordered: bool = True,
        bound_bytes: int = BOUND_BYTES,
        policy: Literal["disconnect", "drop"] | None = None,
        durable: str = "",
        age_s: float = 0,
        after: int | None = None,
        ack: Literal["auto", "manual"] = "auto",
        max_open: int = OPEN_COUNT,
        resume: str = "",
        replay: Replay | str | int | None = None,
    ) -> AsyncIterator[Any]:
        """Subscribe to what the filter matches; entered once every matching publication will come.

        If more than `bound_bytes` wait at the broker because this program is slow, or away, the policy
        decides: the broker ends the subscription ("disconnect", the default), or leaves a gap ("drop", the
        default with a durable name).

        Args:
            filter: what to subscribe to, or a class of `concord.events`: then deliveries have an `object`.
            where: for a class: a filter on its fields.
            ordered: whether its order is that on which ordered subscriptions agree.
            bound_bytes: how much may wait at the broker.
            policy: what happens when more waits.
            durable: a name under which the subscription outlives the program. It goes on behind what the
                program had of it: a delivery was had when the next one was asked for.
            age_s: how long it is kept without a program; 0 leaves that to the broker.
            replay: which part of the past comes first: an age ("5m"; "now" is all since this call), a count
                (1000), or a `Replay` with both. What is live follows; each publication comes once. Of more
                than an hour ("30d") comes what a history has, before what brokers have.
            after: the `position` behind which it is to resume, for a program that keeps its own position.
            resume: the `id` of the deliveries that `after` is a position of. If the broker has forgotten
                them, there is a gap of reason "forgotten".
            ack: "manual" if the program had a delivery of a durable subscription only when it has said so, by
                `delivery.ack()` or `deliveries.ack(position)`; what it has not acknowledged comes again.
            max_open: how many deliveries may be unacknowledged; no more come until some are acknowledged.

        Raises:
            FilterError: the filter cannot be read, or names a field that the class does not have.
            EventTypeError: the class is not registered.
            RefusedError: the broker does not let this client subscribe to that.
        """
        self._check()
        text, _ = asked_of(filter, where)
        machine = self._driver.machine
        inbox = subscription(
            text,
            ordered=ordered,
            bound_bytes=bound_bytes,
            policy=policy,
            durable=durable,
            age_s=age_s,
            after=after,
            ack=ack,
            max_open=max_open,
            resume=resume,
            replay=replay,
            limits=machine.session.limits,
            now_s=self._driver.shell.now_s(),
        )
        past = await self._history_for(inbox, replay)
        made = deliveries_of(filter, inbox, self._driver)
        made.past = past
        async with self._open(made) as deliveries:
            yield deliveries

    @asynccontextmanager
    async def _open(self, deliveries: Deliveries) -> AsyncIterator[Deliveries]:
        """Wait until a subscription is open; leave it with the block."""
        is_done = False
        try:
            await deliveries.begin()
            yield deliveries
            is_done = True
        finally:
            await deliveries.leave(had_last=is_done)

    async def _history_for(self, inbox: Inbox, replay: Replay | str | int | None) -> HistoryPast | None:
        """Return the past that comes before the subscription, or None if there is none.

        A durable subscription that is there already has had its past.
        """
        if replay is None or not (asked := Replay.of(replay)).asks_history:
            return None
        if inbox.durable and any(
            each["durable"] == inbox.durable for each in await self.durable_subscriptions()
        ):
            return None
        assert asked.age_s is not None
        since_ns = max(0, time_ns() - round(asked.age_s * 1e9))
        past = await opened_history(self, self._driver, inbox.filter, since_ns, is_due=bool(asked.history))
        if past is not None:
            inbox.seen = SeenEvents()
        return past

    @asynccontextmanager
    async def advertisements(
        self,
        filter: str | Filter = "True",  # noqa: A002 - what it is
    ) -> AsyncIterator[AdvertisementWatch]:
        """Watch what publishers, at any broker, have advertised; entered once all that stands has come.

        Shown is what overlaps the filter and what this user's rule for subscribing covers.

        Raises:
            FilterError: the filter cannot be read.
            RefusedError: this user may not subscribe to anything, or watches too much.
        """
        self._parsed(filter)
        offers = Offers(str(filter))
        self._driver.machine.session.discover(offers)
        watch = AdvertisementWatch(offers, self._driver)
        try:
            await self._driver.until(lambda: offers.is_complete or offers.ended is not None)
            if offers.ended is not None:
                raise offers.ended
            yield watch
        finally:
            watch.close()

    async def forget(self, durable: str) -> None:
        """End the durable subscription of that name that belongs to this user and client name.

        Raises:
            RefusedError: the broker knows none of that name (`code` is "unknown").
        """
        forgetting = Forgetting(durable)
        await self._answered(forgetting)

    async def durable_subscriptions(self) -> list[dict[str, object]]:
        """Return the durable subscriptions of this user and client name: one entry for each."""
        question = Question("", 0, "durable")
        await self._answered(question)
        return question.answers()

    async def explain(self, publisher: str = "", sequence: int = 0) -> list[dict[str, object]]:
        """Return the pending publications at the broker, or the way that one publication took.

        One entry per blocked target, or per broker that the publication came to.
        """
        question = Question(publisher, sequence, "way" if publisher else "waiting")
        await self._answered(question)
        return question.answers()

    async def explain_uplinks(self) -> dict[str, object]:
        """Return the broker's uplink, how often it moved, and the candidates without it."""
        question = Question("", 0, "uplinks")
        await self._answered(question)
        (answer,) = question.answers() or ({},)
        return answer

    async def explain_traffic(self) -> list[dict[str, object]]:
        """Return where the broker is, how long events wait there, and its clients' traffic by filters.

        Raises:
            RefusedError: this user may not move brokers.
        """
        question = Question("", 0, "traffic")
        await self._answered(question)
        return question.answers()

    async def brokers(self) -> list[dict[str, object]]:
        """Return the name and the address of each broker of the overlay that can be dialled."""
        question = Question("", 0, BROKERS)
        await self._answered(question)
        return question.answers()

    async def move(
        self,
        broker: str,
        uplink: str,
        method: Literal["path", "reattach"] = "path",
        on_progress: Callable[[str], None] = ignore_progress,
    ) -> dict[str, object]:
        """Let a broker of the overlay move below another one, and return how that ended.

        By "path" it goes step by step while events flow, and nothing is lost; by "reattach" it detaches
        and attaches again anywhere, with a gap for what may have been missed.

        The "state" of the answer is "moved", "elsewhere" (another broker is its uplink now) or "refused"; its
        "text" says why. What comes before it goes to `on_progress`.

        Raises:
            RefusedError: this user may not move brokers.
        """
        moving = Moving(broker, uplink, method, on_progress)
        await self._answered(moving)
        return moving.outcome

    async def drain(
        self, broker: str, on_progress: Callable[[str], None] = ignore_progress
    ) -> dict[str, object]:
        """Empty a broker and end it: its children move away without a gap, then its clients leave.

        They move to its uplink; those of a root move below one of them, which is the root then. The answer is
        that of a move that was refused, or its "state" is "ended".

        Raises:
            RefusedError: this user may not do that.
        """
        places = await self.brokers()
        # One that has ended is still listed, and is unknown to everybody.
        gone = [
            each["name"]
            for each in places
            if each["uplink"] == broker and (await self.move(str(each["name"]), broker))["state"] == "unknown"
        ]
        moves = to_drain([each for each in places if each["name"] not in gone], broker)
        outcome = await self._reshape(moves, on_progress)
        if outcome["state"] != "moved":
            return outcome
        moving = Moving(broker, "", "end", on_progress)
        await self._answered(moving)
        return moving.outcome

    async def insert(
        self, broker: str, between: tuple[str, str], on_progress: Callable[[str], None] = ignore_progress
    ) -> dict[str, object]:
        """Move a broker of the overlay between two neighbours, without a gap; return how that ended.

        Raises:
            RefusedError: this user may not move brokers.
        """
        moves = to_insert(await self.brokers(), broker, *between)
        if not moves:
            text = f"{' and '.join(between)} are no neighbours that {broker} could come between"
            return {"state": "refused", "text": text}
        return await self._reshape(moves, on_progress)

    async def _reshape(self, moves: Moves, on_progress: Callable[[str], None]) -> dict[str, object]:
        """Ask for moves one after the other, while none is refused; return the end of the last."""
        outcome: dict[str, object] = {"state": "moved", "text": ""}
        for broker, uplink in moves:
            outcome = await self.move(broker, uplink, "path", on_progress)
            if outcome["state"] != "moved":
                break
            on_progress(str(outcome["text"]))
        return outcome

    async def _answered(self, question: Asked) -> None:
        self._check()
        session = self._driver.machine.session
        session.ask(question)
        try:
            await self._driver.until(lambda: question.is_answered)
        finally:
            session.dismiss(question)
        if question.failure is not None:
            raise question.failure

    def _check(self) -> None:
        self._driver.machine.check()

    def _parsed(self, text: str | Filter) -> Filter:
        self._check()
        return parse(str(text))


def machine_of(  # noqa: PLR0913 - one for each option
    brokers: str | Sequence[str],
    name: str,
    token: str | None,
    limits: Limits,
    random: Random | None,
    *,
    learn: bool,
) -> ClientMachine:
    """Return the machine of a client that has not started.

    Raises:
        ConnectionFailedError: one of the brokers is no address.
        ValueError: there is none.
    """
    addresses = [brokers] if isinstance(brokers, str) else list(dict.fromkeys(brokers))
    if not addresses:
        raise ValueError("connect: expected the address of a broker, or of several, got none")
    for each in addresses:
        address_of(each)
    session = Session(name, secrets.token_hex(_INCARNATION_BYTES), token or "", limits)
    spread = random or Random()  # noqa: S311 - spreads waits, hides nothing
    return ClientMachine(session, addresses[0], Backoff(spread), tuple(addresses[1:]), learn)


def ignore_change(_: StateChange) -> None:
    """Do nothing, where the user gives no callback."""
