"""Measures latencies in steps of the trace: how many other operations came in between."""

from attrs import frozen

from ordering.promises.state import State
from ordering.promises.trace import Trace


@frozen
class Latencies:
    """Steps from `sub` to `ack`, and from `pub` to each `notify`, in the order in which these came."""

    acknowledgements: tuple[int, ...]
    notifications: tuple[int, ...]


def latencies(trace: Trace) -> Latencies:
    """Measure every acknowledgement of a pending subscription, and every notification of a publication."""
    state = State(trace)
    acknowledgements: list[int] = []
    notifications: list[int] = []
    for step, operation in enumerate(trace.operations):
        if operation.verb == "ack":
            known = state.filters_of(operation.client).get(operation.filter)
            if known is not None and known.pending_since is not None:
                acknowledgements.append(step - known.pending_since)
        elif operation.verb == "notify" and operation.notification in state.published:
            notifications.append(step - state.published[operation.notification].step)
        state.follow(operation, step)
    return Latencies(tuple(acknowledgements), tuple(notifications))
