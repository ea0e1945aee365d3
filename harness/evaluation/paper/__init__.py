"""Experiments after the paper's, with real brokers and clients, and ours beside them.

`studies` is the table of what is run, and runs it; `claims` compares with the paper; `document` writes the
page.
"""
