"""How long things took, in steps of the trace: what else the clients of a service did and saw meanwhile."""

from attrs import frozen

from ordering.promises.state import State
from ordering.promises.trace import Trace


@frozen
class Latencies:
    """Steps from `sub` to `ack`, and from `pub` to each `notify`, in the order in which these came."""

    acknowledgements: tuple[int, ...]
    notifications: tuple[int, ...]


def latencies(trace: Trace) -> Latencies:
    """Measure every acknowledgement of what was pending, and every notification of what was published."""
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
