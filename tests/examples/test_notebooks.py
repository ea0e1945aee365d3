"""The notebook runs, cell by cell, with a real broker."""

import json
import os
import subprocess
import sys
from typing import Any

from tests.broker.client.stage import stage
from tests.sources import ROOT

NOTEBOOK = ROOT / "examples" / "notebooks" / "trades.ipynb"


def cells() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return found


def test_every_cell_runs_and_prints_what_it_says() -> None:
    program = "\n".join("".join(cell["source"]) for cell in cells() if cell["cell_type"] == "code")
    with stage() as broker:
        done = subprocess.run(  # noqa: S603 - our own notebook
            [sys.executable, "-c", program],
            cwd=ROOT,
            env={**os.environ, "CONCORD_BROKER": broker.address},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "connected to B1",
        "IBM    166,833",
        "SAP    166,167",
        "TSM    166,500",
        "True",
    ]


def test_cells_are_stored_without_what_they_printed() -> None:
    assert [cell["id"] for cell in cells() if cell.get("outputs") or cell.get("execution_count")] == []
