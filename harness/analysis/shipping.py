"""The analysis as a cluster gets it, tried for real: `make spark`.

A made run is analysed by `spark-submit` on a cluster of two executors on this machine, each a process of its
own. Nothing of ours is there but what `--py-files` ships. The order is broken on purpose: the job must end
with status 1, having found that.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import click
import pyspark

from harness.analysis import job
from harness.analysis.promises import VIOLATED
from harness.analysis.synthetic import SyntheticShape, make

CLUSTER: Final = "local-cluster[2,1,1024]"
"""Two executors with a processor and a gigabyte each."""

PACKAGE: Final = "concord-analysis.zip"

TAIL_LINES: Final = 5


def submit(run: Path, folder: Path, master: str) -> "subprocess.CompletedProcess[str]":
    """Package the analysis into a folder, and have spark-submit run it from there."""
    job.main(["--package", str(folder / PACKAGE)])
    program = Path(str(pyspark.__file__)).parent / "bin" / "spark-submit"
    words = [str(program), "--master", master, "--py-files", PACKAGE, job.JOB_FILE, str(run)]
    # Where the package is looked for first, nothing else of ours may stand before it.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    return subprocess.run(  # noqa: S603 - the program of an installed package
        [*words, "--require", "pairwise"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@click.command("shipping")
@click.option("--master", default=CLUSTER, show_default=True, help="Where Spark runs.")
def command(*, master: str) -> None:
    """Ship the analysis with spark-submit, and check that it finds the violations of a made run."""
    with tempfile.TemporaryDirectory(prefix="concord-shipping-") as scratch:
        run = make(Path(scratch) / "run", SyntheticShape(subscribers=8, deliveries=20_000, disorder=4.0))
        begun_s = time.monotonic()
        done = submit(run, Path(scratch), master)
    if done.returncode != VIOLATED:
        raise click.ClickException(" / ".join(done.stderr.splitlines()[-TAIL_LINES:]))
    found = json.loads(done.stdout.splitlines()[-1])
    wrong, pairs, taken_s = found["pairs_out_of_order"], found["pairs"], time.monotonic() - begun_s
    click.echo(f"{master}: {wrong} of {pairs} pairs out of order, as they were made; {taken_s:.0f} s")


if __name__ == "__main__":
    command()
