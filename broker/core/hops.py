"""Hops of a broker: its links and its local subscriptions, one bit each.

A set of hops is a whole number, so that computing the targets of a publication is arithmetic. A message to a
hop is appended to its outbox; `drain` returns the filled outboxes. Bits of hops that are gone are used again,
lowest first, so that sets stay as small as the number of hops at one time.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final

from attrs import Factory, define, field

from broker.messages import LinkMessage, OrderingMessage, Publication
from ordering.interface import Emission, Hops, Note

FAN_OUTS_CACHED = 4096
"""How many sets of hops stay expanded. Few differ at one time; a thousand hops each alone fit as well."""


BLOCK: Final = 1024
"""Bits of a set that are taken at a time: arithmetic on all of a large set takes long for every member."""

Combine = Callable[[tuple[int, ...], tuple[int, ...]], tuple[int, ...] | None]
"""Makes one note of two that are sent in a row, if the plugin has one of the same meaning."""


@define(eq=False)
class Hop:
    """One way out of the broker. `name` is the neighbour's name, or the subscription's id."""

    number: int
    name: str
    is_link: bool
    outbox: list[LinkMessage] = field(factory=list, repr=False)

    @cached_property
    def bit(self) -> Hops:
        """Return the set of this hop alone; with very many hops it is long, so it is made when asked for."""
        return 1 << self.number


@define(eq=False)
class HopTable:
    """All hops at this moment, by bit; `opened` is the set of them."""

    _by_number: dict[int, Hop] = Factory(dict)
    _free: list[int] = Factory(list)
    _fan_outs: dict[Hops, tuple[Hop, ...]] = Factory(dict)
    _filled: Hops = 0
    opened: Hops = 0

    def open(self, name: str, *, is_link: bool) -> Hop:
        """Give a new hop the lowest free bit."""
        number = heapq.heappop(self._free) if self._free else len(self._by_number)
        hop = Hop(number, name, is_link)
        self.opened |= 1 << number
        self._by_number[number] = hop
        return hop

    def close(self, hop: Hop) -> None:
        """Forget a hop and what it still had to send; its bit may be used again."""
        del self._by_number[hop.number]
        heapq.heappush(self._free, hop.number)
        hop.outbox.clear()
        self.opened &= ~hop.bit
        self._filled &= ~hop.bit
        self._fan_outs.clear()

    def is_open(self, hop: Hop) -> bool:
        """Return whether the hop has not been closed."""
        return self._by_number.get(hop.number) is hop

    def carry_out(self, emissions: Iterable[Emission], combine: Combine) -> None:
        """Append what an ordering plugin emits to the outboxes of its targets."""
        for item, targets, mark in emissions:
            self._filled |= targets
            fan_out = self._fan_outs.get(targets) or self._fan_out(targets)
            if item.__class__ is Note:
                _append_note(item, fan_out, combine)
                continue
            messages: Sequence[LinkMessage] = item if isinstance(item, tuple) else (item,)
            if mark:
                messages = [_marked(message, mark) for message in messages]
            for hop in fan_out:
                hop.outbox += messages

    def extend(self, hop: Hop, messages: Sequence[LinkMessage]) -> None:
        """Append these to the outbox of a hop, past the ordering plugin."""
        self._filled |= hop.bit
        hop.outbox.extend(messages)

    def append(self, message: LinkMessage, hops: Hops) -> None:
        """Append a message to the outboxes of these hops, past the ordering plugin."""
        self._filled |= hops
        for hop in self.those(hops):
            hop.outbox.append(message)

    def _fan_out(self, hops: Hops) -> tuple[Hop, ...]:
        """Return the hops in a set, without those that are not open: memory may have gone wrong."""
        if hops & ~self.opened:
            return self._fan_out(hops & self.opened)
        if len(self._fan_outs) >= FAN_OUTS_CACHED:
            self._fan_outs.clear()
        found = self._fan_outs[hops] = tuple(self._by_number[number] for number in members(hops))
        return found

    def those(self, hops: Hops) -> Iterator[Hop]:
        """Yield the hops in a set, lowest first."""
        return (self._by_number[number] for number in members(hops))

    def names(self, hops: Hops) -> list[str]:
        """Return the names of the hops in a set, without those that are not open."""
        return [hop.name for hop in self.those(hops & self.opened)]

    def drain(self) -> list[tuple[Hop, list[LinkMessage]]]:
        """Empty all outboxes; each list belongs to the caller from now on."""
        filled, self._filled = self._filled & self.opened, 0
        drained = []
        for hop in self._fan_outs.get(filled) or tuple(self._by_number[number] for number in members(filled)):
            drained.append((hop, hop.outbox))
            hop.outbox = []
        return drained

    def __len__(self) -> int:
        return len(self._by_number)


def _marked(message: LinkMessage, mark: int) -> Publication:
    assert isinstance(message, Publication)
    return message.with_mark(mark)


def _append_note(note: Note, hops: Iterable[Hop], combine: Combine) -> None:
    """Append a note to each of these, or make one of it and of the note that is last there."""
    for hop in hops:
        if not hop.is_link:
            continue  # Memory has gone wrong: a client has no plugin.
        last = hop.outbox[-1] if hop.outbox else None
        combined = combine(last.content, note.content) if isinstance(last, OrderingMessage) else None
        if combined is None:
            hop.outbox.append(OrderingMessage(note.content))
        else:
            hop.outbox[-1] = OrderingMessage(combined)


def members(hops: Hops) -> Iterator[int]:
    """Yield the numbers of the hops in a set, lowest first."""
    if not hops & (hops - 1):  # One hop, or none: the most frequent set.
        yield from (hops.bit_length() - 1,) if hops else ()
        return
    for base in range(0, hops.bit_length(), BLOCK):
        block = hops >> base & (1 << BLOCK) - 1
        while block:
            lowest = block & -block
            yield base + lowest.bit_length() - 1
            block ^= lowest


def united(numbers: Sequence[int]) -> Hops:
    """Return the set of the hops with these numbers; if they are near one another, that takes least."""
    base = min(numbers)
    hops = 0
    for number in numbers:
        hops |= 1 << number - base
    return hops << base
