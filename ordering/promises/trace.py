"""What the clients of a service did and saw, in one global order.

Laws.

1. A notification is its `Key`, the publisher and a number, and is published once: `notify(Y, n)` names the
   publisher too. A client is whoever has filters of its own, so a program with several subscriptions may be
   several clients.
2. A filter is an id. What it matches says the caller, for nothing of ours is imported here.
3. `rest` is a moment at which nothing was on its way and everything had been carried out: what was owed by
   then and has not come will not come. A trace that ends with it is drained.
4. `torn` says that something was lost, or the overlay was not in one piece, since the rest before: the
   formal model knows reliable channels alone. What is published between the two rests around it is owed to
   nobody. What may not happen is judged all the same.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from attrs import frozen

from ordering.verdicts.history import Key

Matches = Callable[[str, Key], bool]
"""Whether a filter matches a notification."""

NOTHING: Final[Key] = ("", 0)


class TraceError(ValueError):
    """A trace contradicts itself, so no verdict on it would mean anything."""


class Operation(NamedTuple):
    """One step: a verb, whose step it is, and the filter or the notification it is about."""

    verb: str
    client: str = ""
    filter: str = ""
    notification: Key = NOTHING


@frozen
class Trace:
    """A history with its match oracle.

    With `advertising` the service heeds advertisements, so nothing is owed that none of them announced. With
    `acknowledging` it says when a subscription is complete; without, nobody waits to hear that.
    """

    operations: Sequence[Operation]
    matches: Matches
    advertising: bool = True
    acknowledging: bool = True


def subscribe(client: str, content: str) -> Operation:
    """`sub(Y, F)`: the client wants what the filter matches, until it says otherwise."""
    return Operation("sub", client, content)


def unsubscribe(client: str, content: str) -> Operation:
    """`unsub(Y, F)`: however often it subscribed the filter, that is over."""
    return Operation("unsub", client, content)


def acknowledge(client: str, content: str) -> Operation:
    """`ack(Y, F)`: the client is told that its subscription is complete from here on."""
    return Operation("ack", client, content)


def advertise(client: str, content: str) -> Operation:
    """`adv(X, F)`: the client may publish what the filter matches."""
    return Operation("adv", client, content)


def unadvertise(client: str, content: str) -> Operation:
    """`unadv(X, F)`: it will publish no more of that."""
    return Operation("unadv", client, content)


def publish(notification: Key) -> Operation:
    """`pub(X, n)`, where X is part of n."""
    return Operation("pub", notification[0], "", notification)


def notify(client: str, notification: Key) -> Operation:
    """`notify(Y, n, X)`: it is delivered to Y."""
    return Operation("notify", client, "", notification)


def rest() -> Operation:
    """Nothing is on its way, and everything has been carried out (law 3)."""
    return Operation("rest")


def torn() -> Operation:
    """Something is lost, or not in one piece (law 4)."""
    return Operation("torn")
