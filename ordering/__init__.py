"""Decides when each publication leaves a broker.

The package holds the ordering plugins (`interface` defines what a plugin is) and the verdicts on a history of
deliveries. It imports no other package of Concord.
"""
