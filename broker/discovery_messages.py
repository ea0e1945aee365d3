"""The messages between a client and its broker about what is on offer."""

from attrs import frozen


@frozen
class Discover:
    """Asks for the advertisements that overlap the filter: those that stand, and then each change."""

    number: int
    filter: str


@frozen
class Undiscover:
    """Ends the `Discover` of that number."""

    number: int


@frozen
class Discovered:
    """Answers the `Discover` of that number: advertisements that were `added`, or `removed` by their ids.

    If it begins `anew`, it is the first page of a snapshot, and what was known before counts no more. With
    `more` another page of the snapshot follows.
    """

    number: int
    added: tuple[tuple[str, str], ...]
    removed: tuple[str, ...] = ()
    anew: bool = False
    more: bool = False
