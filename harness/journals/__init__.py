"""Journals under crashes and damage: a simulated disk, ways to spoil files, and what remembers the truth."""
