"""The options that `concord publish` and `concord subscribe` share: the broker, and the client's identity."""

import logging
import ssl
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import wraps
from itertools import chain

import click
from attrs import frozen

from broker.addresses import Address
from broker.client import Client, StateChange, connect
from broker.commands.options import ADDRESSES


@frozen
class Connecting:
    """The broker and the client's identity; a command gets it as the keyword `connecting`."""

    brokers: tuple[Address, ...]
    name: str
    token: str | None
    tls: ssl.SSLContext | None
    retry: bool
    learn: bool

    def open(self) -> AbstractAsyncContextManager[Client]:
        """Connect, and report on standard error when the connection is lost and made again."""
        # The log lines of the client about its connection are printed here instead.
        logging.getLogger("concord").addHandler(logging.NullHandler())
        return connect(
            [str(each) for each in self.brokers],
            name=self.name,
            token=self.token,
            tls=self.tls,
            retry=self.retry,
            learn=self.learn,
            on_state=narrator(),
        )


def narrator() -> Callable[[StateChange], None]:
    """Return a callback that reports lost and restored connections, but not the first one."""
    lost = ""

    def report(change: StateChange) -> None:
        nonlocal lost
        if change.state == "reconnecting":
            lost = change.address
            notice(f"connection to {change.address} lost ({change.reason}); reconnecting")
        elif change.state == "connected" and lost:
            again = " again" if change.address == lost else ""
            notice(f"connected to {change.address}{again}")

    return report


def notice(text: str) -> None:
    """Print a line on standard error, apart from the output."""
    click.echo(f"concord: {' '.join(text.split())}", err=True)


_FILE = click.Path(exists=True, dir_okay=False)

_OPTIONS = (
    click.option(
        "--broker",
        "brokers",
        type=ADDRESSES,
        required=True,
        multiple=True,
        envvar="CONCORD_BROKER",
        help="The broker to connect to; or put it in CONCORD_BROKER. With several (repeated, or with commas "
        "between them) another one is dialled when one is lost for good.",
    ),
    click.option("--name", help="What the broker calls this client. [default: the command's name]"),
    click.option(
        "--token",
        envvar="CONCORD_TOKEN",
        help="Proves who this client is. Better given as CONCORD_TOKEN: others can see a command line.",
    ),
    click.option("--tls", is_flag=True, help="Connect with TLS, trusting the system's authorities."),
    click.option("--tls-ca", type=_FILE, help="Connect with TLS, trusting this authority (PEM)."),
    click.option("--tls-cert", type=_FILE, help="Certificate that proves who this client is (PEM)."),
    click.option("--tls-key", type=_FILE, help="Key of that certificate (PEM)."),
    click.option("--retry", is_flag=True, help="Keep trying if the broker is not there yet."),
    click.option(
        "--learn",
        is_flag=True,
        help="Go to any broker of the overlay when those of --broker are lost for good.",
    ),
)


def connecting_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options to a command, which gets them as the keyword `connecting`."""

    @wraps(command)
    def connecting_command(  # noqa: PLR0913 - the options above, one by one
        *,
        brokers: tuple[tuple[Address, ...], ...],
        name: str | None,
        token: str | None,
        tls: bool,
        tls_ca: str | None,
        tls_cert: str | None,
        tls_key: str | None,
        retry: bool,
        learn: bool,
        **others: object,
    ) -> None:
        context = _context(tls=tls, authority=tls_ca, certificate=tls_cert, key=tls_key)
        named = name or click.get_current_context().info_name or "client"
        command(connecting=Connecting(tuple(chain(*brokers)), named, token, context, retry, learn), **others)

    for option in reversed(_OPTIONS):
        connecting_command = option(connecting_command)
    return connecting_command


def _context(
    *, tls: bool, authority: str | None, certificate: str | None, key: str | None
) -> ssl.SSLContext | None:
    """Return the TLS context of the options; None without any of them."""
    if (certificate is None) != (key is None):
        raise click.UsageError("--tls-cert and --tls-key belong together: give both or neither")
    if not (tls or authority or certificate):
        return None
    try:
        context = ssl.create_default_context(cafile=authority)
    except OSError as error:
        raise click.UsageError(f"--tls-ca {authority}: {error.strerror or error}") from error
    if certificate is not None:
        try:
            context.load_cert_chain(certificate, key)
        except OSError as error:
            raise click.UsageError(f"--tls-cert {certificate}: {error.strerror or error}") from error
    return context
