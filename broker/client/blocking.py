"""The client of `concord.sync`, for programs without a loop. Every call blocks until it is done.

Law: there is no second client here. Each call runs the coroutine of `Client`, `Publisher` or `Deliveries`,
which waits as its shell lets it: here, on a condition, in the calling thread.
"""

import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from math import inf
from random import Random
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, Unpack, overload

from attrs import define

from broker.client import client as loops
from broker.client import deliveries as reading
from broker.client import discovering
from broker.client import publisher as publishing
from broker.client.client import LIMITS, ignore_change, ignore_progress, machine_of
from broker.client.deliveries import BATCH_COUNT
from broker.client.delivery import Delivery, Gap
from broker.client.driver import Driver
from broker.client.life import StateChange
from broker.client.limits import BOUND_BYTES, OPEN_COUNT, Limits
from broker.client.offers import AdvertisementChange
from broker.client.options import SubscriptionOptions
from broker.client.replay import Replay
from broker.client.thread_shell import ThreadShell
from broker.errors import GapError
from broker.filters import Filter

if TYPE_CHECKING:
    from broker.client.objects import EventObject, ObjectDelivery
    from broker.filters.constraints import Value

T = TypeVar("T")
_Entered = TypeVar("_Entered")


@contextmanager
def _entered(shell: ThreadShell, block: AbstractAsyncContextManager[_Entered]) -> Iterator[_Entered]:
    """Enter and leave an asynchronous block."""
    entered = shell.run(_aenter(block))
    try:
        yield entered
    except BaseException as error:
        if not shell.run(_aexit(block, error)):
            raise
    else:
        shell.run(_aexit(block, None))


async def _aenter(block: AbstractAsyncContextManager[_Entered]) -> _Entered:
    return await block.__aenter__()


async def _aexit(block: AbstractAsyncContextManager[object], error: BaseException | None) -> bool | None:
    if error is None:
        return await block.__aexit__(None, None, None)
    return await block.__aexit__(type(error), error, error.__traceback__)


@define(eq=False)
class Publisher:
    """Publishes what its advertisement matches, for any number of threads. Made by `Client.advertise`."""

    _shell: ThreadShell
    _publisher: publishing.Publisher

    @property
    def id(self) -> str:
        """The id by which subscribers know it. It changes if the broker has forgotten it while away."""
        return self._publisher.id

    @property
    def sequence(self) -> int:
        """The number of its last event."""
        return self._publisher.sequence

    @property
    def is_wanted(self) -> bool:
        """Whether a subscription, at any broker, overlaps the advertisement."""
        return self._publisher.is_wanted

    def publish(
        self,
        attributes: "Mapping[str, Value] | EventObject",
        payload: bytes | bytearray | memoryview = b"",
        *,
        ordered: bool = True,
        confirm: bool = False,
    ) -> int:
        """Put a publication into the window; return its sequence number. Blocks while the window is full.

        An event is a mapping of names to values, or an object of a class that `concord.events` knows.
        With `confirm` it also blocks until the broker has taken the publication over, as `flush` does.

        Raises:
            NotAdvertisedError: the advertisement does not match; the message shows what fails.
            InvalidPublicationError: an attribute or the payload cannot be published.
            PublisherEndedError: the broker has ended this publisher.
            ConcordError: the client is closed or has failed.
        """
        publisher = self._publisher
        return self._shell.run(publisher.publish(attributes, payload, ordered=ordered, confirm=confirm))

    def flush(self) -> None:
        """Block until the broker has acknowledged everything published so far."""
        self._shell.run(self._publisher.flush())

    def wanted(self) -> None:
        """Block until a subscriber is interested."""
        self._shell.run(self._publisher.wanted())

    def unwanted(self) -> None:
        """Block until no subscriber is interested."""
        self._shell.run(self._publisher.unwanted())


