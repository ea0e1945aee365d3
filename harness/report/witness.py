"""A violation of pairwise order as a space-time diagram: time runs downwards, each line is a client.

Two publications leave their publishers and arrive at two subscribers, in this order at the one and in the
other at the other. Moments are evenly spaced, since microseconds and seconds would not fit one diagram; the
time of each stands beside it.
"""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Final

import attrs

from harness.report.charts import NARROW, WIDE, opening

_ROW: Final = 34
_TOP: Final = 58
_STYLES: Final = ("c0", "c1")
_NAME_LETTERS: Final = {WIDE: 17, NARROW: 11}
"""Longer names are cut at the end; the text below the diagram has them whole."""


@attrs.frozen
class _Moment:
    """Something that happened to publication number `which` at a line."""

    at_ns: int
    line: int
    which: int
    is_delivery: bool


def diagram(witness: Mapping[str, object]) -> str:
    """Both drawings of a witness; empty if it is about one subscriber alone."""
    publications, views = _list(witness.get("publications")), _list(witness.get("views"))
    if len(publications) != 2 or len(views) != 2:  # noqa: PLR2004 - two see two
        return ""
    names = [
        *((_short(str(each["publisher"])), str(each["broker"])) for each in publications),
        *((_short(str(each["subscriber"])), str(each["broker"])) for each in views),
    ]
    moments = sorted(
        _moments(publications, views), key=lambda each: (each.at_ns, each.is_delivery, each.line)
    )
    words = [f"{_short(str(each['publisher']))}/{each['sequence']}" for each in publications]
    return "".join(
        _svg(names, moments, words, width, style) for width, style in ((WIDE, "wide"), (NARROW, "narrow"))
    )


def _short(name: str) -> str:
    """Return the name of its client, without the suffix that makes it unique."""
    return name.partition("@")[0] or name


def _moments(
    publications: Sequence[Mapping[str, object]], views: Sequence[Mapping[str, object]]
) -> Iterator[_Moment]:
    keys = [f"{each['publisher']}/{each['sequence']}" for each in publications]
    for which, each in enumerate(publications):
        yield _Moment(int(str(each["published_ns"])), which, which, is_delivery=False)
    for line, view in enumerate(views):
        for each in _list(view["deliveries"]):
            which = keys.index(str(each["publication"]))
            yield _Moment(int(str(each["delivered_ns"])), 2 + line, which, is_delivery=True)


def _svg(
    names: Sequence[tuple[str, str]], moments: Sequence[_Moment], words: Sequence[str], width: int, style: str
) -> str:
    height = _TOP + _ROW * len(moments) + 12
    # Publishers stand outside, so that what they send crosses as little as may be.
    left, gap = (86 if width == WIDE else 58), 0.0
    gap = (width - left - (70 if width == WIDE else 34)) / 3
    places = [left + gap * place for place in (0, 3, 1, 2)]
    start_ns = moments[0].at_ns
    rows = {each: _TOP + _ROW * (index + 0.5) for index, each in enumerate(moments)}
    parts = [opening(style, width, height, "who saw what, in time")]
    for (name, broker), x in zip(names, places, strict=True):
        most = _NAME_LETTERS[width]
        short = name if len(name) <= most else f"{name[: most - 1]}…"
        parts += [
            f'<text x="{x:.0f}" y="22" class="who" text-anchor="middle">{escape(short)}</text>',
            f'<text x="{x:.0f}" y="39" class="tick" text-anchor="middle">{escape(broker)}</text>',
            f'<path class="life" d="M{x:.0f} 48V{height - 4}"/>',
        ]
    for each, y in rows.items():
        colour, x = _STYLES[each.which], places[each.line]
        parts.append(
            f'<text x="4" y="{y + 4:.0f}" class="tick">{(each.at_ns - start_ns) / 1e6:.2f} ms</text>'
        )
        if each.is_delivery:
            sent = next(one for one in moments if not one.is_delivery and one.which == each.which)
            parts.append(
                f'<path class="line thin {colour}" d="M{places[sent.line]:.0f} {rows[sent]:.0f}L{x:.0f} '
                f'{y:.0f}"/>'
            )
        parts.append(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="5" class="dot {colour}"/>')
        word = words[each.which] if width == WIDE else "pq"[each.which]
        anchor, shift = ("end", -9) if each.line == 1 else ("start", 9)
        parts.append(
            f'<text x="{x + shift:.0f}" y="{y - 7:.0f}" class="name {colour}" '
            f'text-anchor="{anchor}">{escape(word)}</text>'
        )
    return "".join([*parts, "</svg>"])


def _list(value: object) -> list[Mapping[str, object]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []
