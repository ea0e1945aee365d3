"""Real overlays that change their shape under load: random moves, and an upgrade to another build."""
