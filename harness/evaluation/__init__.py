"""Evaluations: studies that are run, analysed, and written into a page of `docs`.

`paper` repeats the evaluation of the paper about order (`make evaluation`), `routing` that of the thesis
about routing strategies (`make evaluation-routing`). Both choose, resume and show their studies by
`campaign`.
"""
