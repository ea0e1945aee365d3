"""What the evaluation runs: shipped scenarios, and the orderings that each is run under."""

from collections.abc import Sequence
from typing import Final

import attrs

__all__ = ["STUDIES", "Study"]

ALL: Final = ("pairwise", "fifo", "sequencer", "published")


@attrs.frozen
class Study:
    """One scenario under some orderings. `changes` are keys of it that differ, as `--set` takes them."""

    name: str
    scenario: str
    orderings: Sequence[str]
    changes: Sequence[str] = ()


STUDIES: Final = (
    Study("quick", "quick", ALL),
    Study("figure5", "figure5", ("pairwise", "published")),
    # The paper's two forms of one plugin; pairwise is the same in both.
    Study("figure6", "figure6", ("published",)),
    Study("figure7", "figure7", ("pairwise", "fifo", "sequencer")),
    Study("figure8", "figure8", ("pairwise", "fifo")),
    Study("knee", "knee", ("pairwise", "fifo", "sequencer")),
    Study("datacentre-16x5", "datacentre-16x5", ("pairwise", "fifo", "sequencer")),
    Study("market", "market", ALL),
    Study("crash-core", "crash-core", ("pairwise", "fifo")),
    Study("flaky-links", "flaky-links", ("pairwise", "fifo")),
    Study("slow-subscriber", "slow-subscriber", ("pairwise", "fifo")),
)
"""In the order in which they are run: short ones first."""
