"""What a neighbour may not do."""


class ProtocolError(Exception):
    """A neighbour said what it may not say now; its link must be closed."""
