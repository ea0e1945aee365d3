"""Overlays of real `concord broker` processes on this machine, for whoever wants to see or measure one."""

from collections.abc import Mapping, Sequence

import trio

from harness.processes import Server, start_server

__all__ = ["start_brokers", "start_chain"]


async def start_brokers(
    nursery: trio.Nursery, uplinks: Mapping[str, str | None], options: Sequence[str] = ()
) -> dict[str, Server]:
    """Start a broker per name, each dialling the one it is given as uplink, which must come earlier."""
    servers: dict[str, Server] = {}
    for name, uplink in uplinks.items():
        dial = () if uplink is None else ("--uplink", servers[uplink].address)
        arguments = ("broker", "--name", name, "--listen", "127.0.0.1:0", *dial, *options)
        servers[name] = await start_server(nursery, f"broker {name}", "broker", arguments)
    return servers


async def start_chain(nursery: trio.Nursery, brokers: int, options: Sequence[str] = ()) -> list[Server]:
    """Start brokers in a row, each the uplink of the next, and return them from top to bottom."""
    names = [f"B{position}" for position in range(1, brokers + 1)]
    uplinks = dict(zip(names, [None, *names], strict=False))
    servers = await start_brokers(nursery, uplinks, options)
    return [servers[name] for name in names]
