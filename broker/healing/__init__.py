"""An overlay that heals: what brokers know of each other, and whom a broker without an uplink dials next."""

from broker.healing.roster import Location, Roster
from broker.healing.search import Candidate, Search, describe_search

__all__ = ["Candidate", "Location", "Roster", "Search", "describe_search"]
