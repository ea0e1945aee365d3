"""The words of a witness: publications, positions, and where paths meet in the tree of brokers."""

from collections.abc import Mapping, Sequence

from ordering.verdicts.history import History, HistoryEvent, HistorySubscription, Key


def name(key: Key) -> str:
    """Return a publication's name: publisher and sequence number."""
    return f"{key[0]}/{key[1]}"


def placed(what: str, broker: str) -> str:
    """Return a subscription or publication with its broker, if that is known."""
    return f"{what} at {broker}" if broker else what


def view(subscription: HistorySubscription, first: Key, second: Key) -> str:
    """Return in words one subscription's view of two publications: their order and positions."""
    delivered = list(subscription.delivered)
    positions = f"deliveries {delivered.index(first)} and {delivered.index(second)}"
    who = placed(subscription.name, subscription.broker)
    return f"{who} delivers {name(first)} before {name(second)} ({positions})"


def way(uplinks: Mapping[str, str], start: str, end: str) -> list[str]:
    """Return the brokers on the path between two, both included; empty if they are in different trees."""
    up, down = _climb(uplinks, start), _climb(uplinks, end)
    if not start or not end or up[-1] != down[-1]:
        return []
    while len(up) > 1 and len(down) > 1 and up[-2] == down[-2]:
        up.pop()
        down.pop()
    return up + down[-2::-1]


def meeting(
    history: History, one: HistorySubscription, other: HistorySubscription, keys: Sequence[Key]
) -> str:
    """Return where the paths to two subscriptions meet and each publication joins; empty if unknown."""
    if not history.uplinks or not one.broker or not other.broker:
        return ""
    path = way(history.uplinks, one.broker, other.broker)
    if not path:
        return f" {one.broker} and {other.broker} are in different trees."
    where = f"Both are at {path[0]}" if len(path) == 1 else f"Their path is {' - '.join(path)}"
    origins = {(each.publisher, each.sequence): each for each in history.publications}
    joins = [_joining(history.uplinks, path, origins[key]) for key in keys]
    return f" {where}; {' and '.join(joins)}."


def _joining(uplinks: Mapping[str, str], path: list[str], publication: HistoryEvent) -> str:
    what = name((publication.publisher, publication.sequence))
    route = way(uplinks, publication.broker, path[0])
    joint = next((broker for broker in route if broker in path), None)
    if joint is None:
        return placed(f"{what} comes from elsewhere", publication.broker)
    if joint == publication.broker:
        return f"{what} is published at {joint}"
    return f"{what} comes from {publication.broker} and joins it at {joint}"


def _climb(uplinks: Mapping[str, str], broker: str) -> list[str]:
    """Return the broker and all above it. A ring, which no tree has, is cut where it closes."""
    chain = [broker]
    while above := uplinks.get(chain[-1], ""):
        if above in chain:
            break
        chain.append(above)
    return chain
