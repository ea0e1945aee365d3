"""A market without a consolidated tape: exchanges publish, investors decide by what they are delivered.

`investor.py` is the program to copy; `day.py` makes and reads days of trading, and is what an exchange
publishes.
"""
