"""Tables: columns over rows, for a terminal, for a file or a pipe, and as Markdown; and numbers in them.

A column is a heading, and a function that says what stands below it for a row. Words stand on the left,
numbers on the right.
"""

import io
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import attrs
import click

if TYPE_CHECKING:
    from rich.console import JustifyMethod
    from rich.table import Table as Grid


NONE: Final = "-"
"""The text of a cell without a value."""

_SHOWN: Final = "shown"

_WIDE: Final = 10_000
"""Characters of a line in a file: nothing is ever wrapped there."""

_EXACT: Final = 1e-9
_THOUSAND: Final = 1_000

_Row = TypeVar("_Row")

Column = tuple[str, Callable[[_Row], str]]


@attrs.frozen
class Table:
    """Cells under headings, if there are any; the first `words` columns are words, the others numbers."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1

    def text(self) -> str:
        """Return the table as aligned lines."""
        from rich.console import Console  # noqa: PLC0415 - an extra, which only printing a table needs

        console = Console(file=io.StringIO(), width=_WIDE, color_system=None)
        with console.capture() as printed:
            console.print(_grid(self))
        return "\n".join(line.rstrip() for line in printed.get().splitlines())

    def markdown(self) -> str:
        """Return the table as a page has it, with an end of line."""
        lines = [self.head, ["---"] * len(self.head), *self.rows]
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def table(columns: Sequence[Column[_Row]], rows: Iterable[_Row], words: int = 1) -> Table:
    """Return a table with a line for each row."""
    cells = [[cell(row) for _, cell in columns] for row in rows]
    return Table([heading for heading, _ in columns], cells, words)


def shown(title: str, form: str | Callable[[Any], str] = "", unit: str = "") -> Any:
    """Return a field of a row's class that stands under this title, in this form and with this unit."""
    return attrs.field(metadata={_SHOWN: (title, form, unit)})


def table_of(rows: Sequence["attrs.AttrsInstance"], words: int = 1) -> Table:
    """Return a table with a line for each row; the fields of their class say what stands in it."""
    columns = [(each.name, *each.metadata[_SHOWN]) for each in attrs.fields(type(rows[0])) if each.metadata]
    cells = [[_cell(getattr(row, name), form, unit) for name, _, form, unit in columns] for row in rows]
    return Table([title for _, title, _, _ in columns], cells, words)


def _cell(value: object, form: str | Callable[[Any], str], unit: str) -> str:
    if value is None:
        return NONE
    return (form(value) if callable(form) else format(value, form)) + unit


def _grid(content: Table) -> "Grid":
    """Headings may be wrapped between words; cells never are."""
    from rich.table import Table as Grid  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415 - as above

    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=bool(content.head))
    for place, heading in enumerate(content.head or [""] * len(content.rows[0])):
        longest = max((len(row[place]) for row in content.rows), default=0)
        justify: JustifyMethod = "left" if place < content.words else "right"
        grid.add_column(Text(heading), justify=justify, min_width=longest, vertical="bottom")
    for row in content.rows:
        grid.add_row(*map(Text, row))
    return grid


def show(content: Table) -> None:
    """Print a table on standard output: fitted to a terminal, or else as plain text."""
    if not sys.stdout.isatty():
        click.echo(content.text())
        return
    from rich.console import Console  # noqa: PLC0415 - as above
    from rich.measure import Measurement  # noqa: PLC0415 - as above

    console, grid = Console(), _grid(content)
    # A table that is too wide is better wrapped by the terminal than cut off.
    needed = Measurement.get(console, console.options.update(width=_WIDE), grid).minimum
    console.width = max(console.width, needed)
    console.print(grid)


def whole(value: float | None) -> str:
    """Write a number that has no fraction."""
    return NONE if value is None else f"{value:,.0f}"


def plain(value: float | None, digits: int) -> str:
    """Write a number with so many digits behind the point."""
    return NONE if value is None else f"{value:,.{digits}f}"


def number(value: float | None) -> str:
    """Large ones whole, small ones with three digits."""
    if value is None:
        return NONE
    return f"{value:,.0f}" if abs(value) >= _THOUSAND else f"{value:.3g}"


def percent(part: float | None, *, digits: int = 1) -> str:
    """A part of a whole."""
    return NONE if part is None else f"{part * 100:.{digits}f} %"


def deviation(value: float, reference: float) -> float:
    """Return how far a value is from its reference, as a part of it."""
    return value / reference - 1


def beside(value: float | None, reference: float | None) -> str:
    """Ours, and in brackets the reference with how far ours is from it."""
    if value is None or not reference:
        return number(value)
    return f"{number(value)} ({number(reference)}, {deviation(value, reference) * 100:+.1f} %)"


def exactly(title: str, reference: float, found: Sequence[float], digits: int = 2) -> Sequence[str]:
    """A row: what must be, what is at all points, and whether they are equal."""
    if not found:
        return title, f"{reference:,.{digits}f}", NONE, NONE
    low, high = min(found), max(found)
    off = max(abs(each - reference) for each in found)
    verdict = "equal" if off <= _EXACT * max(reference, 1) else f"off by up to {off:,.4g}"
    span = (
        f"{low:,.{digits}f}"
        if f"{low:.{digits}f}" == f"{high:.{digits}f}"
        else f"{low:,.{digits}f} to {high:,.{digits}f}"
    )
    return (
        title,
        f"{reference:,.{digits}f}",
        span,
        f"{verdict}, {len(found)} points" if len(found) > 1 else verdict,
    )
