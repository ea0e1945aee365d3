"""Where a client resumes a subscription, and for how long one without a client is kept.

Law: a client that names its position resumes exactly there, or gets a gap in place of the missing deliveries.
No delivery that it has received is sent again, and none is left out without a gap. A durable subscription
that was left behind here has collected what its client has had at another broker: none of that is delivered.
"""

from typing import Final

from attrs import frozen

from broker.filters import Filter
from broker.messages import Subscribe
from broker.station import LocalSubscriptionState, SubscriptionTerms

BOUND_BYTES_MIN: Final = 64 * 1024
BOUND_BYTES_MAX: Final = 256 * 1024 * 1024
"""The limits of a subscription's queue: with less than a read's worth of events every burst would be a gap,
and with more one client could fill the memory of a small machine."""

DURABLE_AGE_MAX_S: Final = 7 * 24 * 3600
"""A durable subscription that is not resumed within a week expires, or sooner if its client asks for it."""


@frozen
class StartPosition:
    """Deliveries follow on `position`; the first `missing_count` of them are not kept any more.

    `goes_on` means that this is the client's own position, `is_had` that its program has had all before it.
    """

    position: int
    missing_count: int
    goes_on: bool
    is_had: bool = False


def start_of(request: Subscribe, state: LocalSubscriptionState) -> StartPosition:
    """Return the position at which a client resumes a known subscription."""
    if not request.after:
        return StartPosition(state.taken, 0, goes_on=True)
    position = request.after[0]
    if request.resume and _broker_in(request.resume) != _broker_in(state.id):
        return StartPosition(state.emitted, 0, goes_on=False, is_had=True)
    is_of_another_life = request.resume not in {"", state.id} or position > state.emitted
    if is_of_another_life:
        return StartPosition(state.taken, 0, goes_on=False)
    if position < state.taken:
        return StartPosition(position, state.taken - position, goes_on=True)
    # What a client has received for a durable subscription may die with it before its program had it.
    is_had = not (state.terms.durable and request.resume)
    return StartPosition(position, 0, goes_on=True, is_had=is_had)


def _broker_in(identity: str) -> str:
    """Return the name of the broker that has made an id (`Station.mint`)."""
    return identity.rpartition("@")[2].rpartition(".")[0]


def session_timeout_s(terms: SubscriptionTerms, link_timeout_s: float) -> float:
    """Return for how long a subscription without a client is kept."""
    if not terms.durable:
        return link_timeout_s
    return min(terms.age_s or DURABLE_AGE_MAX_S, DURABLE_AGE_MAX_S)


def terms_of(request: Subscribe, wanted: Filter, client: str, user: str) -> SubscriptionTerms:
    """Return the terms that a client gets for its request, its queue's limit taken into the allowed range."""
    bound_bytes = min(max(request.bound_bytes, BOUND_BYTES_MIN), BOUND_BYTES_MAX)
    own = client, user, request.durable
    return SubscriptionTerms(wanted, request.ordered, *own, bound_bytes, request.policy, request.age_s)
