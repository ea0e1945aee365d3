import trio

from broker import connect
from harness.overlay import start_chain


async def test_a_chain_carries_events_from_its_top_to_its_bottom_and_back() -> None:
    async with trio.open_nursery() as nursery:
        top, *_, bottom = await start_chain(nursery, 3)
        for here, there in ((top, bottom), (bottom, top)):
            async with (
                connect(here.address, name="here") as sender,
                connect(there.address, name="there") as receiver,
                sender.advertise("number > 0") as publisher,
                receiver.subscribe("number > 0") as deliveries,
            ):
                await publisher.publish({"number": 1})
                delivery = await anext(aiter(deliveries))
                assert delivery.attributes == {"number": 1}
        nursery.cancel_scope.cancel()
