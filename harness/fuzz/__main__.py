"""`make fuzz`: damaged frames, journals, filters, configurations, lines, scrapes and requests for pages.

Each has an equal share of the time. `--corpus` has texts to damage that may be filters.
"""

from pathlib import Path
from typing import Final

import click

from harness.fuzz import configurations, filters, frames, journals, json_lines, pages, scrapes

CAMPAIGNS: Final[tuple[click.Command, ...]] = (
    frames.main,
    journals.main,
    filters.main,
    configurations.main,
    json_lines.main,
    scrapes.main,
    pages.main,
)


@click.command()
@click.option("--seconds", type=click.FloatRange(min=0), help="For how long, all together.")
@click.option("--seed", default=1, show_default=True, help="The cases follow from it.")
@click.option(
    "--corpus", type=click.Path(path_type=Path, exists=True), help="Filters to damage, a line each."
)
def main(seconds: float | None, seed: int, corpus: Path | None) -> None:
    """Throw damaged input at everything that reads some.

    Without --seconds each campaign goes on for as long as it would alone, some minutes all together.
    """
    share = [] if seconds is None else ["--seconds", str(seconds / len(CAMPAIGNS))]
    for campaign in CAMPAIGNS:
        own = ["--corpus", str(corpus)] if campaign is filters.main and corpus is not None else []
        campaign.main(args=[*share, "--seed", str(seed), *own], standalone_mode=False)


if __name__ == "__main__":
    main()
