"""Drives brokers from outside, as users can: the tour, the benchmarks, and what measures them.

Programs here start real broker processes and speak the public client. Nothing a broker needs is in here.
"""
