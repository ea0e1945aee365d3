"""A broker's heap: what is freed is kept, unless the process was started with other settings."""

import os
import platform
import subprocess
import sys

_IS_GLIBC = platform.libc_ver()[0] == "glibc"

_GROW_AND_SHRINK = """
import resource
from broker.server.heap import keep_freed

if {keeps}:
    assert keep_freed()
pieces = []
for _ in range(100):
    pieces += [bytes(100_000) for _ in range(100)]
    pieces.clear()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
"""


def _python(program: str, **environment: str) -> str:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    ended = subprocess.run(  # noqa: S603 - the interpreter that runs this test, on programs written here
        [sys.executable, "-c", program], env=plain | environment, check=True, capture_output=True, text=True
    )
    return ended.stdout


def test_what_is_freed_is_used_again_without_faults() -> None:
    faults, without = (int(_python(_GROW_AND_SHRINK.format(keeps=keeps))) for keeps in (_IS_GLIBC, False))
    assert (without - faults > 100_000) == _IS_GLIBC, "10 MB a hundred times are 240,000 pages"


def test_who_sets_the_heap_from_outside_decides() -> None:
    program = "from broker.server.heap import keep_freed; print(keep_freed())"
    assert _python(program, MALLOC_TOP_PAD_="1000") == "False\n"
