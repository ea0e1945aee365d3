"""Repeats the paper's evaluation, and ours, and writes `docs/evaluation.md`: `make evaluation`.

`studies` is the table of what is run, `campaign` runs what has not been run yet, `document` writes the page.
Interrupted, it goes on where it was: a run that is whole is never made again.
"""
