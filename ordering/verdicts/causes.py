"""Explains why one publication is in the past of another: the shortest chain of causes, in words."""

from collections.abc import Iterator

from attrs import frozen

from ordering.verdicts.numbering import Numbered
from ordering.verdicts.words import name


@frozen
class CausalLink:
    """A cause and its direct effect: `subscription` had delivered the cause, or both have one publisher."""

    cause: int
    effect: int
    subscription: str = ""


def chain(numbered: Numbered, cause: int, effect: int) -> list[CausalLink]:
    """Return the fewest links from a cause to an effect that has it in its past.

    Breadth first, backwards. All deliveries of a subscription before a position are reached at once, so of
    each subscription only the deliveries after the last position reached are still searched.
    """
    led: dict[int, CausalLink] = {}
    reached: dict[str, int] = {}
    level = [effect]
    while cause not in led:
        following = []
        for number in level:
            for link in _direct(numbered, number, reached):
                if link.cause not in led:
                    led[link.cause] = link
                    following.append(link.cause)
        assert following, "the cause is not in the past of the effect"
        level = following
    links = [led[cause]]
    while links[-1].effect != effect:
        links.append(led[links[-1].effect])
    return links


def _direct(numbered: Numbered, number: int, reached: dict[str, int]) -> Iterator[CausalLink]:
    """Yield the direct causes of a publication that were not reached before."""
    effect = numbered.history.publications[number]
    for subscription, count in effect.seen or ():
        for cause in numbered.delivered_between(subscription, reached.get(subscription, 0), count):
            yield CausalLink(cause, number, subscription)
        reached[subscription] = max(count, reached.get(subscription, 0))
    for earlier in range(number - 1, -1, -1):
        if numbered.keys[earlier][0] == effect.publisher and earlier not in numbered.unordered:
            yield CausalLink(earlier, number)
            return


def described(numbered: Numbered, links: list[CausalLink]) -> str:
    """Return a chain in words, from the cause on."""
    return ", and ".join(_described(numbered, link) for link in links)


def _described(numbered: Numbered, link: CausalLink) -> str:
    cause, effect = numbered.keys[link.cause], numbered.keys[link.effect]
    if not link.subscription:
        return f"{effect[0]} published {name(cause)} before {name(effect)}"
    position = list(numbered.named[link.subscription].delivered).index(cause)
    return (
        f"{effect[0]} published {name(effect)} after {name(cause)} was delivered to its client "
        f"(by {link.subscription}, delivery {position})"
    )
