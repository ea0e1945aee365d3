"""Which form of the hot path runs: Python, or machine code that was built from the same sources.

This module is built with the others (`setup.py`), so it knows by looking at itself.
"""

from types import FunctionType
from typing import Final


def _built() -> None:
    """Be a Python function, or a compiled one."""


IS_COMPILED: Final = not isinstance(_built, FunctionType)
"""Whether the hot path is machine code."""

FORM: Final = "compiled" if IS_COMPILED else "pure Python"
"""The same for a person."""
