"""What keeps a station from being made again out of what was written down."""

from broker.errors import ConcordError


class StationError(ConcordError):
    """A record or a snapshot that this broker cannot go on from; the text says why and what to do."""
