"""A program that starts a server, says on which port, and stays, to test what happens when it is killed."""

import sys

import trio

from harness.processes import start_server


async def main() -> None:
    async with trio.open_nursery() as nursery:
        server = await start_server(nursery, "relay", "harness.benchmarks.relay", [])
        sys.stdout.write(f"{server.port}\n")
        sys.stdout.flush()
        await trio.sleep_forever()


trio.run(main)
