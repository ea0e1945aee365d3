"""`python -m concord`: the same as the command `concord`."""

from broker.commands import main

main()
