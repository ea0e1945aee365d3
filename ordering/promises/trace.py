"""A trace: the calls and notifications of a service's clients, in one global order.

Laws.

1. A notification is its `Key`, the publisher and a number, and is published once: `notify(Y, n)` names the
   publisher too. A client has a set of filters of its own, so a program with several subscriptions may be
   several clients.
2. A filter is an id. The caller supplies `matches`, since no other package of Concord is imported here.
3. `rest` is a moment at which no message was on its way and all operations had been carried out: an operation
   that is owed by then and absent will not follow. A trace that ends with `rest` is drained.
4. `torn` means that messages were lost, or the overlay was not in one piece, since the rest before: the
   formal model has reliable channels only. Publications between the two rests around it are not owed to any
   client. Safety is judged all the same.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from attrs import frozen

from ordering.verdicts.history import Key

Matches = Callable[[str, Key], bool]
"""Returns whether a filter matches a notification."""

NOTHING: Final[Key] = ("", 0)


class TraceError(ValueError):
    """A trace contradicts itself, so no verdict on it would mean anything."""


class Operation(NamedTuple):
    """One step: a verb, the client that takes the step, and its filter or notification."""

    verb: str
    client: str = ""
    filter: str = ""
    notification: Key = NOTHING


@frozen
class Trace:
    """A history with its match oracle.

    With `advertising` the service heeds advertisements: a publication that none of them matches is not owed.
    With `acknowledging` it acknowledges a subscription once that is complete.
    """

    operations: Sequence[Operation]
    matches: Matches
    advertising: bool = True
    acknowledging: bool = True


def subscribe(client: str, content: str) -> Operation:
    """`sub(Y, F)`: the client subscribes to the filter, until it unsubscribes."""
    return Operation("sub", client, content)


def unsubscribe(client: str, content: str) -> Operation:
    """`unsub(Y, F)`: the subscription to the filter ends, however often it was made."""
    return Operation("unsub", client, content)


def acknowledge(client: str, content: str) -> Operation:
    """`ack(Y, F)`: the client learns that its subscription is complete from here on."""
    return Operation("ack", client, content)


def advertise(client: str, content: str) -> Operation:
    """`adv(X, F)`: the client may publish whatever the filter matches."""
    return Operation("adv", client, content)


def unadvertise(client: str, content: str) -> Operation:
    """`unadv(X, F)`: the client withdraws the advertisement."""
    return Operation("unadv", client, content)


def publish(notification: Key) -> Operation:
    """`pub(X, n)`, where X is part of n."""
    return Operation("pub", notification[0], "", notification)


def notify(client: str, notification: Key) -> Operation:
    """`notify(Y, n, X)`: the notification is delivered to Y."""
    return Operation("notify", client, "", notification)


def rest() -> Operation:
    """No message is on its way, and all operations have been carried out (law 3)."""
    return Operation("rest")


def torn() -> Operation:
    """Messages were lost, or the overlay is not in one piece (law 4)."""
    return Operation("torn")
