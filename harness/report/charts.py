"""Draws charts as SVG: few lines, direct labels, and colours that the page decides, light or dark.

A chart is drawn twice, for a wide page and for a narrow one, in letters of the same size; the style sheet
shows one of them. Nothing is drawn that does not say something: no frames, no legends away from their lines.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import Final

import attrs

WIDE: Final = 540
NARROW: Final = 350
"""Widths in the units of the letters: CSS pixels on a desk and on a phone."""

HEIGHT: Final = 300
_LEFT: Final = 52
_TOP: Final = 26
_BOTTOM: Final = 44
_LETTER: Final = 7.1
"""About the width of a letter."""

_TICKS: Final = 5

DOTS_MAX: Final = 12
"""So many points of a line are distinguishable, and then they are shown."""


@attrs.frozen
class ChartLine:
    """Points that belong together. `style` is the name of its colour in the style sheet."""

    label: str
    points: Sequence[tuple[float, float]]
    style: str
    is_step: bool = False


@attrs.frozen
class Mark:
    """Something that happened at a place on the horizontal axis."""

    at: float
    label: str


@attrs.frozen
class ChartAxis:
    """What one direction means. `is_log` for what spans several powers of ten."""

    label: str
    is_log: bool = False
    least: float | None = None
    most: float | None = None
    tick: Callable[[float], str] | None = None


@attrs.frozen
class Chart:
    """Lines over two axes."""

    lines: Sequence[ChartLine]
    across: ChartAxis
    up: ChartAxis
    marks: Sequence[Mark] = ()
    summary: str = ""


@attrs.frozen
class Bars:
    """Named values side by side, each a stack of parts: (label, [(part, value, style)])."""

    rows: Sequence[tuple[str, Sequence[tuple[str, float, str]]]]
    label: str
    summary: str = ""


@attrs.frozen
class _Scale:
    """From values to places."""

    axis: ChartAxis
    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """The place of a value, inside the axis."""
        low, high, found = self.low, self.high, min(max(value, self.low), self.high)
        if self.axis.is_log:
            low, high, found = math.log10(low), math.log10(high), math.log10(found)
        return self.start + (found - low) / (high - low) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Round numbers in between."""
        if self.axis.is_log:
            powers = range(
                math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9) + 1
            )
            return [10.0**power for power in powers]
        step = _round_step((self.high - self.low) / _TICKS)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [index * step for index in range(first, last + 1)]

    def label(self, value: float) -> str:
        """Return the label of a tick."""
        return self.axis.tick(value) if self.axis.tick else shown(value)


def shown(value: float) -> str:
    """A number as short as it can be read."""
    if value >= 1_000_000:  # noqa: PLR2004 - a million
        return f"{value / 1e6:g}M"
    if value >= 10_000:  # noqa: PLR2004 - five digits
        return f"{value / 1e3:g}k"
    return f"{value:.6g}"


def opening(name: str, width: int, height: float, words: str) -> str:
    """The tag of a drawing, with what a screen reader says of it."""
    size = f'viewBox="0 0 {width} {height:.0f}"'
    return f'<svg class="chart {name}" {size} role="img" aria-label="{escape(words)}">'


def draw(chart: Chart) -> str:
    """Both drawings of a chart."""
    return "".join(_svg(chart, width, name) for width, name in ((WIDE, "wide"), (NARROW, "narrow")))


def _svg(chart: Chart, width: int, name: str) -> str:
    labels = [line.label for line in chart.lines] if width == WIDE else []
    right = 14 + max((len(label) * _LETTER for label in labels), default=0)
    keys = [] if width == WIDE else list(_keys(chart.lines, width))
    top = _TOP + (18 * len({y for y, _ in keys}) if keys else 0)
    height = HEIGHT + top - _TOP
    points = [point for line in chart.lines for point in line.points]
    across = _scale(chart.across, [x for x, _ in points], _LEFT, width - right)
    up = _scale(chart.up, [y for _, y in points], height - _BOTTOM, top)
    parts = [
        opening(name, width, height, chart.summary or chart.up.label),
        *(text for _, text in keys),
        *_grid(across, up, width - right),
        *_marks(chart.marks, across, up),
        *(_line(line, across, up) for line in chart.lines),
        *(_labels(chart.lines, across, up) if width == WIDE else ()),
        "</svg>",
    ]
    return "".join(parts)


def _scale(axis: ChartAxis, values: Sequence[float], start: float, end: float) -> _Scale:
    if axis.is_log:
        positive = [value for value in values if value > 0] or [1.0]
        low = 10 ** math.floor(math.log10(axis.least or min(positive)) + 1e-9)
        high = 10 ** math.ceil(math.log10(axis.most or max(positive)) - 1e-9)
        return _Scale(axis, low, high if high > low else low * 10, start, end)
    low = axis.least if axis.least is not None else min(values)
    high = axis.most if axis.most is not None else max(values)
    high = high if high > low else low + (abs(low) or 1.0)
    if axis.most is None:
        step = _round_step((high - low) / _TICKS)
        high = low + math.ceil((high - low) / step - 1e-9) * step
    return _Scale(axis, low, high, start, end)


