"""Fuzzing that coverage guides, where Atheris is installed: inputs that reach new code are kept and damaged.

    python -m harness.fuzz.guided frames --seconds 600 --corpus runs/corpus/frames

Only what is imported after Atheris is guided, so this module imports nothing of the broker.
"""

from importlib import import_module
from pathlib import Path
from typing import Any, Final

import click

LENGTH_MAX: Final = 1000
"""Bytes of an input: short ones reach as much, and are tried more often."""


@click.command()
@click.argument("target", type=click.Choice(["filters", "frames"]))
@click.option("--seconds", type=click.IntRange(min=1), default=60, show_default=True)
@click.option(
    "--corpus", type=click.Path(path_type=Path), required=True, help="Inputs, a file each; more are added."
)
def main(target: str, seconds: int, corpus: Path) -> None:
    """Damage inputs that reach new code; a finding ends it, and is left in a file."""
    try:
        atheris: Any = import_module("atheris")
    except ImportError as error:
        raise click.ClickException("there is no Atheris here: pip install atheris") from error
    with atheris.instrument_imports(include=["broker"]):
        targets = import_module("harness.fuzz.targets").TARGETS
    corpus.mkdir(parents=True, exist_ok=True)
    atheris.Setup(
        ["guided", f"-max_total_time={seconds}", f"-max_len={LENGTH_MAX}", str(corpus)], targets[target]
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main()
