"""The C library's heap, kept by a broker that would return memory to the system and ask for it again.

Where events come and go in large batches, glibc shrinks and grows its heap a hundred times a second. Every
page that it gets is a fault, and is filled with zeros: a twentieth of a busy broker's time.
"""

import ctypes
import os
import sys
from typing import Final

KEPT_BYTES: Final = 64 * 1024 * 1024
"""So much free memory at the end of the heap is kept for what comes next."""

OWN_PAGES_BYTES: Final = 8 * 1024 * 1024
"""Pieces from this size on get pages of their own, which go back to the system when they are freed."""

STEP_BYTES: Final = 1024 * 1024
"""What the heap grows by at least."""

_TRIM_THRESHOLD: Final = -1
_TOP_PAD: Final = -2
_MMAP_THRESHOLD: Final = -3
"""Names of `mallopt`, from malloc.h."""


def keep_freed() -> bool:
    """Keep what is freed, and return whether that is so. Who sets `MALLOC_...` decides alone."""
    if sys.platform != "linux" or any(name.startswith("MALLOC_") for name in os.environ):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except AttributeError:
        return False
    wanted = {_TRIM_THRESHOLD: KEPT_BYTES, _MMAP_THRESHOLD: OWN_PAGES_BYTES, _TOP_PAD: STEP_BYTES}
    return all(mallopt(name, size_bytes) for name, size_bytes in wanted.items())
