"""Which root and which uplinks let events wait least, from what the brokers of an overlay have counted."""

from broker.advice.search import CHILDREN, Advice, advise
from broker.advice.steps import AdvisedStep, root_of, steps_to
from broker.advice.traffic import BrokerTraffic, TrafficError, read_traffic
from broker.advice.waiting import TreeCost, WaitingModel

__all__ = [
    "CHILDREN",
    "Advice",
    "AdvisedStep",
    "BrokerTraffic",
    "TrafficError",
    "TreeCost",
    "WaitingModel",
    "advise",
    "read_traffic",
    "root_of",
    "steps_to",
]
