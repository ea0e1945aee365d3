"""Objects as events: classes that programs publish, subscribe to, and get back.

@events.register
@attrs.frozen
class Trade:
    symbol: str
    price: float

await publisher.publish(Trade("IBM", 101.5))
async with client.subscribe(Trade, where="price > 100") as trades:
    async for delivery in trades:
        delivery.object
"""

from broker.client.objects import EventObject, ObjectDeliveries, ObjectDelivery, attributes_of, object_of
from broker.errors import EventTypeError, UnreadableEventError
from broker.objects import filter_of, register, schema_of

__all__ = [
    "EventObject",
    "EventTypeError",
    "ObjectDeliveries",
    "ObjectDelivery",
    "UnreadableEventError",
    "attributes_of",
    "filter_of",
    "object_of",
    "register",
    "schema_of",
]
