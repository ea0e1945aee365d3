"""A program that prints every line it reads, for the tests of programs."""

import sys

for line in sys.stdin:
    sys.stdout.write(line)
    sys.stdout.flush()
