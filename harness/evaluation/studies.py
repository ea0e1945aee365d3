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
    Study("figure6", "figure6", ("pairwise", "published")),
    Study("figure7", "figure7", ("pairwise", "fifo", "sequencer")),
    Study("figure8", "figure8", ("pairwise", "fifo")),
    *(
        # The sequencer's knee: publishers in the tens each second, until one broker cannot order for all.
        Study(
            f"knee-{many}",
            "quick",
            ("pairwise", "fifo", "sequencer"),
            (
                f"publishers.count={many}",
                "publishers.per_second=40",
                "duration_s=10",
                "drain_s=20",
                'matches="no"',
            ),
        )
        for many in (12, 24, 48, 96, 144)
    ),
    Study("datacentre-16x5", "datacentre-16x5", ("pairwise", "fifo", "sequencer")),
    Study("market", "market", ALL),
    Study("crash-core", "crash-core", ("pairwise", "fifo")),
    Study("flaky-links", "flaky-links", ("pairwise", "fifo")),
    Study("slow-subscriber", "slow-subscriber", ("pairwise", "fifo")),
)
"""In the order in which they are run: short ones first."""
