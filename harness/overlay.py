"""Overlays of real `concord broker` processes on this machine, to try or to measure them.

A broker takes connections before it is attached to its uplink, and serves what it has by then. So an
overlay is ready only when every broker has logged that its uplink is attached: from then on nothing that
matches is missed.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import trio

from harness.processes import START_TIMEOUT_S, ProcessError, ServerProcess, start_server

_POLL_S: Final = 0.01
"""Between two looks at a log; attaching takes a few milliseconds."""


async def start_brokers(
    nursery: trio.Nursery,
    uplinks: Mapping[str, str | None],
    options: Sequence[str] = (),
    *,
    journals: Path | None = None,
) -> dict[str, ServerProcess]:
    """Start a broker per name and attach it to the one it is given as uplink, which must come earlier.

    With `journals`, each keeps its journal in a directory of its name there.
    """
    servers: dict[str, ServerProcess] = {}
    for name, uplink in uplinks.items():
        dial = () if uplink is None else ("--uplink", servers[uplink].address)
        place = ("--name", name, "--listen", "127.0.0.1:0", "--log-format", "json")
        keep = () if journals is None else ("--journal", str(journals / name))
        server = await start_server(
            nursery, f"broker {name}", "broker", ("broker", *place, *dial, *keep, *options)
        )
        if uplink is not None:
            await attached(server)
        servers[name] = server
    return servers


async def attached(server: ServerProcess) -> None:
    """Wait until a broker has been attached to its uplink."""
    with trio.move_on_after(START_TIMEOUT_S):
        while not any(map(reports_attachment, server.program.logged())):
            server.program.check_alive()
            await trio.sleep(_POLL_S)
        return
    program = server.program
    raise ProcessError(
        f"{program.name} is not attached after {START_TIMEOUT_S:.0f} s: {program.complaints()}"
    )


def reports_attachment(line: str | bytes) -> bool:
    """Whether a line of a broker's log says that its uplink is attached."""
    try:
        entry = json.loads(line)
    except ValueError:
        # The end of the log may be half a line.
        return False
    is_attached = isinstance(entry, dict) and entry.get("event") in {"link attached", "link resumed"}
    return is_attached and bool(entry.get("uplink"))