@define(eq=False)
class Deliveries:
    """The deliveries of one subscription, for one thread at a time. Made by `Client.subscribe`."""

    _shell: ThreadShell
    _deliveries: reading.Deliveries

    def __attrs_post_init__(self) -> None:
        self._deliveries.acknowledge_by(self._acknowledge)

    def _acknowledge(self, era: int, position: int) -> None:
        with self._shell.lock:
            self._deliveries.acknowledge(era, position)

    def ack(self, position: int) -> None:
        """Acknowledge all deliveries up to this position, from any thread: the program is done with them.

        Raises:
            ValueError: nothing was delivered at that position, or the subscription was not made with
                `ack="manual"`.
            ClosedError: the subscription's block has been left.
        """
        with self._shell.lock:
            self._deliveries.ack(position)

    @property
    def is_resumed(self) -> bool:
        """Whether the broker has resumed this durable subscription."""
        return self._deliveries.is_resumed

    @property
    def id(self) -> str:
        """What the broker calls the subscription; another name behind a gap of reason "forgotten"."""
        return self._deliveries.id

    @property
    def position(self) -> int:
        """The position of the last delivery or gap that came out here, or where it all begins."""
        return self._deliveries.position

    def __iter__(self) -> Iterator[Delivery]:
        """Iterate over deliveries; a gap is raised as `GapError`, and iterating again goes on behind it."""
        while True:
            yield from self._deliveries.batch
            gap = self._shell.run(self._deliveries.next_batch())
            if gap is not None:
                raise self._deliveries.error_of(gap)

    def with_gaps(self) -> Iterator[Delivery | Gap]:
        """Iterate over deliveries, with each gap as a `Gap` at its position."""
        while True:
            try:
                yield from self
            except GapError as error:
                yield Gap(error.count, error.reason)

    def next(self, timeout_s: float = inf) -> Delivery:
        """Return the next delivery.

        Raises:
            TimeoutError: none has come within so many seconds.
            GapError: deliveries are missing here; the next call goes on behind them.
        """
        deadline_s = monotonic() + timeout_s
        while (delivery := next(self._deliveries.batch, None)) is None:
            self._wait(deadline_s)
        return delivery

    def _wait(self, deadline_s: float) -> None:
        """Block until there is a batch; raise the gap before it, or `TimeoutError`."""
        gaps: list[Gap | None] = []

        async def wait() -> None:
            gaps.append(await self._deliveries.next_batch())

        self._shell.run(self._shell.run_until(wait, lambda: deadline_s))
        if not gaps:
            raise TimeoutError("no delivery has come in time")
        if (gap := gaps[0]) is not None:
            raise self._deliveries.error_of(gap)

    def batches(self, max_count: int = BATCH_COUNT, max_s: float = 0) -> Iterator[list[Delivery]]:
        """Iterate over lists of deliveries, up to `max_count` in each; gaps are raised between lists.

        A list has what has arrived. With `max_s` it waits for more, for so long after its first delivery. The
        deliveries of a list were had when the next list is asked for.
        """
        self._deliveries.batches(max_count, max_s)
        while True:
            yield self._shell.run(self._deliveries.next_list(max_count, max_s))


class ObjectDeliveries(Deliveries, Generic[T]):
    """The deliveries of a subscription by a class, each with its `object`. Made by `Client.subscribe`."""

    if TYPE_CHECKING:

        def __iter__(self) -> "Iterator[ObjectDelivery[T]]": ...

        def with_gaps(self) -> "Iterator[ObjectDelivery[T] | Gap]":
            """Iterate over deliveries, with each gap as a `Gap` at its position."""

        def next(self, timeout_s: float = inf) -> "ObjectDelivery[T]":
            """Return the next delivery."""

        def batches(  # type: ignore[override]  # a list of these is read as a list of deliveries
            self, max_count: int = BATCH_COUNT, max_s: float = 0
        ) -> "Iterator[list[ObjectDelivery[T]]]":
            """Iterate over lists of deliveries."""


@define(eq=False)
class AdvertisementWatch(Iterator[AdvertisementChange]):
    """The advertisements on offer, for one thread at a time. Made by `Client.advertisements`."""

    _shell: ThreadShell
    _watch: discovering.AdvertisementWatch

    @property
    def standing(self) -> Mapping[str, str]:
        """What stands now: each publisher's filter. Behind a lost connection it fills anew."""
        with self._shell.lock:
            return dict(self._watch.standing)

    def __next__(self) -> AdvertisementChange:
        """The next change: first all that stands, then "complete", then what comes and goes. Blocks."""
        return self._shell.run(anext(self._watch))


