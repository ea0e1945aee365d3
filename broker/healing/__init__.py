"""Healing of the tree: known locations of brokers, and the next one that a root without an uplink dials."""

from broker.healing.roster import Location, Roster
from broker.healing.search import Candidate, Search, describe_search

__all__ = ["Candidate", "Location", "Roster", "Search", "describe_search"]
