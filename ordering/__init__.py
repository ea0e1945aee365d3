"""Decides what goes when.

The room of the ordering plugins (`interface` says what one is) and of the verdicts on a history of
deliveries. It imports nothing else of Concord.
"""
