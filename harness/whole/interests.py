"""Events and filters of simulated clients: few points over five attributes, filters whose ends coincide.

Every kind of event is a letter. The letters that a filter takes are found by evaluating its text as a Python
expression, without any code of the product.
"""

from collections.abc import Mapping
from functools import cache
from random import Random
from string import ascii_letters
from types import CodeType
from typing import Final

from attrs import define, field, frozen

from broker.filters.constraints import Value

EVERYTHING: Final = "level >= 0"
TRIES: Final = 8


@frozen
class DrawnInterest:
    """The text of a filter, and the kinds of events that it takes."""

    text: str
    kinds: str


@cache
def _compiled(text: str) -> CodeType:
    return compile(text, "filter", "eval")


@define(eq=False)
class Events:
    """The kinds of events of one schedule. `width` is how many constraints a filter has at most."""

    random: Random
    count: int
    width: int
    attributes: dict[str, Mapping[str, Value]] = field(init=False)
    _known: dict[str, DrawnInterest] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        random = self.random
        self.attributes = {
            letter: {
                "kind": "abc"[place % 3],
                "level": random.randint(0, 4),
                "price": random.choice((0.0, 0.5, 1.0, 1.5)),
                "region": random.choice(("eu-1", "eu-2", "us-1")),
                "urgent": random.random() < 0.5,  # noqa: PLR2004 - a fair coin
            }
            for place, letter in enumerate(ascii_letters[: self.count])
        }

    def interest(self, text: str) -> DrawnInterest:
        """Return a filter with its kinds."""
        known = self._known.get(text)
        if known is None:
            code = _compiled(text)
            kinds = "".join(
                letter
                for letter, attributes in self.attributes.items()
                if eval(code, {"__builtins__": {}}, dict(attributes))  # noqa: S307 - text made here
            )
            known = self._known[text] = DrawnInterest(text, kinds)
        return known

    def draw(self) -> DrawnInterest:
        """Draw a filter that takes something, as many tries allow."""
        for _ in range(TRIES):
            interest = self.interest(self._conjunction())
            if interest.kinds:
                return interest
        return self.interest(EVERYTHING)

    def wide(self) -> DrawnInterest:
        """Draw a filter for an advertisement: more than others take."""
        if self.random.random() < 0.6:  # noqa: PLR2004 - most advertise everything
            return self.interest(EVERYTHING)
        return self.draw()

    def _conjunction(self) -> str:
        random = self.random
        if self.width == 0:
            return EVERYTHING
        parts = [self._constraint() for _ in range(random.randint(1, self.width))]
        return (" or " if random.random() < 0.1 else " and ").join(parts)  # noqa: PLR2004 - rarely

    def _constraint(self) -> str:  # noqa: PLR0911 - one case for each kind
        random = self.random
        match random.randrange(8):
            case 0:
                return f"kind == {random.choice('abc')!r}"
            case 1:
                return f"kind in {tuple(random.sample('abc', 2))!r}"
            case 2:
                return f"level >= {random.randint(0, 3)}"
            case 3:
                low = random.randint(0, 3)
                return f"{low} <= level <= {random.randint(low, 4)}"
            case 4:
                return f"level < {random.randint(1, 5)}"
            case 5:
                return f"price {random.choice(('<', '<=', '>', '>='))} {random.choice((0.5, 1.0))}"
            case 6:
                return f"region.startswith({random.choice(('eu-', 'us-', 'eu-1'))!r})"
            case _:
                return f"urgent == {random.choice((True, False))}"
