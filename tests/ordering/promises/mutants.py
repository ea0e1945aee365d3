"""One way to break each promise: a small change of a lawful trace that this axiom alone forbids.

Each mutant finds all the places in a trace where it applies, and gives the changed operations.
"""

from collections.abc import Callable, Iterator

from ordering.promises import Operation, Trace, acknowledge, notify, unsubscribe
from ordering.verdicts import Key
from tests.ordering.promises.traces import CLIENTS, FILTERS, matches, places

Changed = Iterator[list[Operation]]


def _with(trace: Trace, step: int, *inserted: Operation) -> list[Operation]:
    return [*trace.operations[:step], *inserted, *trace.operations[step:]]


def _without(trace: Trace, step: int) -> list[Operation]:
    return [*trace.operations[:step], *trace.operations[step + 1 :]]


def _filters(trace: Trace, step: int, client: str, verbs: tuple[str, str] = ("sub", "unsub")) -> set[str]:
    now: set[str] = set()
    for each in trace.operations[:step]:
        if each.client == client and each.verb == verbs[0]:
            now.add(each.filter)
        elif each.client == client and each.verb == verbs[1]:
            now.discard(each.filter)
    return now


def _wants(trace: Trace, step: int, client: str, key: Key) -> bool:
    return any(matches(content, key) for content in _filters(trace, step, client))


def delivers_twice(trace: Trace) -> Changed:
    """A notification comes a second time."""
    for step, each in places(trace, "notify"):
        yield _with(trace, step + 1, each)


def delivers_what_nobody_published(trace: Trace) -> Changed:
    """A client gets what it wants, from nobody."""
    for step, each in places(trace, "sub"):
        for key in (("nobody", 1), ("nobody", 2)):
            if matches(each.filter, key):
                yield _with(trace, step + 1, notify(each.client, key))


def delivers_before_it_is_published(trace: Trace) -> Changed:
    """A notification comes before it is published."""
    for step, each in places(trace, "pub"):
        for later, notified in places(trace, "notify"):
            if notified.notification == each.notification and _wants(
                trace, step, notified.client, each.notification
            ):
                yield _with(Trace(_without(trace, later), matches), step, notified)


def delivers_after_unsubscribing(trace: Trace) -> Changed:
    """A notification that was on its way comes just after the last filter for it has gone."""
    for step, each in places(trace, "notify"):
        ended = [unsubscribe(each.client, content) for content in _filters(trace, step, each.client)]
        yield _with(trace, step, *ended)[: step + len(ended) + 1] + _calm(trace, step + 1, each.client)


def _calm(trace: Trace, step: int, client: str) -> list[Operation]:
    """The rest of the trace, but for what this client does and gets."""
    return [each for each in trace.operations[step:] if each.client != client or each.verb == "pub"]


def delivers_what_does_not_match(trace: Trace) -> Changed:
    """A client gets what none of its filters matches."""
    for step, each in places(trace, "pub"):
        announced = _filters(trace, step, each.client, ("adv", "unadv"))
        if not any(matches(content, each.notification) for content in announced):
            continue
        for client in CLIENTS:
            if not _wants(trace, step, client, each.notification) and not _comes(trace, client, each):
                yield _with(trace, step + 1, notify(client, each.notification))


def _comes(trace: Trace, client: str, published: Operation) -> bool:
    return notify(client, published.notification) in trace.operations


def delivers_what_was_not_advertised(trace: Trace) -> Changed:
    """What no advertisement announced comes to a client that wants it."""
    for step, each in places(trace, "pub"):
        announced = _filters(trace, step, each.client, ("adv", "unadv"))
        if not any(matches(content, each.notification) for content in announced):
            for client in CLIENTS:
                if _wants(trace, step, client, each.notification):
                    yield _with(trace, step + 1, notify(client, each.notification))


def acknowledges_what_nobody_subscribed(trace: Trace) -> Changed:
    """A filter is acknowledged that the client does not have."""
    for step in range(len(trace.operations)):
        for content in FILTERS:
            if content not in _filters(trace, step, "Y"):
                yield _with(trace, step, acknowledge("Y", content))


def acknowledges_twice(trace: Trace) -> Changed:
    """A filter is acknowledged again."""
    for step, each in places(trace, "ack"):
        yield _with(trace, step + 1, each)


