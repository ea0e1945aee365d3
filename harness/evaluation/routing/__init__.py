"""Repeats the evaluation of Muehl's thesis, and writes the measured part of `docs/results/routing.md`.

`make evaluation-routing` runs it. `studies` is the table of what is measured in the world of the `thesis`,
`measuring` lets studies happen with the product's cores joined by `network`, `expected` works the same tables
out from scratch, `references` has what the thesis says, and `claims` and `document` put both side by side.
"""
