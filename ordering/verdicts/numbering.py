"""Numbers a history's publications, so that every check works on small whole numbers.

Law: a view holds first deliveries of publications that were published, and nothing else. A second delivery is
a duplicate and a publication nobody published is a fault of its own; both are integrity's, and the promises
about order are judged on what remains. So one fault is one violation.
"""

from collections.abc import Sequence

from attrs import define

from ordering.verdicts.history import History, HistoryError, Key, Subscription


@define(eq=False)
class Numbered:
    """A history with its publications numbered in the order they were published.

    `views` are the subscriptions' first deliveries as numbers, in the subscriptions' order; `ordered_views`
    are what of them pairwise order is about: those of ordered subscriptions, without unordered publications,
    with the subscription's index. `firsts` are the distinct keys delivered, published or not.
    """

    history: History
    numbers: dict[Key, int]
    keys: list[Key]
    firsts: list[dict[Key, None]]
    views: list[list[int]]
    ordered_views: list[tuple[int, list[int]]]
    unordered: frozenset[int]
    named: dict[str, Subscription]

    def delivered(self, subscription: str) -> Sequence[Key]:
        """What the subscription of this name delivered."""
        return self.named[subscription].delivered


def number(history: History) -> Numbered:
    """Number the publications of a history."""
    keys = [(each.publisher, each.sequence) for each in history.publications]
    numbers = dict(zip(keys, range(len(keys)), strict=True))
    named = {each.name: each for each in history.subscriptions}
    _refuse_repeats(history, keys, named)
    _refuse_unseen(history, named)
    unordered = frozenset(i for i, each in enumerate(history.publications) if not each.ordered)
    firsts = [dict.fromkeys(each.delivered) for each in history.subscriptions]
    views = [_view(first, numbers) for first in firsts]
    ordered = [
        (index, [i for i in views[index] if i not in unordered] if unordered else views[index])
        for index, each in enumerate(history.subscriptions)
        if each.ordered
    ]
    return Numbered(history, numbers, keys, firsts, views, ordered, unordered, named)


def _view(first: dict[Key, None], numbers: dict[Key, int]) -> list[int]:
    if first.keys() <= numbers.keys():
        return [numbers[key] for key in first]
    return [numbers[key] for key in first if key in numbers]


def _refuse_repeats(history: History, keys: list[Key], named: dict[str, Subscription]) -> None:
    last: dict[str, int] = {}
    for publisher, sequence in keys:
        if sequence <= last.get(publisher, 0):
            raise HistoryError(
                f"{publisher}/{sequence} comes after {publisher}/{last.get(publisher, 0)} in the history: "
                "list each publication once, counted from 1, in the order they were published"
            )
        last[publisher] = sequence
    if len(named) != len(history.subscriptions):
        names = [each.name for each in history.subscriptions]
        repeated = next(each for i, each in enumerate(names) if each in names[:i])
        raise HistoryError(f"two subscriptions are called {repeated}: give each its own name")


def _refuse_unseen(history: History, named: dict[str, Subscription]) -> None:
    for each in history.publications:
        for subscription, count in each.seen or ():
            made = len(named[subscription].delivered) if subscription in named else 0
            if count > made:
                raise HistoryError(
                    f"{each.publisher}/{each.sequence} is said to be published after {count} deliveries of "
                    f"{subscription}, which made {made}: correct its `seen`"
                )
