"""Events and filters of simulated clients: few points over five attributes, filters whose ends coincide.

Every kind of event is a letter. The letters that a filter takes are found by evaluating its text as a Python
expression, without any code of the product. Nested events have lists, maps and null as well, and half of what
is demanded of them is about those.
"""

from collections.abc import Mapping
from functools import cache
from random import Random
from string import ascii_letters
from types import CodeType, SimpleNamespace
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


class Listed(list[object]):
    """A list as Python compares it with sets in a filter's text."""

    def __and__(self, other: set[object]) -> bool:
        return any(each in self for each in other)

    def __ge__(self, other: object) -> bool:
        assert isinstance(other, set)
        return all(each in self for each in other)


def evaluated(value: object) -> object:
    """Return a value as the text of a filter uses it in Python."""
    if isinstance(value, dict):
        return SimpleNamespace(**{key: evaluated(each) for key, each in value.items()})
    return Listed(map(evaluated, value)) if isinstance(value, list) else value


FUNCTIONS: Final[dict[str, object]] = {"__builtins__": {}, "any": any, "all": all, "len": len}


@cache
def _compiled(text: str) -> CodeType:
    return compile(text, "filter", "eval")


@define(eq=False)
class Events:
    """The kinds of events of one schedule. `width` is how many constraints a filter has at most."""

    random: Random
    count: int
    width: int
    nested: bool = False
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
                **(self._nested_attributes() if self.nested else {}),
            }
            for place, letter in enumerate(ascii_letters[: self.count])
        }

    def _nested_attributes(self) -> dict[str, Value]:
        random = self.random
        lines: list[Value] = [
            {"sku": random.choice("AB"), "qty": random.randint(1, 3)} for _ in range(random.randrange(4))
        ]
        return {
            "order": {"country": random.choice(("DE", "FR")), "lines": lines},
            "tags": random.sample("abc", random.randrange(4)),
            "owner": random.choice((None, "x")),
        }

    def interest(self, text: str) -> DrawnInterest:
        """Return a filter with its kinds."""
        known = self._known.get(text)
        if known is None:
            code = _compiled(text)
            kinds = "".join(
                letter
                for letter, attributes in self.attributes.items()
                if eval(code, FUNCTIONS, vars(evaluated(attributes)))  # noqa: S307 - text made here
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
        if self.nested and random.getrandbits(1):
            return self._nested_constraint()
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

    def _nested_constraint(self) -> str:
        random = self.random
        one, other = random.sample("abc", 2)
        sku, quantity = random.choice("AB"), random.randint(1, 3)
        return random.choice(
            (
                f"{one!r} {random.choice(('in', 'not in'))} tags",
                f"tags & {{{one!r}, {other!r}}}",
                f"{{{one!r}, {other!r}}} <= tags",
                f"order.country == {random.choice(('DE', 'FR'))!r}",
                f"any(i.sku == {sku!r} and i.qty >= {quantity} for i in order.lines)",
                f"all(i.qty >= {quantity} for i in order.lines)",
                f"len(order.lines) {random.choice(('<', '>', '=='))} {quantity}",
                f"owner {random.choice(('is', 'is not'))} None",
            )
        )
