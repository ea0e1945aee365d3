"""The variables of the specifications, after each operation of a trace.

| here | there |
|---|---|
| `subscribed[Y]` | S_Y, which is pend_Y and ack_Y together |
| `advertised[X]` | A_X |
| `published` | P_X, for all X: a notification names its publisher |
| `delivered[Y]` | D_Y, each notification where it came first |

An *epoch* lasts from one rest to the next. Operations of earlier epochs have been carried out.
"""

from collections.abc import Mapping
from typing import Final

from attrs import Factory, define, frozen

from ordering.promises.trace import Operation, Trace, TraceError
from ordering.verdicts.history import Key
from ordering.verdicts.words import name


@define(eq=False)
class SubscriptionState:
    """One filter of one client, while it is subscribed. It is pending, acknowledged, or both."""

    since: int
    epoch: int
    pending_since: int | None
    pending_epoch: int
    acknowledged_at: int | None = None


@frozen(eq=False)
class PublicationState:
    """Where a notification was published; `is_announced` if an advertisement of its publisher matched."""

    step: int
    epoch: int
    is_announced: bool


NONE: Final[Mapping[Key, int]] = {}
NO_FILTERS: Final[Mapping[str, SubscriptionState]] = {}


@define(eq=False)
class State:
    """The variables after some steps of the trace."""

    trace: Trace
    epoch: int = 0
    torn: set[int] = Factory(set)
    subscribed: dict[str, dict[str, SubscriptionState]] = Factory(dict)
    unsubscribed: dict[str, tuple[str, int]] = Factory(dict)
    advertised: dict[str, dict[str, int]] = Factory(dict)
    published: dict[Key, PublicationState] = Factory(dict)
    delivered: dict[str, dict[Key, int]] = Factory(dict)

    def filters_of(self, client: str) -> Mapping[str, SubscriptionState]:
        """Return S_Y."""
        return self.subscribed.get(client, NO_FILTERS)

    def delivered_to(self, client: str) -> Mapping[Key, int]:
        """Return D_Y."""
        return self.delivered.get(client, NONE)

    def owed(self) -> list[tuple[Key, PublicationState]]:
        """Return the publications that can be owed: advertised, if that is heeded, and in no torn epoch."""
        advertising, lost = self.trace.advertising, self.torn
        return [
            each
            for each in self.published.items()
            if each[1].epoch not in lost and (each[1].is_announced or not advertising)
        ]

    def follow(self, operation: Operation, step: int) -> None:
        """Take one step; raise `TraceError` for an unknown verb."""
        change = CHANGES.get(operation.verb)
        if change is None:
            raise TraceError(f"step {step} is {operation.verb!r}; a trace knows {', '.join(CHANGES)}")
        change(self, operation, step)

    def _sub(self, operation: Operation, step: int) -> None:
        filters = self.subscribed.setdefault(operation.client, {})
        known = filters.get(operation.filter)
        if known is None:
            filters[operation.filter] = SubscriptionState(step, self.epoch, step, self.epoch)
        elif known.pending_since is None:
            known.pending_since, known.pending_epoch = step, self.epoch

    def _unsub(self, operation: Operation, step: int) -> None:
        self.subscribed.get(operation.client, {}).pop(operation.filter, None)
        self.unsubscribed[operation.client] = operation.filter, step

    def _ack(self, operation: Operation, step: int) -> None:
        known = self.filters_of(operation.client).get(operation.filter)
        if known is not None and known.pending_since is not None:
            known.pending_since = None
            known.acknowledged_at = step if known.acknowledged_at is None else known.acknowledged_at

    def _adv(self, operation: Operation, step: int) -> None:
        del step
        self.advertised.setdefault(operation.client, {}).setdefault(operation.filter, self.epoch)

    def _unadv(self, operation: Operation, step: int) -> None:
        del step
        self.advertised.get(operation.client, {}).pop(operation.filter, None)

    def _pub(self, operation: Operation, step: int) -> None:
        key = operation.notification
        if key in self.published:
            raise TraceError(f"{name(key)} is published at steps {self.published[key].step} and {step}")
        matches = self.trace.matches
        announced = any(matches(content, key) for content in self.advertised.get(operation.client, ()))
        self.published[key] = PublicationState(step, self.epoch, announced)

    def _notify(self, operation: Operation, step: int) -> None:
        self.delivered.setdefault(operation.client, {}).setdefault(operation.notification, step)

    def _rest(self, operation: Operation, step: int) -> None:
        del operation, step
        self.epoch += 1

    def _torn(self, operation: Operation, step: int) -> None:
        del operation, step
        self.torn.add(self.epoch)


CHANGES: Final = {
    "sub": State._sub,  # noqa: SLF001 - the table of this class's own steps
    "unsub": State._unsub,  # noqa: SLF001 - as above
    "ack": State._ack,  # noqa: SLF001 - as above
    "adv": State._adv,  # noqa: SLF001 - as above
    "unadv": State._unadv,  # noqa: SLF001 - as above
    "pub": State._pub,  # noqa: SLF001 - as above
    "notify": State._notify,  # noqa: SLF001 - as above
    "rest": State._rest,  # noqa: SLF001 - as above
    "torn": State._torn,  # noqa: SLF001 - as above
}
"""The change of each operation."""
