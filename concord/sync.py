"""Concord for programs without a loop: `connect` with blocking calls, for scripts, threads and notebooks.

    with connect("127.0.0.1:7411", name="alice") as client:
        with client.subscribe("symbol == 'IBM'") as deliveries:
            for delivery in deliveries:
                ...

A thread of the client's own keeps the connection. Importing this loads no Trio.
"""

from broker.client.blocking import Client, Deliveries, Publisher, connect

__all__ = ["Client", "Deliveries", "Publisher", "connect"]
