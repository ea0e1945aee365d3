"""Runs: a scenario performed by real brokers and real clients, and recorded as it goes.

`plan` says who is where, `brokers` and `starter` start broker processes, `workers` are the processes of
clients, `performance` is one run from start to end, or all of a study: every point of a scenario, under every
ordering.
"""
