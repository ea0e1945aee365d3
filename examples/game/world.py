"""The game as values: the map, its events, and the state of a region, which follows from its events alone.

An event belongs to a region (a crossing to the two it joins), filters take regions whole, and every question
is decided inside one region. So players who see a region agree on it, if they are delivered its events in one
order.
"""

from collections.abc import Mapping
from typing import Final
from zlib import crc32

from attrs import asdict, define, field, frozen

COLUMNS: Final = "abcde"
ROWS: Final = "1234"
SIDE: Final = 4  # cells, of a region
GEMS: Final = 2  # in a region, at any time
WIDTH, HEIGHT = len(COLUMNS) * SIDE, len(ROWS) * SIDE
_NONE: Final = -1


@frozen(kw_only=True)
class GameEvent:
    """The attributes of an event that a player publishes, without those that have their defaults."""

    kind: str  # move, grab, tag: actions. watch, answer, begin, leave, mark: how players learn the state.
    player: str
    region: str = ""
    into: str = ""  # the region that a move leads into, across a border
    to: str = ""  # the player that an answer or a mark is for
    target: str = ""  # who is tagged
    place: str = ""  # names this event where its position in the order matters
    x: int = _NONE
    y: int = _NONE
    gem: int = _NONE
    turn: int = _NONE  # how often the gem has been taken before
    attempt: int = _NONE  # how often a watch has been in vain before; without it, no answer is asked for

    def attributes(self) -> Mapping[str, str | int]:
        """Return the attributes for `publish`; `GameEvent(**delivery.attributes)` is the inverse."""
        return {name: value for name, value in asdict(self).items() if value not in ("", _NONE)}


def region_at(x: int, y: int) -> str:
    """Return the region of a cell, such as "b3"."""
    return COLUMNS[x // SIDE] + ROWS[y // SIDE]


def sight(region: str) -> frozenset[str]:
    """What is seen from a region: itself and its neighbours."""
    column, row = COLUMNS.index(region[0]), ROWS.index(region[1])
    near = COLUMNS[max(column - 1, 0) : column + 2], ROWS[max(row - 1, 0) : row + 2]
    return frozenset(c + r for c in near[0] for r in near[1])


def interest(regions: frozenset[str], player: str) -> str:
    """Return the filter of a player's subscription: one filter, since one subscription has one order."""
    names = ", ".join(map(repr, sorted(regions)))
    return f"region in ({names}) or into in ({names}) or to == {player!r}"


@define
class Region:
    """The state of one region at one position in the order of its events."""

    name: str
    began: str  # the event that began it; gems of another beginning are other gems
    taken: list[int] = field(factory=lambda: [0] * GEMS)
    players: dict[str, list[int]] = field(factory=dict)
    watchers: list[str] = field(factory=list)

    def cell(self, gem: int) -> tuple[int, int]:
        """Return the cell of a gem. When it is taken, the next one lies elsewhere in the region."""
        spot = crc32(f"{self.began}{self.name}{gem}{self.taken[gem]}".encode()) % (SIDE * SIDE)
        return COLUMNS.index(self.name[0]) * SIDE + spot % SIDE, ROWS.index(
            self.name[1]
        ) * SIDE + spot // SIDE

    def apply(self, event: GameEvent) -> bool:
        """Apply the next event. Return whether it counts: the first player to grab a gem has it."""
        at, tagged = self.players.get(event.player), self.players.get(event.target)
        match event.kind:
            case "move" if event.into == self.name or (at and not event.into):
                self.players[event.player] = [event.x, event.y]
            case "move" | "leave":
                self.players.pop(event.player, None)
            case "grab":
                if not at or event.turn < self.taken[event.gem]:
                    return False
                self.taken[event.gem] = event.turn + 1
            case "tag":
                if not at or not tagged or max(abs(at[0] - tagged[0]), abs(at[1] - tagged[1])) > 1:
                    return False
                del self.players[event.target]
        if event.kind in ("watch", "leave"):
            others = self.watchers[event.attempt > 0 :]  # Who did not answer is not asked again.
            self.watchers = [name for name in others if name != event.player]
            self.watchers += [event.player] * (event.kind == "watch")
        return True
