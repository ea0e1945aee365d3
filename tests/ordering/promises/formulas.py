"""The formulas of the specifications word by word, for finite traces: quantifiers, nothing kept in between.

`s` and `t` are steps. Everything is read off the operations again and again, so this is slow and plain, and
has nothing in common with the checker but the meaning.
"""

from collections.abc import Callable

from ordering.promises import Operation, Trace
from ordering.verdicts import Key


def _steps(trace: Trace, verb: str) -> list[tuple[int, Operation]]:
    return [(s, op) for s, op in enumerate(trace.operations) if op.verb == verb]


def _later(trace: Trace, step: int, operation: tuple[str, str, str]) -> bool:
    return any(op[:3] == operation for op in trace.operations[step + 1 :])


def _active(trace: Trace, step: int, client: str, verbs: tuple[str, str]) -> set[str]:
    """S_Y or A_X just before a step."""
    now: set[str] = set()
    for op in trace.operations[:step]:
        if op.client == client and op.verb == verbs[0]:
            now.add(op.filter)
        elif op.client == client and op.verb == verbs[1]:
            now.discard(op.filter)
    return now


def _is_announced(trace: Trace, step: int, key: Key) -> bool:
    return any(trace.matches(f, key) for f in _active(trace, step, key[0], ("adv", "unadv")))


def _rests_between(trace: Trace, begin: int, end: int) -> bool:
    return any(op.verb == "rest" for op in trace.operations[begin + 1 : end])


def _is_torn(trace: Trace, step: int) -> bool:
    """Whether the operations between the two rests around this step contain a loss."""
    start = max((s for s, _ in _steps(trace, "rest") if s < step), default=-1)
    end = min((s for s, _ in _steps(trace, "rest") if s > step), default=len(trace.operations))
    return any(op.verb == "torn" for op in trace.operations[start + 1 : end])


def _pub_step(trace: Trace, key: Key) -> int | None:
    return next((s for s, op in _steps(trace, "pub") if op.notification == key), None)


def once(trace: Trace) -> bool:
    said = [(op.client, op.notification) for _, op in _steps(trace, "notify")]
    return len(said) == len(set(said))


def published(trace: Trace) -> bool:
    return all(
        (p := _pub_step(trace, op.notification)) is not None and p < s for s, op in _steps(trace, "notify")
    )


def wanted(trace: Trace) -> bool:
    return all(
        any(trace.matches(f, op.notification) for f in _active(trace, s, op.client, ("sub", "unsub")))
        for s, op in _steps(trace, "notify")
    )


def advertised(trace: Trace) -> bool:
    return not any(
        op.notification == pub.notification
        for p, pub in _steps(trace, "pub")
        if not _is_announced(trace, p, pub.notification)
        for s, op in _steps(trace, "notify")
        if s > p
    )


def pending(trace: Trace) -> bool:
    """An acknowledgement has a subscription before it, with no end and no other acknowledgement between."""
    for s, op in _steps(trace, "ack"):
        same = [each for each in trace.operations[:s] if each[1:3] == op[1:3] and each.verb != "adv"]
        same = [each for each in same if each.verb in {"sub", "unsub", "ack"}]
        last_end = max((i for i, each in enumerate(same) if each.verb in {"unsub", "ack"}), default=-1)
        if not any(each.verb == "sub" for each in same[last_end + 1 :]):
            return False
    return True


Open = list[int]
"""The steps at which something was owed that never came."""


def acknowledged(trace: Trace) -> Open:
    return [
        s
        for s, op in _steps(trace, "sub")
        if not _later(trace, s, ("unsub", *op[1:3])) and not _later(trace, s, ("ack", *op[1:3]))
    ]


def _owed(trace: Trace, client: str, content: str) -> list[tuple[int, Key]]:
    return [
        (p, pub.notification)
        for p, pub in _steps(trace, "pub")
        if trace.matches(content, pub.notification)
        and not any(op.client == client and op[3] == pub[3] for _, op in _steps(trace, "notify"))
        and not _is_torn(trace, p)
        and (not trace.advertising or _is_announced(trace, p, pub.notification))
    ]


def complete(trace: Trace) -> Open:
    return [
        p
        for s, op in _steps(trace, "ack")
        if not _later(trace, s, ("unsub", *op[1:3]))
        and op.filter in _active(trace, s, op.client, ("sub", "unsub"))
        for p, _ in _owed(trace, op.client, op.filter)
        if p > s
    ]


def live(trace: Trace) -> Open:
    return [
        p
        for s, op in _steps(trace, "sub")
        if not _later(trace, s, ("unsub", *op[1:3]))
        for p, _ in _owed(trace, op.client, op.filter)
        if _rests_between(trace, s, p)
    ]


def matched(trace: Trace) -> Open:
    return [
        p
        for s, sub in _steps(trace, "sub")
        if not _later(trace, s, ("unsub", *sub[1:3]))
        for a, adv in _steps(trace, "adv")
        if not _later(trace, a, ("unadv", *adv[1:3]))
        for p, key in _owed(trace, sub.client, sub.filter)
        if key[0] == adv.client and trace.matches(adv.filter, key) and _rests_between(trace, max(s, a), p)
    ]


NEVER: dict[str, Callable[[Trace], bool]] = {
    "once": once,
    "published": published,
    "wanted": wanted,
    "advertised": advertised,
    "pending": pending,
}
OWED: dict[str, Callable[[Trace], Open]] = {
    "acknowledged": acknowledged,
    "complete": complete,
    "live": live,
    "matched": matched,
}


def outcome(trace: Trace, axiom: str) -> bool | None:
    """What the formula says: owed before the last rest is never, owed after it is unknown."""
    if axiom in NEVER:
        return NEVER[axiom](trace)
    owed = OWED[axiom](trace)
    last = max((s for s, _ in _steps(trace, "rest")), default=-1)
    if any(s < last for s in owed):
        return False
    return None if owed else True
