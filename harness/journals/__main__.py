"""`python -m harness.journals`: the campaign of corruptions."""

from harness.journals.campaign import command

__all__ = ["command"]

if __name__ == "__main__":
    command()
