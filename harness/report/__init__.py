"""The report: what runs came to, as one page that needs nothing else, and reads well on paper and on a phone.

    from harness.report.page import write
    write(Path("runs/quick"))      # runs/quick/report/index.html

Laws.

1. Numbers come from `analysis.json` alone; nothing is computed here that an analysis should have said.
2. Every figure has its data beside it as CSV. One without data is left out, and a note says so.
3. The page loads nothing from anywhere.

`charts` draws, `figures` says what a figure is, `run_figures` and `routing_figures` are the tables of them,
and `page` puts figures, `tables` and diagrams of a `witness` together.
"""
