"""Accounts of the resources that peers use: one per connection, one per user, one per broker.

Laws.

1. A charge to a user is a charge to the broker too, for as long as the resource is held, connected or not. A
   charge to a connection lasts while that connection holds the resource.
2. A refusal names the limit and its owner, and changes nothing.
3. A charge is released once, when the resource is given up, by either side.
"""

from collections import Counter
from collections.abc import Mapping
from enum import Enum

from attrs import define, field

from broker.node.limits import NodeLimits
from broker.node.rates import Rate


class Resource(Enum):
    """The limited resources, in the words of a refusal."""

    REQUESTS = "publishers and subscriptions"
    FILTER_BYTES = "bytes of filters"
    DURABLE = "durable subscriptions"
    QUESTIONS = "open questions"
    CONNECTIONS = "connections"
    KEPT_BYTES = "bytes kept for subscriptions"
    WATCHES = "watches of advertisements"


@define(eq=False)
class Account:
    """One account. `owner` names its owner in the words of a refusal."""

    owner: str
    limits: Mapping[Resource, int]
    above: "Account | None" = None
    changes: Rate | None = None
    used: Counter[Resource] = field(factory=Counter)

    def refusal(self, resource: Resource, count: int = 1) -> str:
        """Return why this much more is refused; nothing if there is room for it."""
        full = self.full(resource, count)
        if full is None:
            return ""
        return f"{full.owner} has at most {full.limits[resource]} {resource.value} at a time"

    def full(self, resource: Resource, count: int) -> "Account | None":
        """Return the account, this one or one above it, that has no room for so much more."""
        limit = self.limits.get(resource)
        if limit is not None and count > 0 and self.used[resource] + count > limit:
            return self
        return None if self.above is None else self.above.full(resource, count)

    def charge(self, resource: Resource, count: int = 1) -> None:
        """Charge this much; the caller has checked `refusal` before."""
        self.used[resource] += count
        if self.above is not None:
            self.above.charge(resource, count)

    def release(self, resource: Resource, count: int = 1) -> None:
        """Release this much."""
        self.used[resource] -= count
        assert self.used[resource] >= 0, f"{self.owner} gave back more {resource.value} than it had"
        if self.above is not None:
            self.above.release(resource, count)


@define(eq=False)
class Budgets:
    """The accounts of one broker. An account of a user stays while anything is charged to it."""

    limits: NodeLimits
    broker: Account = field(init=False)
    _users: dict[str, Account] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        limits = self.limits
        self.broker = Account(
            "this broker",
            {
                Resource.REQUESTS: limits.broker_requests,
                Resource.FILTER_BYTES: limits.broker_filter_bytes,
                Resource.DURABLE: limits.broker_durable,
                Resource.QUESTIONS: limits.broker_questions,
                Resource.WATCHES: limits.broker_watches,
                Resource.KEPT_BYTES: limits.broker_kept_bytes,
            },
        )

    def user(self, name: str) -> Account:
        """Return the account of a user; "" is the user of all peers where users are not known."""
        known = self._users.get(name)
        if known is None:
            limits = self.limits
            known = self._users[name] = Account(
                f"user {name!r}" if name else "whoever is not known as a user",
                {
                    Resource.REQUESTS: limits.user_requests,
                    Resource.FILTER_BYTES: limits.user_filter_bytes,
                    Resource.DURABLE: limits.durable,
                    Resource.KEPT_BYTES: limits.kept_bytes,
                    Resource.WATCHES: limits.user_watches,
                    **({Resource.CONNECTIONS: limits.user_connections} if name else {}),
                },
                self.broker,
                Rate.of(limits.user_changes_per_s, limits.user_requests),
            )
        return known

    def connection(self) -> Account:
        """Return a fresh account for a connection."""
        limits = self.limits
        return Account(
            "a connection",
            {
                Resource.REQUESTS: limits.requests,
                Resource.FILTER_BYTES: limits.filter_bytes,
                Resource.QUESTIONS: limits.questions,
                Resource.WATCHES: limits.watches,
            },
            changes=Rate.of(limits.changes_per_s, limits.requests),
        )
