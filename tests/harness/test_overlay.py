import pytest
import trio

from broker import connect
from harness.overlay import reports_attachment, start_brokers


async def test_a_chain_carries_events_from_its_top_to_its_bottom_and_back() -> None:
    with trio.fail_after(60):
        await carry_both_ways()


async def carry_both_ways() -> None:
    async with trio.open_nursery() as nursery:
        uplinks = {"B1": None, "B2": "B1", "B3": "B2"}
        top, *_, bottom = (await start_brokers(nursery, uplinks)).values()
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


@pytest.mark.parametrize("line", ["", '{"event": "link atta', '{"event": "link attached", "uplink": false}'])
def test_only_a_whole_line_about_the_uplinkreports_attachment(line: str) -> None:
    assert not reports_attachment(line)
    assert reports_attachment('{"neighbour": "B1", "uplink": true, "event": "link attached"}')