def _round_step(rough: float) -> float:
    power: float = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999)


def _grid(across: _Scale, up: _Scale, right: float) -> Iterator[str]:
    yield _text(_LEFT - 44, up.end - 12, up.axis.label, "axis")
    for value in up.ticks():
        y = up.at(value)
        yield f'<path class="grid" d="M{_LEFT} {y:.1f}H{right:.1f}"/>'
        yield _text(_LEFT - 8, y + 4, up.label(value), "tick", "end")
    for value in across.ticks():
        x = across.at(value)
        yield f'<path class="notch" d="M{x:.1f} {up.start:.1f}v5"/>'
        yield _text(x, up.start + 19, across.label(value), "tick", "middle")
    yield f'<path class="base" d="M{_LEFT} {up.start:.1f}H{right:.1f}"/>'
    yield _text(right, up.start + 38, across.axis.label, "axis", "end")


def _line(line: ChartLine, across: _Scale, up: _Scale) -> str:
    places = [(across.at(x), up.at(y)) for x, y in line.points]
    if line.is_step:
        places = [
            each
            for (x, y), (after, _) in zip(places, [*places[1:], places[-1]], strict=True)
            for each in ((x, y), (after, y))
        ]
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    dots = (
        ""
        if len(line.points) > DOTS_MAX or line.is_step
        else "".join(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" class="dot {line.style}"/>' for x, y in places
        )
    )
    return f'<path class="line {line.style}" d="M{path}"/>{dots}'


def _labels(lines: Sequence[ChartLine], across: _Scale, up: _Scale) -> Iterator[str]:
    """Each line's name at its end, moved apart where lines end together."""
    wanted = sorted((up.at(line.points[-1][1]), index) for index, line in enumerate(lines))
    placed: list[tuple[float, int]] = []
    for y, index in wanted:
        placed.append((max(y, placed[-1][0] + 16) if placed else y, index))
    overflow = max(placed[-1][0] - up.start, 0.0) if placed else 0.0
    for y, index in placed:
        line = lines[index]
        x = across.at(line.points[-1][0]) + 8
        yield _text(x, y - overflow + 4, line.label, f"name {line.style}")


def _keys(lines: Sequence[ChartLine], width: int) -> Iterator[tuple[int, str]]:
    """On a narrow page names stand above, in as many rows as they need."""
    x, y = 8.0, 14
    for line in lines:
        needed = 22 + len(line.label) * _LETTER + 12
        if x + needed > width and x > 8.0:  # noqa: PLR2004 - the left edge
            x, y = 8.0, y + 18
        dash = f'<path class="line {line.style}" d="M{x:.0f} {y - 4}h16"/>'
        yield y, dash + _text(x + 21, y, line.label, f"name {line.style}")
        x += needed


def _marks(marks: Sequence[Mark], across: _Scale, up: _Scale) -> Iterator[str]:
    """Upright lines; names that follow each other stand at different heights."""
    named = 0
    for mark in marks:
        yield _mark(mark, named, across, up)
        named += bool(mark.label)


def _mark(mark: Mark, named: int, across: _Scale, up: _Scale) -> str:
    x = across.at(mark.at)
    y = up.end + 10 + 13 * (named % 4)
    is_late = x > (across.start + across.end) * 0.6
    place = x - 5 if is_late else x + 5
    label = _text(place, y, mark.label, "event", "end" if is_late else "start") if mark.label else ""
    return f'<path class="event" d="M{x:.1f} {up.end:.1f}V{up.start:.1f}"/>{label}'


def _text(x: float, y: float, words: str, style: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{style}" text-anchor="{anchor}">{escape(words)}</text>'


def drawn_bars(bars: Bars) -> str:
    """Both drawings of bars."""
    return "".join(_bars(bars, width, name) for width, name in ((WIDE, "wide"), (NARROW, "narrow")))


def _bars(bars: Bars, width: int, name: str) -> str:
    left = 12 + max(len(label) for label, _ in bars.rows) * _LETTER
    most = max(sum(value for _, value, _ in parts) for _, parts in bars.rows) or 1.0
    room = width - left - 64
    rows = []
    names = {part: style for _, parts in bars.rows for part, _, style in parts}
    lines = [ChartLine(part, (), style) for part, style in names.items()]
    keys = list(_keys(lines, width)) if len(lines) > 1 else []
    top = max((y for y, _ in keys), default=0) + 12
    for index, (label, parts) in enumerate(bars.rows):
        y, x = top + index * 30, left
        rows.append(_text(left - 8, y + 15, label, "tick", "end"))
        for _, value, style in parts:
            long = room * value / most
            rows.append(
                f'<rect class="bar {style}" x="{x:.1f}" y="{y}" width="{max(long, 0.5):.1f}" height="20"/>'
            )
            x += long
        rows.append(_text(x + 6, y + 15, f"{sum(value for _, value, _ in parts):.3g}", "tick"))
    height = top + len(bars.rows) * 30 + 22
    rows.append(_text(width - 4, height - 4, bars.label, "axis", "end"))
    start = opening(name, width, height, bars.summary or bars.label)
    return start + "".join(text for _, text in keys) + "".join(rows) + "</svg>"
