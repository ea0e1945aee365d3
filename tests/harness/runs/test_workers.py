"""A process of clients, by itself."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("role", ["publisher", "subscriber"])
def test_it_ends_with_its_input_though_its_clients_could_not_connect(tmp_path: Path, role: str) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        setup = {
            "job": {"number": 0, "role": role, "seats": [("client-1", "broker-1", 0, ["client-1"])]},
            "scenario": {},
            "addresses": {"client-1": f"127.0.0.1:{nobody.getsockname()[1]}"},
            "folder": str(tmp_path),
        }
        words = [sys.executable, "-m", "harness.runs.workers"]
        text = json.dumps(setup) + "\n"
        done = subprocess.run(words, input=text, capture_output=True, text=True, check=False, timeout=100)  # noqa: S603 - our own program
    assert done.returncode == 0, done.stderr
    (report,) = done.stdout.splitlines()
    assert json.loads(report)["published"] == 0
