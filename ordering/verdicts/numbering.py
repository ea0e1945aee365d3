"""Numbers a history's publications, so that every check works on small whole numbers.

Law: a view holds first deliveries of publications that were published, and nothing else. A second delivery is
a duplicate, and a delivery that nobody published is unpublished: integrity judges both, and the promises
about order are judged on the rest. So one fault is one violation.
"""

from attrs import define

from ordering.verdicts.history import History, HistoryError, HistorySubscription, Key


@define(eq=False)
class Numbered:
    """A history with its publications numbered in the order they were published.

    `keys` and `publishers` are indexed by a publication's number; publishers are numbered in the order of
    their first publications. `firsts` are the distinct keys each subscription delivered, published or not.
    `views` are the first deliveries of publications, as numbers; `ordered_views`, for pairwise order, are
    those of ordered subscriptions, without unordered publications, each with the subscription's index.
    """

    history: History
    named: dict[str, HistorySubscription]
    keys: list[Key]
    numbers: dict[Key, int]
    publishers: list[int]
    unordered: frozenset[int]
    firsts: list[dict[Key, None]]
    views: list[list[int]]
    ordered_views: list[tuple[int, list[int]]]

    def delivered_between(self, subscription: str, start: int, end: int) -> list[int]:
        """Return the ordered publications among some deliveries of a subscription, repeats included."""
        numbers = map(self.numbers.get, self.named[subscription].delivered[start:end])
        return [number for number in numbers if number is not None and number not in self.unordered]


def number(history: History) -> Numbered:
    """Number the publications of a history. Raises `HistoryError` if it contradicts itself."""
    named = {each.name: each for each in history.subscriptions}
    keys = [(each.publisher, each.sequence) for each in history.publications]
    _refuse_repeated_names(history, named)
    _refuse_wrong_sequences(keys)
    _refuse_wrong_seen(history, named)
    publishers: dict[str, int] = {}
    numbers = dict(zip(keys, range(len(keys)), strict=True))
    unordered = frozenset(i for i, each in enumerate(history.publications) if not each.ordered)
    firsts = [dict.fromkeys(each.delivered) for each in history.subscriptions]
    views = [_view(first, numbers) for first in firsts]
    return Numbered(
        history,
        named,
        keys,
        numbers,
        [publishers.setdefault(publisher, len(publishers)) for publisher, _ in keys],
        unordered,
        firsts,
        views,
        [
            (index, [number for number in view if number not in unordered] if unordered else view)
            for index, view in enumerate(views)
            if history.subscriptions[index].ordered
        ],
    )


def _view(first: dict[Key, None], numbers: dict[Key, int]) -> list[int]:
    if first.keys() <= numbers.keys():
        return [numbers[key] for key in first]
    return [numbers[key] for key in first if key in numbers]


def _refuse_repeated_names(history: History, named: dict[str, HistorySubscription]) -> None:
    if len(named) != len(history.subscriptions):
        names = [each.name for each in history.subscriptions]
        repeated = next(each for i, each in enumerate(names) if each in names[:i])
        raise HistoryError(f"two subscriptions are called {repeated}: give each its own name")


def _refuse_wrong_sequences(keys: list[Key]) -> None:
    last: dict[str, int] = {}
    for publisher, sequence in keys:
        if sequence <= last.get(publisher, 0):
            raise HistoryError(
                f"{publisher}/{sequence} comes after {publisher}/{last.get(publisher, 0)} in the history: "
                "list each publication once, counted from 1, in the order they were published"
            )
        last[publisher] = sequence


def _refuse_wrong_seen(history: History, named: dict[str, HistorySubscription]) -> None:
    for each in history.publications:
        for subscription, count in each.seen or ():
            made = len(named[subscription].delivered) if subscription in named else 0
            if count > made:
                raise HistoryError(
                    f"{each.publisher}/{each.sequence} is said to be published after {count} deliveries of "
                    f"{subscription}, which made {made}: correct its `seen`"
                )
