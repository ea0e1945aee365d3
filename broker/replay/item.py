"""A publication of the past, with its place in the order of replays."""

Item = tuple[int, str, int, bytes]
"""When it was published, its publisher, its sequence number, and its plain frame.

Items are compared as they stand: that is the order in which they are replayed. The time is the publisher's
own, but never less than that of its publication before, so that the order of each publisher's is kept.
"""
