"""Repeats the evaluation of Muehl's thesis, and writes the measured part of `docs/routing.md`.

`make evaluation-routing` runs it. `studies` is the table of what is measured, `measuring` lets one study
happen with the product's cores joined by `network`, `expected` works the same tables out from scratch,
`references` has what the thesis says, and `document` puts both side by side. Interrupted, it goes on where
it was.
"""
