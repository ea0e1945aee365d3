"""The figures of a report, a file for each; `harness.report.gallery` is the table of them."""
