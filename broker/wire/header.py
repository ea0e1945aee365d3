"""The fixed header of every frame: length, kind, flags."""

from struct import Struct
from typing import Final

HEADER: Final = Struct(">IBB")
"""Length of what follows the length itself, kind, flags."""

LENGTH_BYTES: Final = 4
KIND_AND_FLAGS_BYTES: Final = 2

PUBLICATION: Final = 0x10
"""The kind on the hot path, read by `broker.wire.publications`; `broker.wire.control` reads all others."""
