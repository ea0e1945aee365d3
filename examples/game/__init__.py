"""A game without a server: gems that exist once, players who tag each other, and no one who decides.

`world.py` and `player.py` are the program to copy; `bot.py` plays it, in this page or from a shell.
"""
