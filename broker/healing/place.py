"""Where one broker is, in its own words."""

from attrs import frozen


@frozen
class Place:
    """One broker's word. Of two words of one broker the one with the larger number counts.

    `address` is "" if nobody can dial it, `uplink` the name of the last broker it was attached to, or "".
    """

    name: str
    version: int
    address: str
    uplink: str
