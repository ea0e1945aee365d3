"""Patterns of events: a language for them, and a detector whose state follows from delivered order alone."""
