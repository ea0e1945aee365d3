"""The messages about the filters that overlap an advertisement, as values."""

from attrs import frozen


@frozen
class FollowInterest:
    """Asks for the filters that overlap the advertisement of `publisher`, the number of its `Advertise`.

    They come as `InterestListed` under the `number` of this request, until the publisher ends.
    """

    number: int
    publisher: int


@frozen
class InterestListed:
    """Adds filters to what the client knows of the `FollowInterest` of that number, and removes others.

    On each connection the first one is all of them. With `more`, another page of the same change follows.
    """

    number: int
    added: tuple[str, ...]
    removed: tuple[str, ...]
    more: bool = False
