"""The table of all kinds of faults.

Adding a kind is adding a file, and one line to `KINDS`.
"""

from collections.abc import Mapping
from typing import Final

from harness.faults.crash import CRASH
from harness.faults.cut_link import CUT_LINK
from harness.faults.disconnect_client import DISCONNECT_CLIENT
from harness.faults.grammar import Fault
from harness.faults.grammar import parse as _parse
from harness.faults.kill import KILL
from harness.faults.kinds import Kind
from harness.faults.pause import PAUSE
from harness.faults.restart import RESTART
from harness.faults.resume import RESUME
from harness.faults.slow_link import SLOW_LINK
from harness.faults.slow_subscriber import SLOW_SUBSCRIBER

__all__ = ["KINDS", "kind_of", "parse"]

KINDS: Final[tuple[Kind, ...]] = (
    CRASH,
    RESTART,
    KILL,
    PAUSE,
    RESUME,
    CUT_LINK,
    SLOW_LINK,
    SLOW_SUBSCRIBER,
    DISCONNECT_CLIENT,
)

_BY_WORDS: Final[Mapping[tuple[str, ...], Kind]] = {kind.words: kind for kind in KINDS}


def parse(text: str) -> Fault:
    """Read a fault, as `--fault` and scenarios have it. Raises `FaultError`."""
    return _parse(text, [kind.form for kind in KINDS])


def kind_of(fault: Fault) -> Kind:
    """Return the kind that a fault is of."""
    return _BY_WORDS[fault.words]
