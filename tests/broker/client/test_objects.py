"""Programs that publish objects, and get them back."""

import attrs
import pytest
import trio

from broker import (
    EventTypeError,
    FilterError,
    GapError,
    InvalidPublicationError,
    NotAdvertisedError,
    UnreadableEventError,
    connect,
)
from concord import events, sync
from tests.broker.server.overlay import chain


@events.register(name="tests.Offer")
@attrs.frozen
class Offer:
    symbol: str
    price: float


@events.register(name="tests.Bid")
@attrs.frozen
class Bid(Offer):
    desk: str = ""


async def test_objects_come_as_what_they_were_or_as_their_nearest_base() -> None:
    async with (
        chain("B1", "B2") as (one, two),
        connect(one.address) as alice,
        connect(two.address) as bob,
        bob.subscribe(Offer, where="price > 5", durable="offers", ack="manual") as offers,
        alice.advertise(Offer) as publisher,
    ):
        await publisher.publish(Offer("IBM", 1))
        await publisher.publish(Offer("IBM", 10))
        await publisher.publish(Bid("SAP", 20, "ada"))
        await publisher.publish({"types": ["tests.Offer@1"], "price": 30})
        first, second, third = [await anext(offers) for _ in range(3)]
        assert first.object == Offer("IBM", 10.0)
        assert first.object is first.object
        assert second.object == Bid("SAP", 20.0, "ada")
        with pytest.raises(UnreadableEventError, match=r"Offer.symbol: it is absent from the event"):
            _ = third.object
        second.ack()
        assert (third.position, third.attributes["price"]) == (3, 30)
        assert events.object_of(second) == events.object_of(second.attributes, Offer) == second.object
        with pytest.raises(NotAdvertisedError, match="types"):
            await publisher.publish({"symbol": "IBM"})
        with pytest.raises(InvalidPublicationError, match=r"Offer.price: expected a number, got 'x'"):
            await publisher.publish(Offer("IBM", "x"))  # type: ignore[arg-type]  # that is wrong


async def test_what_does_not_fit_the_schema_is_refused_here() -> None:
    schema = {"properties": {"items": {"items": {"required": ["sku"]}}}}
    async with (
        chain("B1") as (one,),
        connect(one.address) as client,
        client.advertise("exists(items)", schema=schema) as publisher,
        client.advertise(Bid, where="price > 0", schema=True) as bids,
    ):
        await publisher.publish({"items": [{"sku": "A"}]})
        with pytest.raises(
            NotAdvertisedError, match=r"schema .*: \$.items\[1\]: 'sku' is a required property"
        ):
            await publisher.publish({"items": [{"sku": "A"}, {"qty": 1}]})
        with pytest.raises(NotAdvertisedError, match="exists"):
            await publisher.publish({"other": 1})
        with pytest.raises(NotAdvertisedError, match="price"):
            await bids.publish(Bid("IBM", 0))
        await bids.publish(Bid("IBM", 1))
        with pytest.raises(EventTypeError, match="give the schema as a map"):
            async with client.advertise("True", schema=True):
                pass
        with pytest.raises(FilterError, match="column 1: Bid has no field 'prize'"):
            async with client.subscribe(Bid, where="prize > 1"):
                pass
        with pytest.raises(ValueError, match="where is for a class"):
            async with client.advertise("True", where="x > 1"):
                pass


async def test_programs_without_a_loop_get_objects_too() -> None:
    def traded(address: str) -> list[str]:
        with (
            sync.connect(address) as client,
            client.subscribe(Offer) as offers,
            client.advertise(Bid) as publisher,
        ):
            publisher.publish(Bid("IBM", 1, "ada"))
            publisher.publish(Bid("SAP", 2, "ada"))
            first = offers.next(5)
            for batch in offers.batches():
                return [first.object.symbol, *[each.object.symbol for each in batch]]
            raise GapError("nothing came", None)

    async with chain("B1") as (one,):
        assert await trio.to_thread.run_sync(traded, one.address) == ["IBM", "SAP"]
