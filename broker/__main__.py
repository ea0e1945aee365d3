"""`python -m broker` is `concord`, for where the command itself is not on the path."""

from broker.commands import main

main()
