"""Connects to addresses, plain or with TLS; an error gives its reason in one line."""

import ssl
from collections.abc import Awaitable, Callable
from typing import Final

import trio

from broker.client.driver import address_of, explain_error

Dial = Callable[[str], Awaitable[trio.abc.Stream]]

LOST: Final = (OSError, trio.BrokenResourceError, trio.ClosedResourceError)
"""The errors of a stream whose connection cannot be made or is lost."""


def dialler(tls: ssl.SSLContext | None) -> Dial:
    """Return a function that connects to HOST:PORT."""

    async def dial(address: str) -> trio.abc.Stream:
        where = address_of(address)
        stream = await trio.open_tcp_stream(where.host, where.port)
        if tls is None:
            return stream
        secured = trio.SSLStream(stream, tls, server_hostname=where.host, https_compatible=True)
        try:
            await secured.do_handshake()
        except BaseException:
            await trio.aclose_forcefully(secured)
            raise
        return secured

    return dial


def explain(error: BaseException) -> str:
    """Return the cause in words: Trio wraps the errors of the system and of TLS."""
    inner = error.__cause__
    if isinstance(inner, BaseExceptionGroup):
        return explain(inner.exceptions[0])
    if isinstance(error, trio.BrokenResourceError) and inner is not None:
        return explain(inner)
    return explain_error(error)
