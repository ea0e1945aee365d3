"""`concord insert`: brings a broker of the overlay between two neighbours, without a gap."""

import click

from broker.commands.connecting import Connecting, connecting_options, notice
from broker.commands.move import conclude, timeout_option


@click.command(name="insert", epilog="Example: concord insert B4 --between B1,B3 --broker 127.0.0.1:7411")
@connecting_options
@click.option("--between", required=True, metavar="A,B", help="The two neighbours, in any order.")
@timeout_option
@click.argument("inserted", metavar="BROKER")
def command(connecting: Connecting, between: str, timeout_s: float, inserted: str) -> None:
    """Move BROKER, which is in the overlay already, below one of two neighbours, and the other below BROKER.

    Events flow meanwhile, and nobody misses anything. The exit status is 0 if that is done, and 1 if not.
    """
    one, _, other = between.partition(",")
    late = f"{inserted} is not between {one} and {other} after {timeout_s:g} s"

    conclude(
        connecting, timeout_s, lambda client: client.insert(inserted, (one, other), notice), late, "moved"
    )
