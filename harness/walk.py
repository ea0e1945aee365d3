"""The way of one publication and of one subscription through two brokers, counted call by call.

    python -m harness.walk              # a table by module, and the totals
    python -m harness.walk --calls      # every call in its order
    python -m harness.walk --json

A publication goes from the bytes of its publisher's connection at one broker to the bytes for a subscriber's
connection at the next, a subscription from the bytes of its client to the answer. Everything else has been
said before: the walk is that of a warm broker. Calls are those of functions of the product; what the
interpreter and libraries do inside is not counted.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Final

import click
from attrs import frozen

from broker.messages import Advertise, Advertised, Subscribe, Subscribed
from broker.node import Received
from broker.wire import encode, encode_publication, publication_prefix
from harness.node_overlay import NodeOverlay

ROOT: Final = Path(__file__).parent.parent
WARM_COUNT: Final = 100
"""So many go the way before the one that is counted: tables that are made once are made then."""

CREDIT: Final = 1_000_000


@frozen
class Walk:
    """The calls of one way: modules and functions, in the order in which they were entered."""

    calls: tuple[tuple[str, str], ...]

    @property
    def modules(self) -> set[str]:
        """The modules that it goes through."""
        return {module for module, _ in self.calls}

    @property
    def functions(self) -> set[tuple[str, str]]:
        """The functions that it goes through."""
        return set(self.calls)


def _subscription(number: int) -> bytes:
    text = f"kind == 'trade' and price > {number}"
    is_ordered = True
    return encode(Subscribe(number, text, is_ordered, CREDIT, 1 << 23, "disconnect", "", 0, "", (), ()))


def _overlay() -> tuple[NodeOverlay, int, int]:
    """Two brokers, a publisher at the first and a subscriber at the second."""
    overlay = NodeOverlay()
    overlay.add("B1")
    overlay.add("B2", "B1:1")
    overlay.wait(2.0)
    publisher, subscriber = overlay.client("B1", "alice"), overlay.client("B2", "bob")
    overlay.feed("B1", Received(publisher, encode(Advertise(1, "kind == 'trade'", ""))))
    return overlay, publisher, subscriber


def walk_of_a_publication() -> Walk:
    """Return the way of a publication from a client's bytes at one broker to a subscriber's at the next."""
    overlay, publisher, subscriber = _overlay()
    overlay.feed("B2", Received(subscriber, _subscription(1)))
    advertised = overlay.answer("B1", publisher, Advertised)
    assert isinstance(advertised, Advertised)
    prefix = publication_prefix(advertised.publisher)

    frames = [
        encode_publication(prefix, number, 0, {"kind": "trade", "price": 101.5}, b"x" * 100, ordered=True)
        for number in range(1, WARM_COUNT + 1)
    ]
    for frame in frames[:-1]:
        overlay.feed("B1", Received(publisher, frame))
    before = len(overlay.received["B2", subscriber])
    walk = _walked(lambda: overlay.feed("B1", Received(publisher, frames[-1])))
    assert len(overlay.received["B2", subscriber]) > before, "it was not delivered"
    return walk


def walk_of_a_subscription() -> Walk:
    """Return the way of a subscription from a client's bytes at one broker to the answer, by the next."""
    overlay, _, subscriber = _overlay()
    for number in range(1, WARM_COUNT):
        overlay.feed("B2", Received(subscriber, _subscription(number)))
    frame = _subscription(WARM_COUNT)
    walk = _walked(lambda: overlay.feed("B2", Received(subscriber, frame)))
    answer = overlay.answer("B2", subscriber, Subscribed)
    assert isinstance(answer, Subscribed)
    assert answer.number == WARM_COUNT, "it was not answered"
    return walk


def _walked(call: Callable[[], object]) -> Walk:
    calls: list[tuple[str, str]] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            path = Path(frame.f_code.co_filename)
            if path.is_relative_to(ROOT / "broker") or path.is_relative_to(ROOT / "ordering"):
                calls.append((path.relative_to(ROOT).as_posix(), frame.f_code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return Walk(tuple(calls))


@click.command()
@click.option("--calls", is_flag=True, help="Print every call in its order.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def main(*, calls: bool, as_json: bool) -> None:
    """Print the walk of one publication and of one subscription through two brokers."""
    walks = {"publication": walk_of_a_publication(), "subscription": walk_of_a_subscription()}
    if as_json:
        counts = {
            name: {"calls": len(walk.calls), "functions": len(walk.functions), "modules": len(walk.modules)}
            for name, walk in walks.items()
        }
        click.echo(json.dumps(counts))
        return
    for name, walk in walks.items():
        click.echo(
            f"one {name}: {len(walk.calls)} calls of {len(walk.functions)} functions "
            f"in {len(walk.modules)} modules"
        )
        lines = walk.calls if calls else Counter(module for module, _ in walk.calls).most_common()
        for first, second in lines:
            click.echo(f"  {second:>5}  {first}" if not calls else f"  {first}  {second}")


if __name__ == "__main__":
    main()
