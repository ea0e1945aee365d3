"""Concord for programs that run on asyncio: the names, arguments and errors of `concord.connect`.

    async with connect("127.0.0.1:7411", name="alice") as client:
        async with client.subscribe("symbol == 'IBM'") as deliveries:
            async for delivery in deliveries:
                ...

Importing this loads no Trio.
"""

from broker.client.asyncio_shell import connect
from broker.client.client import Client
from broker.client.deliveries import Deliveries
from broker.client.publisher import Publisher

__all__ = ["Client", "Deliveries", "Publisher", "connect"]
