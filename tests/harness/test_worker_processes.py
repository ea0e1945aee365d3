"""The processes of a pool end with the command that began them, however it ends."""

import signal
import subprocess
import sys

_COMMAND = """
import os, signal
from harness.worker_processes import worker_processes
if __name__ == "__main__":
    with worker_processes(1) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_worker_of_a_killed_command_ends() -> None:
    # Its output ends when the last process that has it ends.
    command = subprocess.run(  # noqa: S603 - the interpreter that runs this test, on a program written here
        [sys.executable, "-c", _COMMAND], stdout=subprocess.PIPE, timeout=30, check=False
    )
    assert int(command.stdout)
    assert command.returncode == -signal.SIGKILL
