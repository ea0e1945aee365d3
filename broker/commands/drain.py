"""`concord drain`: empties a broker of the overlay for maintenance, and ends it."""

import click

from broker.commands.connecting import Connecting, connecting_options, notice
from broker.commands.move import conclude, timeout_option


@click.command(name="drain", epilog="Example: concord drain B3 --broker 127.0.0.1:7411")
@connecting_options
@timeout_option
@click.argument("drained", metavar="BROKER")
def command(connecting: Connecting, timeout_s: float, drained: str) -> None:
    """Move all children of BROKER to its uplink without a gap, then let BROKER end.

    If BROKER is the root, they move below one of them, which is the root then. It closes the connections of
    its clients: those that know other brokers go there. The process of BROKER ends with status 0. If a child
    cannot move, nothing ends. The exit status is 0 if BROKER ends, and 1 if not.
    """
    late = f"{drained} is not empty after {timeout_s:g} s"
    conclude(connecting, timeout_s, lambda client: client.drain(drained, notice), late, "ended")
