"""A schedule as a space-time diagram in text: a column per broker and per subscription, time runs downwards.

A row is one action. A broker's column has the messages that arrive (`<B2 P1:1`: from B2, the first
publication of P1) and those that it sends (`>B3 P1:1?`: the question mark asks for an acknowledgement); a
subscription's column has its deliveries.
"""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

from attrs import Factory, define

from broker.routing import DEFAULT, Routing
from harness.simulator.outcome import Outcome, of_actions
from harness.simulator.world import Action
from ordering.interface import OrderingFactory

CELL_MAX: Final = 28
"""Longer cells are cut: the beginning of a long message is what matters."""


@define(eq=False)
class Diagram:
    """Rows of cells; each cell is a list of short lines."""

    columns: dict[str, int] = Factory(dict)
    rows: list[tuple[str, dict[str, list[str]]]] = Factory(list)

    def column(self, name: str) -> None:
        """Add a column for a broker or subscription."""
        self.columns.setdefault(name, len(name))

    def begin(self, title: str) -> None:
        """Start a row."""
        self.rows.append((title, {}))

    def put(self, column: str, text: str) -> None:
        """Write into a cell of the present row."""
        self.column(column)
        text = text if len(text) <= CELL_MAX else f"{text[: CELL_MAX - 2]}.."
        if not self.rows:
            self.begin("")
        self.rows[-1][1].setdefault(column, []).append(text)
        self.columns[column] = max(self.columns[column], len(text))

    def lines(self) -> list[str]:
        """Return the diagram, line by line."""
        titles = max((len(title) for title, _ in self.rows), default=0)
        head = "  ".join([" " * (titles + 4), *(name.ljust(width) for name, width in self.columns.items())])
        lines = [head.rstrip()]
        for number, (title, cells) in enumerate(self.rows, 1):
            stacks = [cells.get(name, []) for name in self.columns]
            first = f"{number:3} {title.ljust(titles)}"
            for place, texts in enumerate(zip_longest(*stacks, fillvalue="") or [()]):
                row = [t.ljust(width) for t, width in zip(texts, self.columns.values(), strict=True)]
                lines.append("  ".join([first if not place else " " * len(first), *row]).rstrip())
            if not any(stacks):
                lines.append(first.rstrip())
        return lines


def draw(
    actions: Sequence[Action], ordering: OrderingFactory, routing: Routing = DEFAULT
) -> tuple[Diagram, Outcome]:
    """Run a schedule once more and draw it, its liveness phase included."""
    diagram = Diagram()
    for kind in ("start", "subscribe"):
        for action in actions:
            if action[0] == kind:
                diagram.column(str(action[1]))
    outcome = of_actions(
        tuple(actions),
        ordering,
        diagram.put,
        lambda action: diagram.begin(" ".join(map(str, action))),
        routing,
    )
    return diagram, outcome
