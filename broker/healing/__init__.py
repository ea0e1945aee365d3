"""An overlay that heals: what brokers know of each other, and whom a broker without an uplink dials next."""

from broker.healing.describing import describe_search
from broker.healing.place import Place
from broker.healing.roster import Roster
from broker.healing.search import Candidate, Search

__all__ = ["Candidate", "Place", "Roster", "Search", "describe_search"]
