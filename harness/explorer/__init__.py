"""Looks for schedules that break a promise: campaigns, shrinking, replay, small worlds, broken rules."""
