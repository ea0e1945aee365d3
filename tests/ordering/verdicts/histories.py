"""Histories drawn at random, and what the promises mean for them: by brute force, word by word."""

import math
from collections.abc import Iterator
from itertools import combinations, product

from hypothesis import strategies as st

from ordering.verdicts import History, HistoryEvent, HistorySubscription, Key

BROKERS = {"B0": "", "B1": "B0", "B2": "B0", "B3": "B1"}


@st.composite
def published(draw: st.DrawFn, *, most: int = 7, all_ordered: bool = False) -> list[HistoryEvent]:
    """Publications of up to three publishers in the order they were published, nothing seen yet."""
    counts: dict[str, int] = {}
    publications = []
    for publisher in draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=most)):
        counts[publisher] = counts.get(publisher, 0) + 1
        ordered = all_ordered or draw(st.sampled_from([True, True, True, False]))
        publications.append(
            HistoryEvent(publisher, counts[publisher], draw(st.sampled_from(sorted(BROKERS))), ordered)
        )
    return publications


@st.composite
def histories(
    draw: st.DrawFn, *, fewest_subscriptions: int = 1, most_subscriptions: int = 4, most: int = 7
) -> History:
    """Any history: deliveries in any order, repeated, of things nobody published."""
    publications = draw(published(most=most))
    keys = [(each.publisher, each.sequence) for each in publications]
    many = st.integers(fewest_subscriptions, most_subscriptions)
    subscriptions = [draw(subscribed(f"s{index}", keys)) for index in range(draw(many))]
    informed = [
        HistoryEvent(each.publisher, each.sequence, each.broker, each.ordered, seen)
        for number, each in enumerate(publications)
        for seen in [draw(seen_before(keys[number:], subscriptions))]
    ]
    return History(informed, subscriptions, BROKERS)


@st.composite
def subscribed(draw: st.DrawFn, name: str, keys: list[Key]) -> HistorySubscription:
    """Mostly a few steps away from the order of publishing; sometimes faulty."""
    delivered = [key for key in keys if draw(st.integers(0, 4))]
    if draw(st.booleans()):
        delivered = draw(st.permutations(delivered))
    faulty = [*keys, ("a", 99)]
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        delivered.insert(draw(st.integers(0, len(delivered))), draw(st.sampled_from(faulty)))
    some = st.frozensets(st.sampled_from(faulty))
    return HistorySubscription(
        name,
        delivered,
        draw(st.sampled_from(sorted(BROKERS))),
        draw(st.sampled_from([True, True, True, False])),
        frozenset(delivered) | draw(some) if draw(st.booleans()) else draw(some),
        frozenset(delivered) - draw(some) if draw(st.booleans()) else draw(some),
    )


@st.composite
def seen_before(
    draw: st.DrawFn, later: list[Key], subscriptions: list[HistorySubscription]
) -> list[tuple[str, int]]:
    """What a client may have seen that cannot have seen what is published later."""
    seen = []
    for each in subscriptions:
        if draw(st.integers(0, 2)):
            longest = next((i for i, key in enumerate(each.delivered) if key in later), len(each.delivered))
            seen.append((each.name, draw(st.integers(0, longest))))
    return seen


@st.composite
def clean_histories(draw: st.DrawFn) -> History:
    """Histories of an overlay that keeps every promise: everybody delivers in the order of publishing."""
    publications = draw(published())
    keys = [(each.publisher, each.sequence) for each in publications]
    subscriptions = []
    for index in range(draw(st.integers(1, 4))):
        delivered = [key for key in keys if draw(st.booleans())]
        owed = frozenset(delivered)
        subscriptions.append(
            HistorySubscription(f"s{index}", delivered, "B1", draw(st.booleans()), owed, owed)
        )
    informed = [
        HistoryEvent(each.publisher, each.sequence, each.broker, each.ordered, seen)
        for number, each in enumerate(publications)
        for seen in [draw(seen_before(keys[number:], subscriptions))]
    ]
    return History(informed, subscriptions, BROKERS)


def firsts(history: History, subscription: HistorySubscription) -> list[Key]:
    """First deliveries of what was published."""
    known = {(each.publisher, each.sequence) for each in history.publications}
    return [key for key in dict.fromkeys(subscription.delivered) if key in known]