@define(eq=False)
class Client:
    """A connection to a broker that is made again when it is lost, for any number of threads."""

    _shell: ThreadShell
    _client: loops.Client

    @property
    def name(self) -> str:
        """The name of this client at the broker."""
        return self._client.name

    @property
    def state(self) -> str:
        """The connection's state: "connected", "reconnecting" or "closed"."""
        return self._client.state

    @property
    def broker(self) -> str:
        """The name of the broker, or nothing while there is no connection."""
        return self._client.broker

    @contextmanager
    def advertise(
        self,
        filter: str | Filter | type,  # noqa: A002 - what it is
        *,
        where: str = "",
        schema: Mapping[str, object] | bool = False,
        resume: str = "",
    ) -> Iterator[Publisher]:
        """Become a publisher of what the filter matches; entered once the whole overlay knows.

        Leaving the block waits until everything published is taken over; leaving it by an error does not.
        With `resume` it goes on as the publisher of that id, as `concord.Client.advertise` does; `where` and
        `schema` are as there.

        Raises:
            FilterError: the filter cannot be read.
            EventTypeError: the class is not registered, or the schema is none.
            RefusedError: the broker does not let this client advertise that.
        """
        block = self._client.advertise(filter, where=where, schema=schema, resume=resume)
        with _entered(self._shell, block) as publisher:
            yield Publisher(self._shell, publisher)

    @overload
    def subscribe(
        self,
        filter: str | Filter,
        **options: Unpack[SubscriptionOptions],
    ) -> AbstractContextManager[Deliveries]: ...

    @overload
    def subscribe(
        self,
        filter: type[T],
        *,
        where: str = ...,
        **options: Unpack[SubscriptionOptions],
    ) -> "AbstractContextManager[ObjectDeliveries[T]]": ...

    @contextmanager
    def subscribe(  # noqa: PLR0913 - every option but the first is named and may be left out
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
    ) -> Iterator[Any]:
        """Subscribe to what the filter matches, as `concord.Client.subscribe` does; the options are the same.

        Raises:
            FilterError: the filter cannot be read, or names a field that the class does not have.
            EventTypeError: the class is not registered.
            RefusedError: the broker does not let this client subscribe to that.
        """
        ask: Callable[..., AbstractAsyncContextManager[reading.Deliveries]] = self._client.subscribe
        block = ask(
            filter,
            where=where,
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
        )
        kind = ObjectDeliveries if isinstance(filter, type) else Deliveries
        with _entered(self._shell, block) as deliveries:
            yield kind(self._shell, deliveries)

    @contextmanager
    def advertisements(
        self,
        filter: str | Filter = "True",  # noqa: A002 - what it is
    ) -> Iterator[AdvertisementWatch]:
        """Watch what publishers have advertised, as `concord.Client.advertisements` does.

        Raises:
            FilterError: the filter cannot be read.
            RefusedError: this user may not subscribe to anything, or watches too much.
        """
        with _entered(self._shell, self._client.advertisements(filter)) as watch:
            yield AdvertisementWatch(self._shell, watch)

    def forget(self, durable: str) -> None:
        """End the durable subscription of that name that belongs to this user and client name.

        Raises:
            RefusedError: the broker knows none of that name (`code` is "unknown").
        """
        self._shell.run(self._client.forget(durable))

    def durable_subscriptions(self) -> list[dict[str, object]]:
        """Return the durable subscriptions of this user and client name: one entry for each."""
        return self._shell.run(self._client.durable_subscriptions())

    def explain(self, publisher: str = "", sequence: int = 0) -> list[dict[str, object]]:
        """Return the pending publications at the broker, or the way that one publication took."""
        return self._shell.run(self._client.explain(publisher, sequence))

    def explain_uplinks(self) -> dict[str, object]:
        """Return the broker's uplink, how often it moved, and the candidates without it."""
        return self._shell.run(self._client.explain_uplinks())

    def explain_traffic(self) -> list[dict[str, object]]:
        """Return where the broker is, how long events wait there, and its clients' traffic by filters."""
        return self._shell.run(self._client.explain_traffic())

    def move(
        self,
        broker: str,
        uplink: str,
        method: Literal["path", "reattach"] = "path",
        on_progress: Callable[[str], None] = ignore_progress,
    ) -> dict[str, object]:
        """Let a broker of the overlay move below another one, and return how that ended."""
        return self._shell.run(self._client.move(broker, uplink, method, on_progress))

    def drain(self, broker: str, on_progress: Callable[[str], None] = ignore_progress) -> dict[str, object]:
        """Empty a broker and end it: its children move away without a gap, its clients leave."""
        return self._shell.run(self._client.drain(broker, on_progress))

    def insert(
        self, broker: str, between: tuple[str, str], on_progress: Callable[[str], None] = ignore_progress
    ) -> dict[str, object]:
        """Move a broker of the overlay between two neighbours, without a gap; return how that ended."""
        return self._shell.run(self._client.insert(broker, between, on_progress))

    def brokers(self) -> list[dict[str, object]]:
        """Return the name and the address of each broker of the overlay that can be dialled."""
        return self._shell.run(self._client.brokers())


@contextmanager
def connect(  # noqa: PLR0913 - every option but the first is named and may be left out
    address: str | Sequence[str],
    *,
    name: str = "client",
    token: str | None = None,
    tls: ssl.SSLContext | None = None,
    retry: bool = False,
    learn: bool = False,
    limits: Limits = LIMITS,
    on_state: Callable[[StateChange], None] | None = None,
    random: Random | None = None,
) -> Iterator[Client]:
    """Connect to a broker; the client reconnects by itself until the block is left.

    Args:
        address: HOST:PORT of the broker, or of several: when one is lost for good, another one is dialled.
        name: what the broker calls this client; it need not be unique.
        token: proves to the broker who this client is, where the broker asks for that.
        tls: how to check the broker's certificate (and show one's own); None connects without TLS.
        retry: keep trying if no first connection can be made, instead of raising.
        learn: go to any broker of the overlay too, when all of `address` are lost for good.
        limits: the client's bounds.
        on_state: called with each `StateChange`: connected, reconnecting, closed; in the client's own thread
            as a rule, so it must not call the client.
        random: where the spread of the waits between attempts comes from.

    Raises:
        ConnectionFailedError: no connection could be made; the message names address and cause.
        BrokerFaultError: the broker refuses this client.
    """
    machine = machine_of(address, name, token, limits, random, learn=learn)
    shell = ThreadShell(tls)
    shell.driver = driver = Driver(machine, shell, on_state or ignore_change)
    shell.start(retry=retry)
    try:
        shell.run(driver.opened())
        yield Client(shell, loops.Client(name, driver))
        shell.run(driver.left())
    finally:
        shell.stop()
