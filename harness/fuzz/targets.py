"""What a fuzzer that is guided by coverage feeds: one function of bytes for each entry.

Law: what a target raises is a finding; the errors that are meant for what it feeds are not raised.
"""

from collections.abc import Callable, Mapping
from typing import Final

from broker.filters import FilterError, parse
from broker.messages import Hello
from broker.wire import DEFAULT_LIMITS, VERSION, Decoder, Peer, WireError, encode

_WELCOMED: Final = 1 << 7

_HELLO: Final = encode(Hello(VERSION, "client", "x", "1", "", ""))


def filters(content: bytes) -> None:
    """A text is refused, or means what it prints."""
    try:
        found = parse(content.decode("utf-8", "replace"))
    except FilterError:
        return
    assert parse(str(found)) == found
    assert found.covers(found)


def frames(content: bytes) -> None:
    """Bytes are refused, or are messages; the first says to whom they come, and whether after a welcome."""
    first, peers = (content[0] if content else 0), list(Peer)
    decoder = Decoder(DEFAULT_LIMITS, peers[first % len(peers)])
    try:
        if first >= _WELCOMED and decoder.peer is Peer.DIALLER:
            decoder.feed(_HELLO)
            decoder.welcomed()
        decoder.feed(content[1:])
    except WireError:
        return


TARGETS: Final[Mapping[str, Callable[[bytes], None]]] = {"filters": filters, "frames": frames}
