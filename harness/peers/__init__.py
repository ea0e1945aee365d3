"""Concord beside its peers: one workload through each system, one accounting, one verdict on all.

Each system is an adapter in a file of its own. Adding one is adding a file and one line to `adapters.PEERS`.
"""
