from random import Random

from broker.filters import parse
from harness.whole.interests import Events


def test_kinds_are_what_the_product_matches() -> None:
    for seed in range(80):
        events = Events(Random(seed), 8, 5, nested=seed % 2 == 1)
        interest = events.draw()
        matches = parse(interest.text).compiled()
        assert interest.kinds == "".join(
            kind for kind, attributes in events.attributes.items() if matches(attributes)
        )
