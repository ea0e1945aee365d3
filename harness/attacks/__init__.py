"""Hostile clients against a real broker, beside an honest publisher and an honest subscriber.

`hostile` has the attacks, one function each; `honest` measures what the others get meanwhile; `python -m
harness.attacks` runs them all and prints a table.
"""
