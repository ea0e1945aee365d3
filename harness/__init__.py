"""Drives brokers from outside, as users can: scenarios, faults, benchmarks, and their verdicts.

Programs here start real broker processes and speak the public client. Nothing a broker needs is in here.
"""
