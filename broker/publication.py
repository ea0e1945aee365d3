"""A publication, the only message on the hot path.

It carries the frame it came in, so that a broker forwards bytes and encodes nothing; it is never changed
after it was made, although it is not frozen (a frozen class costs three times as much to make).

It is written out, and no attrs class, because the compiled form makes an extension type of it
(`publication.pxd`): it is made once for each event at each broker, and most of what costs is its making.
"""

from collections.abc import Mapping

from broker.filters.constraints import Value


class Publication:
    """One event on its way. `frame` is its whole wire frame with no mark set; `mark` came with this copy."""

    __slots__ = ("attributes", "frame", "mark", "ordered", "published_ns", "publisher", "sequence")

    def __init__(  # noqa: PLR0913, PLR0917 - the fields of the frame
        self,
        publisher: str,
        sequence: int,
        attributes: Mapping[str, Value],
        ordered: bool,  # noqa: FBT001 - a field like the others
        frame: bytes,
        mark: int = 0,
        published_ns: int = 0,
    ) -> None:
        self.publisher = publisher
        self.sequence = sequence
        self.attributes = attributes
        self.ordered = ordered
        self.frame = frame
        self.mark = mark
        self.published_ns = published_ns

    def with_mark(self, mark: int) -> "Publication":
        """Return a copy of the same event that carries another mark."""
        known = self.publisher, self.sequence, self.attributes, self.ordered, self.frame
        return Publication(*known, mark, self.published_ns)

    def __repr__(self) -> str:
        return (
            f"Publication(publisher={self.publisher!r}, sequence={self.sequence!r}, "
            f"attributes={self.attributes!r}, ordered={self.ordered!r}, mark={self.mark!r}, "
            f"published_ns={self.published_ns!r})"
        )
