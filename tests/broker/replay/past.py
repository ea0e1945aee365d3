"""Publications for tests, kept as a broker keeps them, and as they should come out of replays."""

from collections.abc import Sequence

from broker.messages import Publication
from broker.replay import Cache, Item
from broker.wire import encode_publication, publication_prefix

Run = tuple[str, list[tuple[int, str]]]
"""A publisher, and of what it publishes together the times and kinds."""


def published(
    publisher: str, sequence: int, published_ns: int, kind: str, payload: bytes = b""
) -> Publication:
    """One event with a whole frame."""
    attributes = {"kind": kind}
    prefix = publication_prefix(publisher)
    frame = encode_publication(prefix, sequence, published_ns, attributes, payload, True)
    return Publication(publisher, sequence, attributes, True, frame, 0, published_ns)


class Filler:
    """Fills a cache, and knows what came out of what was put in."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._sequences: dict[str, int] = {}
        self.latest: dict[str, int] = {}

    def keep(self, run: Run) -> list[Item]:
        """Keep what is published together; return it as it should come out."""
        publisher, events = run
        publications, items = [], []
        for published_ns, kind in events:
            sequence = self._sequences[publisher] = self._sequences.get(publisher, 0) + 1
            at_ns = self.latest[publisher] = max(published_ns, self.latest.get(publisher, 0))
            made = published(publisher, sequence, published_ns, kind)
            publications.append(made)
            items.append((at_ns, publisher, sequence, made.frame))
        self._cache.keep(publisher, publications)
        return items


def kept(cache: Cache, runs: Sequence[Run]) -> list[list[Item]]:
    """Fill a cache; return what was put in, run by run, as it should come out."""
    filler = Filler(cache)
    return [filler.keep(run) for run in runs]
