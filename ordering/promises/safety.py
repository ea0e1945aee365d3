"""The axioms of safety: each judges one operation by the state before it.

An axiom returns a sentence if the operation breaks it, and an empty text if not. Such a violation is in a
finite prefix, so no later operation repairs it.
"""

from ordering.promises.state import State
from ordering.promises.trace import Operation
from ordering.verdicts.words import name


def once(state: State, operation: Operation, step: int) -> str:
    """`[](notify(Y,n) => O[]~notify(Y,n))`: no client is notified twice."""
    first = state.delivered_to(operation.client).get(operation.notification)
    if first is None:
        return ""
    return f"{_notified(operation)} twice, at steps {first} and {step}."


def published(state: State, operation: Operation, step: int) -> str:
    """`[](notify(Y,n,X) => n in P_X)`: a notification was published before, by its publisher."""
    if operation.notification in state.published:
        return ""
    return f"{_notified(operation)} at step {step}, and nobody has published that."


def wanted(state: State, operation: Operation, step: int) -> str:
    """`[](notify(Y,n) => exists F in S_Y. n in N(F))`: some filter of the client matches at delivery."""
    matches = state.trace.matches
    for content in state.filters_of(operation.client):
        if matches(content, operation.notification):
            return ""
    last = state.unsubscribed.get(operation.client)
    since = f" It unsubscribed {last[0]} at step {last[1]}." if last is not None else ""
    return f"{_notified(operation)} at step {step}, and no filter that it has then matches.{since}"


def advertised(state: State, operation: Operation, step: int) -> str:
    """`[](pub(X,n) & (forall F in A_X. n not in N(F)) => []~notify(Y,n))`: unadvertised, not notified."""
    publication = state.published.get(operation.notification)
    if publication is None or publication.is_announced:
        return ""
    return (
        f"{_notified(operation)} at step {step}, and no advertisement of {operation.notification[0]} "
        f"matched it when it was published at step {publication.step}."
    )


def pending(state: State, operation: Operation, step: int) -> str:
    """`[](ack(Y,F) => F in pend_Y)`: only a pending subscription is acknowledged."""
    known = state.filters_of(operation.client).get(operation.filter)
    if known is not None and known.pending_since is not None:
        return ""
    why = "it has not subscribed that" if known is None else "does not wait for it any more"
    return f"{operation.client} has {operation.filter} acknowledged at step {step}, and {why}."


def _notified(operation: Operation) -> str:
    return f"{operation.client} is notified of {name(operation.notification)}"
