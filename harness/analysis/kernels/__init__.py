"""The arithmetic of the analysis on numpy arrays: no Spark in here, and nothing that a worker has not got.

A *stream* is what one subscription delivered, as publications' numbers in the order of delivery, each once.
Several streams stand in one array one after the other, with `bounds`: stream i is `values[bounds[i]:bounds[i
+ 1]]`.
"""
