"""The matching index: from an event's attributes to the filters it satisfies, by attribute."""

from broker.matching.index import MatchingIndex

__all__ = ["MatchingIndex"]
