"""What stands around the two programs: overlays with distances, the web server, and the pages themselves.

Nobody needs this to write a program of their own; it is there to show what the programs do.
"""
