"""Concord in seconds: three brokers, a publisher, and three subscribers who want different things.

Everything on screen is what a user's program would see: real brokers, and the public client. At the end the
tour checks that each subscriber was delivered exactly what its filter matches, in the order it was
published.

Run as `python -m harness.tour`.
"""

import sys
from collections.abc import Mapping
from typing import Final

import attrs
import click
import trio

from broker import Client, connect
from broker.filters import parse
from broker.filters.constraints import Value
from harness import outcomes
from harness.overlay import start_brokers
from harness.processes import Server

__all__ = ["command"]

Event = Mapping[str, Value]

UPLINKS: Final = {"B1": None, "B2": "B1", "B3": "B1"}
PUBLISHER_BROKER: Final = "B3"
ADVERTISED: Final = "kind == 'trade' and price > 0"

TRADES: Final[tuple[Event, ...]] = tuple(
    {"kind": "trade", "symbol": symbol, "price": price}
    for symbol, price in (
        ("IBM", 101.5),
        ("SAP", 248.0),
        ("IBM", 99.25),
        ("SIE", 187.4),
        ("SAP", 251.5),
        ("ASML", 702.1),
        ("IBM", 103.0),
        ("SIE", 96.3),
    )
)

PACE_S: Final = 0.15
"""Between two trades, so that a reader can follow."""

ARRIVAL_TIMEOUT_S: Final = 10.0
"""Deliveries come within milliseconds; what has not come by then was lost."""

QUIET_S: Final = 0.2
"""How long to go on listening when everything expected is there, for what should not come."""


@attrs.frozen(eq=False)
class _Subscriber:
    """Who subscribes where, to what, and what has come."""

    name: str
    broker: str
    filter: str
    received: list[Event] = attrs.field(factory=list)
    complete: trio.Event = attrs.field(factory=trio.Event)

    def expected(self) -> list[Event]:
        """What the filter matches, found without any broker."""
        wanted = parse(self.filter)
        return [trade for trade in TRADES if wanted.match(trade)]

    def take(self, event: Event) -> None:
        """Note a delivery."""
        self.received.append(event)
        if len(self.received) >= len(self.expected()):
            self.complete.set()


def _audience() -> list[_Subscriber]:
    return [
        _Subscriber("alice", "B1", "symbol == 'IBM'"),
        _Subscriber("bob", "B2", "100 < price <= 250"),
        _Subscriber("carol", "B3", "symbol in ('SAP', 'SIE') and price > 100"),
    ]


def _show(who: str, broker: str, event: Event, *, published: bool) -> None:
    what = f"{event['symbol']:<5} {event['price']:>7.2f}"
    click.echo(
        f"{who:<9} at {broker}  " + (f"publishes  {what}" if published else f"           {what}  delivered")
    )


async def _attend(subscriber: _Subscriber, address: str, task_status: trio.TaskStatus[None]) -> None:
    """Show and note everything delivered to a subscriber, until cancelled."""
    async with (
        connect(address, name=subscriber.name) as client,
        client.subscribe(subscriber.filter) as deliveries,
    ):
        task_status.started()
        async for delivery in deliveries:
            _show(subscriber.name, subscriber.broker, delivery.attributes, published=False)
            subscriber.take(delivery.attributes)


async def _publish_all(client: Client) -> None:
    async with client.advertise(ADVERTISED) as publisher:
        for trade in TRADES:
            _show("exchange", PUBLISHER_BROKER, trade, published=True)
            await publisher.publish(trade)
            await trio.sleep(PACE_S)


async def _perform(servers: Mapping[str, Server], audience: list[_Subscriber]) -> None:
    """Connect everybody, publish everything, and wait for what should come."""
    async with trio.open_nursery() as nursery:
        for subscriber in audience:
            await nursery.start(_attend, subscriber, servers[subscriber.broker].address)
            click.echo(f"{subscriber.name:<9} at {subscriber.broker}  subscribes {subscriber.filter}")
        async with connect(servers[PUBLISHER_BROKER].address, name="exchange") as client:
            click.echo(f"{'exchange':<9} at {PUBLISHER_BROKER}  advertises {ADVERTISED}\n")
            await _publish_all(client)
        with trio.move_on_after(ARRIVAL_TIMEOUT_S):
            for subscriber in audience:
                await subscriber.complete.wait()
            await trio.sleep(QUIET_S)
        nursery.cancel_scope.cancel()


async def _tour(audience: list[_Subscriber]) -> None:
    """Everything from the first broker's start to the last one's end."""
    async with trio.open_nursery() as nursery:
        servers = await start_brokers(nursery, UPLINKS)
        for name, uplink in UPLINKS.items():
            place = "is the top" if uplink is None else f"dials {uplink}"
            click.echo(f"broker {name} {place:<10}  {servers[name].address}")
        click.echo()
        await _perform(servers, audience)
        nursery.cancel_scope.cancel()


def _verdict(subscriber: _Subscriber) -> bool:
    expected = subscriber.expected()
    kept = subscriber.received == expected
    outcome = (
        "exactly what the filter matches" if kept else f"NOT what the filter matches: {subscriber.received}"
    )
    click.echo(f"{subscriber.name:<9} {len(subscriber.received)} of {len(TRADES)} trades, {outcome}")
    return kept


@click.command()
def command() -> None:
    """Start a small overlay, publish through it, and show who is delivered what."""
    audience = _audience()
    outcomes.run(_tour, audience)
    click.echo()
    verdicts = [_verdict(subscriber) for subscriber in audience]
    sys.exit(0 if all(verdicts) else 1)


if __name__ == "__main__":
    command()
