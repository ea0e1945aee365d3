"""The axioms of liveness: each yields the operations that must follow, but are not in the trace.

An operation is *owed* from an epoch on; an axiom yields pairs of that epoch and a sentence. If there was a
rest after the epoch, the operation cannot follow any more and the axiom is broken; otherwise it is
undetermined.

By the formulas no operation is owed to a client that unsubscribed, or for an advertisement that was
withdrawn.
"""

from collections.abc import Iterator

from ordering.promises.state import State, SubscriptionState
from ordering.verdicts.history import Key
from ordering.verdicts.words import name

Owed = tuple[int, str]


def acknowledged(state: State) -> Iterator[Owed]:
    """`[](sub(Y,F) & ~<>unsub(Y,F) => <>ack(Y,F))`: every lasting subscription is acknowledged."""
    for client, content, known in _lasting(state):
        if known.pending_since is not None:
            text = f"{client} subscribes {content} at step {known.pending_since}, and it is not acknowledged."
            yield known.pending_epoch, text


def complete(state: State) -> Iterator[Owed]:
    """`[](ack(Y,F) & ~<>unsub(Y,F) => (<>pub(X,n) & n in N(F) => <>notify(Y,n,X)))`: no gap after `ack`."""
    matches, owed = state.trace.matches, state.owed()
    for client, content, known in _lasting(state):
        if known.acknowledged_at is None:
            continue
        delivered = state.delivered_to(client)
        for key, publication in owed:
            if publication.step < known.acknowledged_at or key in delivered or not matches(content, key):
                continue
            since = f"acknowledged at step {known.acknowledged_at}"
            yield publication.epoch, _missed(client, content, key, publication.step, since)


def live(state: State) -> Iterator[Owed]:
    """`[](sub(Y,F) => <>[](pub(X,n) & n in N(F) => <>notify(Y,n)) or <>unsub(Y,F))`: it works some day.

    On a finite trace: from the first rest after `sub`, when the subscription has been carried out.
    """
    for client, content, known, key in _settled(state):
        publication = state.published[key]
        since = f"carried out since the rest after step {known.since}"
        yield publication.epoch, _missed(client, content, key, publication.step, since)


def matched(state: State) -> Iterator[Owed]:
    """The axiom of `live` with advertisements: from the first rest after both `sub(Y,F)` and `adv(Z,G)`.

    `[]((sub(Y,F) & <>adv(Z,G)) or (adv(Z,G) & <>sub(Y,F)) => <>[](pub(Z,n) & n in N(F) & n in N(G) =>
    <>notify(Y,n)) or <>unsub(Y,F) or <>unadv(Z,G))`. The publisher is the one that advertised: the printed
    formula says `pub(X,n)`, its explanation says Z.
    """
    matches = state.trace.matches
    for client, content, known, key in _settled(state):
        publication = state.published[key]
        for announced, epoch in state.advertised.get(key[0], {}).items():
            if epoch < publication.epoch and matches(announced, key):
                since = f"and advertised as {announced}, both carried out after step {known.since}"
                yield publication.epoch, _missed(client, content, key, publication.step, since)
                break


def _lasting(state: State) -> Iterator[tuple[str, str, SubscriptionState]]:
    """Yield the subscriptions that were not withdrawn."""
    for client, filters in state.subscribed.items():
        for content, known in filters.items():
            yield client, content, known


def _settled(state: State) -> Iterator[tuple[str, str, SubscriptionState, Key]]:
    """Yield each publication that a lasting subscription matches, but lacks, and that followed its rest."""
    matches, owed = state.trace.matches, state.owed()
    for client, content, known in _lasting(state):
        delivered, epoch = state.delivered_to(client), known.epoch
        for key, publication in owed:
            if publication.epoch > epoch and key not in delivered and matches(content, key):
                yield client, content, known, key


def _missed(client: str, content: str, key: Key, step: int, since: str) -> str:
    missed = f"{client} is not notified of {name(key)}, published at step {step}"
    return f"{missed}: it subscribed {content}, {since}."
