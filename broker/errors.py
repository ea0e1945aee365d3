"""Every error that Concord raises to its users; all of them are `ConcordError`.

Laws:

* An error says what was wrong, where, and what to do about it.
* What a program may want to decide on is an attribute (`code`, `count`, `address`), never only text.
* An error that ends a connection for good is raised from its cause.
* An error is made again from its `args`, so it survives pickling and can come out of another process.
"""


class ConcordError(Exception):
    """Base of all errors that Concord raises on purpose. Its first argument is what people read."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class ConnectionFailedError(ConcordError):
    """No connection to the broker could be made. `address` is the one that was tried."""

    def __init__(self, message: str, address: str) -> None:
        super().__init__(message, address)
        self.address = address


class ConnectionLostError(ConcordError):
    """The connection broke and stays broken: the time to reconnect, if bounded, has run out."""


class BrokerFaultError(ConcordError):
    """The broker closed the connection. `code` is its reason for programs."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message, code)
        self.code = code


class RefusedError(ConcordError):
    """The broker refused an advertisement or a subscription. `code` is the broker's reason for programs."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message, code)
        self.code = code


class ClosedError(ConcordError):
    """The client, publisher or subscription was used after its block had been left."""


class InvalidPublicationError(ConcordError):
    """The attributes or the payload of a publication cannot be published; the message names which."""


class EventTypeError(ConcordError):
    """A class whose objects cannot be events, or that is not registered; the message says which and why."""


class UnreadableEventError(ConcordError):
    """An event cannot be read as an object; the message names the class and the field."""


class NotAdvertisedError(ConcordError):
    """A publication does not match the advertisement of its publisher; the message shows what failed."""


class PublisherEndedError(ConcordError):
    """The broker ended a publisher. `code` is the broker's reason for programs."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message, code)
        self.code = code


class SubscriptionEndedError(ConcordError):
    """The broker ended a subscription. `code` is the broker's reason for programs."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message, code)
        self.code = code


class SlowSubscriberError(SubscriptionEndedError):
    """The broker ended a subscription because its queue there outgrew the subscription's bound."""


class GapError(ConcordError):
    """Deliveries are missing at this position. `count` is their number, or None if it is unknown.

    `reason` is the word of `Gap` for why.
    """

    def __init__(self, message: str, count: int | None, reason: str = "") -> None:
        super().__init__(message, count, reason)
        self.count = count
        self.reason = reason


class StationError(ConcordError):
    """A record or a snapshot that this broker cannot go on from; the text says why and what to do."""
