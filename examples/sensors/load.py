"""A sensor that measures only while a client subscribes: the load of this machine, once a second.

    python -m examples.sensors.load --broker 127.0.0.1:7411 --host alpha
    concord subscribe --broker 127.0.0.1:7412 "kind == 'load' and host.startswith('al') and load > 2"

Start as many as there are machines. A subscription wakes the sensors whose advertisement it overlaps, and no
others; when the last one ends, they sleep again. No program keeps a list of sensors and subscribers.
"""

import os
from collections.abc import Callable
from typing import Final

import click
import trio

from concord import Publisher, connect

INTERVAL_S: Final = 1.0
"""Between two measurements."""

LINGER_S: Final = 3.0
"""A subscriber that is started again finds the sensor still measuring."""


async def sense(  # noqa: PLR0913 - what tests set is named
    broker: str,
    host: str,
    measure: Callable[[], float],
    report: Callable[[str], None],
    *,
    interval_s: float = INTERVAL_S,
    linger_s: float = LINGER_S,
) -> None:
    """Publish measurements while there is a subscriber; for ever."""

    async def publish_often() -> None:
        report("somebody listens: measuring")
        try:
            while True:
                await publisher.publish({"kind": "load", "host": host, "load": measure()})
                await trio.sleep(interval_s)
        finally:
            report("nobody listens: sleeping")

    publisher: Publisher
    async with (
        connect(broker, name=host) as client,
        client.advertise(f"kind == 'load' and host == {host!r}") as publisher,
    ):
        await publisher.while_wanted(publish_often, linger_s=linger_s)


def _load() -> float:
    return os.getloadavg()[0]


@click.command(epilog="Example: python -m examples.sensors.load --broker 127.0.0.1:7411 --host alpha")
@click.option("--broker", required=True, metavar="HOST:PORT", help="Any broker of the overlay.")
@click.option("--host", required=True, help="What this machine is called.")
def command(broker: str, host: str) -> None:
    """Publish this machine's load while there is a subscriber, until Ctrl-C."""
    trio.run(sense, broker, host, _load, click.echo)


if __name__ == "__main__":
    command()
