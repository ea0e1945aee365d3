"""The paper's evaluation, repeated with real brokers and clients, and ours beside it.

`studies` is the table of what is run, and runs it; `claims` compares with the paper; `document` writes the
page.
"""
