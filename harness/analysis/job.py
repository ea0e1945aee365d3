"""The analysis as a job for a cluster that has Spark and nothing of ours.

    python -m harness.analysis.job --package concord-analysis.zip
    spark-submit --master ... --py-files concord-analysis.zip concord-analysis-job.py DIR [--require pairwise]

The first writes the archive, and the job's file beside it. Workers need Python 3.11, numpy and pyarrow, and
DIR is somewhere that all of them can read. The exit status is that of `concord harness analyze`.
"""

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from harness.analysis.promises import PROMISES, UNKNOWN, status

JOB_FILE: Final = "concord-analysis-job.py"


def main(arguments: Sequence[str]) -> int:
    """Analyse a run, or write the files for spark-submit."""
    parser = argparse.ArgumentParser(prog=JOB_FILE)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("directory", nargs="?", type=Path, help="a run's directory")
    what.add_argument("--package", type=Path, help="write the archive for --py-files there")
    parser.add_argument("--require", default="", help=f"of {', '.join(PROMISES)}, with commas between")
    options = parser.parse_args(arguments)
    if options.package is not None:
        return _write(options.package)
    require = [name for name in options.require.split(",") if name]
    if wrong := [name for name in require if name not in PROMISES]:
        parser.error(f"{wrong[0]} is no promise; there are {', '.join(PROMISES)}")
    return _analyse(options.directory, require)


def _write(target: Path) -> int:
    from harness.analysis.session import package  # noqa: PLC0415 - a job that runs has its package already

    package(target)
    shutil.copyfile(__file__, target.with_name(JOB_FILE))
    sys.stdout.write(f"{target} and {target.with_name(JOB_FILE)}\n")
    return 0


def _analyse(directory: Path, require: Sequence[str]) -> int:
    from harness.analysis.analyzing import judged  # noqa: PLC0415 - needs Spark, and only here
    from harness.analysis.promises import AnalysisError  # noqa: PLC0415 - as above
    from harness.analysis.session import session  # noqa: PLC0415 - as above

    try:
        with session(None) as spark:
            analysis = judged(spark, directory)
    except AnalysisError as error:
        sys.stderr.write(f"concord: {error}\n")
        return UNKNOWN
    sys.stdout.write(json.dumps(analysis, ensure_ascii=False) + "\n")
    code, reason = status(analysis, require)
    if reason:
        sys.stderr.write(f"concord: {reason}\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
