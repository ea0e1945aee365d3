"""What the other end of a session may not say."""


class SessionError(Exception):
    """The other end counts what there never was; nothing has been changed by it."""
