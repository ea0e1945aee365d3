"""Starts servers that are not ours: on free ports of this machine, ended like every program of the harness.

Run as `python -m harness.peers.starting COMMAND...`, it becomes that command, which prints on standard error
whatever it prints: nobody reads what a foreign server says on standard output.
"""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NoReturn

import trio

from harness.processes import START_TIMEOUT_S, ProcessError, ServerProcess, start

HOST: Final = "127.0.0.1"

_SYSTEM_FOLDERS: Final = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""Where systems put servers, and users may not look."""

_POLL_S: Final = 0.02


def find_program(program: str) -> str | None:
    """Return where a program is, also one for administrators."""
    folders = os.pathsep.join((os.environ.get("PATH", os.defpath), *_SYSTEM_FOLDERS))
    return shutil.which(program, path=folders)


def _absent(*, programs: Sequence[str] = (), modules: Sequence[str] = ()) -> list[str]:
    """Return which of these programs and Python modules this machine does not have."""
    return [
        *(program for program in programs if find_program(program) is None),
        *(module for module in modules if find_spec(module) is None),
    ]


def to_install(package: str = "", *, programs: Sequence[str] = (), modules: Sequence[str] = ()) -> str:
    """Return what this machine does not have of these, and how to get it; nothing if it has everything."""
    wanted = _absent(programs=programs, modules=modules)
    if not wanted:
        return ""
    sources = [*([package] if package else ()), *(["the extra 'peers'"] if modules else ())]
    return f"there is no {' and no '.join(wanted)}; install {' and '.join(sources)}"


def versions(*, program: str = "", package: str = "") -> str:
    """Return what a program and a package say of their versions."""
    said = ""
    if program:
        asked = [str(find_program(program)), "--version"]
        said = subprocess.run(asked, capture_output=True, text=True, check=False).stdout  # noqa: S603 - what starts anyway
    return ", ".join(
        filter(None, (said.partition("\n")[0].strip(), package and f"{package} {version(package)}"))
    )


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on, each another."""
    sockets = [socket.create_server((HOST, 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


async def start_native(
    nursery: trio.Nursery, name: str, address: tuple[str, int], program: str, arguments: Sequence[str]
) -> ServerProcess:
    """Start a program that listens on an address of this machine, and wait until it takes connections."""
    path = find_program(program)
    if path is None:
        raise ProcessError(f"{name} cannot be started: there is no {program}")
    started = await start(nursery, name, "harness.leash", ["harness.peers.starting", path, *arguments])
    with trio.move_on_after(START_TIMEOUT_S):
        while not await _is_open(*address):
            started.check_alive()
            await trio.sleep(_POLL_S)
        return ServerProcess(started, *address)
    raise ProcessError(f"{name} does not listen after {START_TIMEOUT_S:.0f} s: {started.complaints()}")


async def _is_open(host: str, port: int) -> bool:
    try:
        stream = await trio.open_tcp_stream(host, port)
    except OSError:
        return False
    await stream.aclose()
    return True


def main() -> NoReturn:
    """Become the command that is named on the command line."""
    os.dup2(2, 1)
    path = Path(sys.argv[1])
    os.execv(path, [path.name, *sys.argv[2:]])  # noqa: S606 - what our own caller names


if __name__ == "__main__":
    main()
