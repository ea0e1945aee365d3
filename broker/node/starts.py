"""Where a subscription goes on that a client comes back to, and for how long it is kept without one.

Law: whoever says where it stands goes on exactly there, or is told that something is missing. Nothing is
delivered that was received before, and nothing is left out in silence.
"""

from typing import Final

from attrs import frozen

from broker.filters import Filter
from broker.messages import Subscribe
from broker.station import SubscriptionPlace, SubscriptionTerms

__all__ = ["StartPosition", "patience_of", "start_of", "terms_of"]

BOUND_BYTES_MIN: Final = 64 * 1024
BOUND_BYTES_MAX: Final = 256 * 1024 * 1024
"""A subscription's bound is taken into these limits: with less than a read's worth of events every burst
would be a gap, and with more one client could fill the memory of a small machine."""

DURABLE_AGE_MAX_S: Final = 7 * 24 * 3600
"""A durable subscription that nobody came back to for a week is forgotten, unless its client said sooner."""


@frozen
class StartPosition:
    """What is delivered counts on from `position`; the next `missing_count` are not kept any more.

    It `goes_on` if that is where the client stands. `is_had`: its program has had everything before.
    """

    position: int
    missing_count: int
    goes_on: bool
    is_had: bool = False


def start_of(request: Subscribe, place: SubscriptionPlace) -> StartPosition:
    """Return where a client goes on with a subscription that is known."""
    if not request.after:
        return StartPosition(place.taken, 0, goes_on=True)
    position = request.after[0]
    is_of_another_life = request.resume not in {"", place.id} or position > place.emitted
    if is_of_another_life:
        return StartPosition(place.taken, 0, goes_on=False)
    if position < place.taken:
        return StartPosition(position, place.taken - position, goes_on=True)
    # What a client has received for a durable subscription may die with it before its program had it.
    is_had = not (place.terms.durable and request.resume)
    return StartPosition(position, 0, goes_on=True, is_had=is_had)


def patience_of(terms: SubscriptionTerms, link_timeout_s: float) -> float:
    """Return for how long a subscription is kept without a client."""
    if not terms.durable:
        return link_timeout_s
    return min(terms.age_s or DURABLE_AGE_MAX_S, DURABLE_AGE_MAX_S)


def terms_of(request: Subscribe, wanted: Filter, client: str, user: str) -> SubscriptionTerms:
    """Return the terms that a client gets for its request, with its bound within the limits."""
    bound_bytes = min(max(request.bound_bytes, BOUND_BYTES_MIN), BOUND_BYTES_MAX)
    own = client, user, request.durable
    return SubscriptionTerms(wanted, request.ordered, *own, bound_bytes, request.policy, request.age_s)