def ordered_firsts(history: History) -> dict[str, list[Key]]:
    """What pairwise order is about."""
    ordered = {(each.publisher, each.sequence) for each in history.publications if each.ordered}
    return {
        each.name: [key for key in firsts(history, each) if key in ordered]
        for each in history.subscriptions
        if each.ordered
    }


def common(one: list[Key], other: list[Key]) -> list[Key]:
    """What both deliver, in the order of the one."""
    return [key for key in one if key in other]


def inverted(one: list[Key], other: list[Key]) -> list[tuple[Key, Key]]:
    """Pairs that the one delivers in the order given and the other in the opposite one."""
    return [(p, q) for p, q in combinations(common(one, other), 2) if other.index(p) > other.index(q)]


def pairwise_counts(history: History) -> dict[str, int]:
    """Pairwise total order, pair by pair."""
    pairs = list(combinations(ordered_firsts(history).values(), 2))
    found = [len(inverted(one, other)) for one, other in pairs]
    return {
        "pairs": sum(len(common(one, other)) > 1 for one, other in pairs),
        "pairs_out_of_order": sum(count > 0 for count in found),
        "inversions": sum(found),
    }


def publisher_late(history: History) -> Iterator[tuple[str, Key]]:
    """Deliveries after a later one of the same publisher."""
    for each in history.subscriptions:
        delivered = firsts(history, each)
        for position, key in enumerate(delivered):
            if any(before[0] == key[0] and before[1] > key[1] for before in delivered[:position]):
                yield each.name, key


def direct_causes(history: History) -> dict[Key, set[Key]]:
    """What each ordered publication's client had delivered, and what its publisher published just before."""
    delivered = {each.name: each.delivered for each in history.subscriptions}
    causes: dict[Key, set[Key]] = {}
    for each in history.publications:
        if each.ordered:
            direct = {
                key for name, count in each.seen or () for key in delivered[name][:count] if key in causes
            }
            direct.update([key for key in causes if key[0] == each.publisher][-1:])
            causes[each.publisher, each.sequence] = direct
    return causes


def pasts(history: History) -> dict[Key, dict[Key, int]]:
    """Everything that may have caused each ordered publication, and in how many links at least."""
    past: dict[Key, dict[Key, int]] = {}
    for key, direct in direct_causes(history).items():
        links = dict.fromkeys(direct, 1)
        for cause in direct:
            for earlier, count in past[cause].items():
                links[earlier] = min(count + 1, links.get(earlier, count + 1))
        past[key] = links
    return past


def causal_late(history: History) -> Iterator[tuple[str, Key]]:
    """Deliveries after one of another publisher that has them in its past."""
    past = pasts(history)
    for each in history.subscriptions:
        delivered = [key for key in firsts(history, each) if key in past]
        for position, key in enumerate(delivered):
            if any(before[0] != key[0] and key in past[before] for before in delivered[:position]):
                yield each.name, key


def precedes(history: History) -> dict[Key, set[Key]]:
    """The union of all orders: what any subscription delivers after each publication."""
    after: dict[Key, set[Key]] = {}
    for delivered in ordered_firsts(history).values():
        for p, q in combinations(delivered, 2):
            after.setdefault(p, set()).add(q)
    return after


def cycle_lengths(history: History) -> dict[Key, float]:
    """For each publication the length of the shortest cycle through it, by Floyd and Warshall."""
    after = precedes(history)
    keys = sorted({key for delivered in ordered_firsts(history).values() for key in delivered})
    far = {(p, q): 1.0 if q in after.get(p, ()) else math.inf for p, q in product(keys, keys)}
    for middle, p, q in product(keys, keys, keys):
        far[p, q] = min(far[p, q], far[p, middle] + far[middle, q])
    return {key: far[key, key] for key in keys}


def local_counts(history: History) -> dict[str, int]:
    """Local total order, audience by audience."""
    views = ordered_firsts(history)
    audiences: dict[frozenset[str], set[Key]] = {}
    for key in {key for delivered in views.values() for key in delivered}:
        audience = frozenset(name for name, delivered in views.items() if key in delivered)
        audiences.setdefault(audience, set()).add(key)
    shared = {names: keys for names, keys in audiences.items() if len(names) > 1 and len(keys) > 1}
    return {
        "audiences": len(shared),
        "audiences_out_of_order": sum(
            len({tuple(key for key in views[name] if key in keys) for name in names}) > 1
            for names, keys in shared.items()
        ),
    }
