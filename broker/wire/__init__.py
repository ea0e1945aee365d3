"""Frames: the messages of brokers and clients, as bytes.

`docs/reference/wire.md` is for other languages.

`encode` and `encode_publication` make frames, a `Decoder` per connection reads them. Nothing here does I/O.
"""

from broker.wire.control import encode
from broker.wire.decoder import Decoder, DeliveredBatch, Peer
from broker.wire.errors import WireError
from broker.wire.events import plain
from broker.wire.kinds import VERSION
from broker.wire.limits import DEFAULT_LIMITS, WireLimits
from broker.wire.publications import (
    decode_delivery,
    encode_publication,
    going_on,
    joined,
    marked,
    origin_of,
    plainly_joined,
    publication_prefix,
    read_publications,
    replayed,
)

__all__ = [
    "DEFAULT_LIMITS",
    "VERSION",
    "Decoder",
    "DeliveredBatch",
    "Peer",
    "WireError",
    "WireLimits",
    "decode_delivery",
    "encode",
    "encode_publication",
    "going_on",
    "joined",
    "marked",
    "origin_of",
    "plain",
    "plainly_joined",
    "publication_prefix",
    "read_publications",
    "replayed",
]