def never_acknowledges(trace: Trace) -> Changed:
    """The last acknowledgement of a lasting filter does not come."""
    for step, each in places(trace, "ack"):
        rest = trace.operations[step + 1 :]
        if not any(other.client == each.client and other.filter == each.filter for other in rest):
            yield _without(trace, step)


def loses_after_acknowledging(trace: Trace) -> Changed:
    """After an acknowledgement, and before any rest, a notification is lost."""
    for step, each in places(trace, "notify"):
        if _is_owed(trace, each, since="ack") and not _is_owed(trace, each, since="rest"):
            yield _without(trace, step)


def acknowledges_too_early(trace: Trace) -> Changed:
    """What may still be missed while the filter is pending is missed, and it was acknowledged before."""
    for step, each in places(trace, "notify"):
        if _is_owed(trace, each, since="ack") or _is_owed(trace, each, since="rest"):
            continue
        for begun, sub in places(trace, "sub"):
            later = trace.operations[begun + 1 :]
            acks = [s for s, ack in places(trace, "ack") if ack[1:3] == sub[1:3] and s > begun]
            published = trace.operations.index(Operation("pub", each.notification[0], "", each.notification))
            if (
                sub.client == each.client
                and matches(sub.filter, each.notification)
                and not any(other[1:3] == sub[1:3] and other.verb in {"sub", "unsub"} for other in later)
                and sub.filter not in _filters(trace, begun, sub.client)
                and begun < published < step
                and acks
            ):
                kept = [other for s, other in enumerate(trace.operations) if s not in (step, acks[0])]
                yield [*kept[: begun + 1], acknowledge(sub.client, sub.filter), *kept[begun + 1 :]]


def loses_at_rest(trace: Trace) -> Changed:
    """A notification is lost that was published after a rest, before anything was acknowledged."""
    for step, each in places(trace, "notify"):
        if _is_owed(trace, each, since="rest") and _lasts(trace, each):
            yield _late_acknowledgements(_without(trace, step), each.client)


def _late_acknowledgements(operations: list[Operation], client: str) -> list[Operation]:
    """The same where this client receives acknowledgements only at the end: those that still count."""
    acks = [each for each in operations if each.verb == "ack" and each.client == client]
    before = [each for each in operations if each not in acks]
    active: dict[str, bool] = {}
    for each in before:
        if each.client == client and each.verb in {"sub", "unsub"}:
            active[each.filter] = each.verb == "sub"
    said = [acknowledge(client, content) for content, is_active in active.items() if is_active]
    return [*before, *said, Operation("rest")]


def _lasts(trace: Trace, notified: Operation) -> bool:
    """Whether an advertisement for it was there at the last rest before, and stays to the end."""
    key = notified.notification
    published = trace.operations.index(Operation("pub", key[0], "", key))
    at_rest = max(step for step, _ in places(trace, "rest") if step < published)
    ended = {each.filter for each in trace.operations[at_rest:] if each[:2] == ("unadv", key[0])}
    announced = _filters(trace, at_rest, key[0], ("adv", "unadv"))
    return any(matches(content, key) for content in announced - ended)


def _is_owed(trace: Trace, notified: Operation, *, since: str) -> bool:
    """Whether some filter of the client lasts, and was acknowledged, or at rest, when it was published."""
    key, client = notified.notification, notified.client
    published = trace.operations.index(Operation("pub", key[0], "", key))
    for content in _filters(trace, len(trace.operations), client):
        own = [s for s, each in enumerate(trace.operations) if each[:3] == ("unsub", client, content)]
        begun = [s for s, _ in places(trace, "sub") if trace.operations[s][1:3] == (client, content)]
        first = min(s for s in begun if s > max(own, default=-1))
        between = trace.operations[first + 1 : published]
        seen = acknowledge(client, content) in between if since == "ack" else Operation("rest") in between
        if first < published and matches(content, key) and seen:
            return True
    return False


MUTANTS: dict[Callable[[Trace], Changed], str] = {
    delivers_twice: "once",
    delivers_what_nobody_published: "published",
    delivers_before_it_is_published: "published",
    delivers_after_unsubscribing: "wanted",
    delivers_what_does_not_match: "wanted",
    delivers_what_was_not_advertised: "advertised",
    acknowledges_what_nobody_subscribed: "pending",
    acknowledges_twice: "pending",
    never_acknowledges: "acknowledged",
    loses_after_acknowledging: "complete",
    acknowledges_too_early: "complete",
    loses_at_rest: "matched",
}
"""Each mutant, and the axiom that must catch it."""
