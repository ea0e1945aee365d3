import json
import subprocess
import sys
from pathlib import Path

import pytest

from harness.analysis import job
from harness.analysis.promises import AnalysisError
from harness.analysis.session import package, session
from harness.analysis.synthetic import SyntheticShape, make

pytestmark = pytest.mark.timeout(300)
"""Spark takes its time, and the first of the tests waits for it to start."""

# Its path comes before ours, and nothing of ours but the analysis may be needed.
ALONE = """
import sys
sys.path.insert(0, sys.argv[1])
import harness.analysis.comparing, harness.analysis.reading, harness.analysis.subscribers
import attrs
assert harness.analysis.__file__.startswith(sys.argv[1]), harness.analysis.__file__
assert attrs.__file__.startswith(sys.argv[1]), attrs.__file__
assert "broker" not in sys.modules and "ordering" not in sys.modules
"""


def run(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(  # noqa: S603 - the interpreter that runs this test
        [sys.executable, *words], capture_output=True, text=True, check=False
    )


def test_workers_need_nothing_but_what_is_shipped(tmp_path: Path) -> None:
    archive = package(tmp_path / "shipped.zip")
    done = run("-c", ALONE, str(archive))
    assert done.stderr == ""
    assert done.returncode == 0


def test_a_cluster_gives_the_same_answers_and_violations_an_exit_status(tmp_path: Path) -> None:
    folder = make(
        tmp_path / "run", SyntheticShape(subscribers=5, publishers=3, deliveries=1_000, disorder=4.0)
    )
    words = ("-m", "broker", "harness", "analyze", str(folder), "--json", "--require", "pairwise")
    done = run(*words, "--master", "local-cluster[2,1,1024]")
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    assert found["pairs"] == 10
    assert found["pairs_out_of_order"] == 10
    assert found == json.loads((folder / "analysis.json").read_text())
    # Progress is all there is on standard error: nothing of Spark's and Java's.
    assert all(" s  " in line for line in done.stderr.splitlines())


def test_a_wrong_master_is_an_error_in_one_line(tmp_path: Path) -> None:
    done = run("-m", "broker", "harness", "analyze", str(tmp_path), "--master", "nowhere", "--quiet")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("concord: Spark does not start with --master nowhere")


def test_without_java_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(AnalysisError, match="openjdk-17-jre-headless"), session():
        pass


def test_the_job_comes_with_its_package(tmp_path: Path) -> None:
    assert job.main(["--package", str(tmp_path / "shipped.zip")]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"shipped.zip", "concord-analysis-job.py"}
