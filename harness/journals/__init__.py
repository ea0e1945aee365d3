"""Journals under crashes and damage: a simulated disk, and a campaign of corruptions of real files."""
