"""The history: a client program that keeps what matches a filter in Parquet files, and answers replays.

`rows` are events as they are stored, `store` is the folder of files, `component` is the program around both.
PyArrow is loaded with this package, and nothing that is light imports it.
"""
