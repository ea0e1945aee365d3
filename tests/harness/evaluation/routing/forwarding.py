"""Selections driven over a tree without any broker: what tables must be, by the strategies alone."""

from collections import deque

from attrs import Factory, define

from broker.filters import Filter
from broker.routing import Change, RouteFilter, Selection, parse
from harness.evaluation.routing.network import Sent
from harness.evaluation.routing.thesis import ROOT, Tree

Link = tuple[str, str]
"""From a broker to a neighbour."""


@define(eq=False)
class Forwarding:
    """One selection for each direction of each link; with an advertisement, for those towards the source."""

    tree: Tree
    _neighbours: dict[str, list[str]] = Factory(dict)
    _selections: dict[Link, Selection] = Factory(dict)
    _names: dict[Link, dict[str, str]] = Factory(dict)
    _told: int = 0
    _messages: int = 0

    @classmethod
    def of(cls, tree: Tree, routing: str, source: str = ROOT) -> "Forwarding":
        forwarding = cls(tree)
        strategies = parse(routing)
        towards = tree.chain(source)
        for place in tree.places:
            forwarding._neighbours.setdefault(place.name, [])
            if not place.uplink:
                continue
            forwarding._neighbours[place.name].append(place.uplink)
            forwarding._neighbours[place.uplink].append(place.name)
            up, down = (place.name, place.uplink), (place.uplink, place.name)
            wanted = (
                (up, down) if strategies.advertisements.floods else (down if place.name in towards else up,)
            )
            for link in wanted:
                forwarding._selections[link] = strategies.subscriptions.selection()
                forwarding._names[link] = {}
        return forwarding

    def subscribe(self, broker: str, subscription: str, content: Filter) -> None:
        self._spread(broker, Change(added=(RouteFilter(subscription, content),)))

    def unsubscribe(self, broker: str, subscription: str) -> None:
        self._spread(broker, Change(removed=(subscription,)))

    def _spread(self, broker: str, change: Change) -> None:
        waiting = deque([(broker, "", change)])
        while waiting:
            here, before, change = waiting.popleft()
            for there in self._neighbours[here]:
                selection = self._selections.get((here, there))
                if selection is None or there == before:
                    continue
                told = _difference(selection, change)
                if told:
                    self._messages += 1
                    waiting.append((there, here, self._named((here, there), told)))

    def _named(self, link: Link, change: Change) -> Change:
        """Under ids that are good for one link only, since two neighbours may use the same."""
        names = self._names[link]
        gone = [names.pop(wish.id) for wish in change.added if wish.id in names]
        gone += [names.pop(each) for each in change.removed]
        added = []
        for wish in change.added:
            self._told += 1
            names[wish.id] = f"{link[0]}~{self._told}"
            added.append(RouteFilter(names[wish.id], wish.filter, wish.ordered))
        return Change(tuple(added), tuple(gone))

    def take(self) -> Sent:
        sent, self._messages = Sent(changes=self._messages), 0
        return sent

    def remote_entries(self, broker: str) -> int:
        return sum(len(told.announced) for (_, there), told in self._selections.items() if there == broker)


def _difference(selection: Selection, change: Change) -> Change:
    """What all changes of candidates together make of what was told: one message."""
    replaced = {wish.id for wish in change.added}
    steps = [selection.add(wish) for wish in change.added]
    steps += [selection.remove(gone) for gone in change.removed if gone not in replaced]
    touched = {name for step in steps for name in (*step.removed, *(wish.id for wish in step.added))}
    added = tuple(selection.announced[name] for name in sorted(touched) if name in selection.announced)
    return Change(added, tuple(name for name in sorted(touched) if name not in selection.announced))
