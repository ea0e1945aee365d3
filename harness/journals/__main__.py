"""`python -m harness.journals`: the campaign of corruptions."""

from harness.journals.campaign import command

command()
