"""A mutant of the product: a rule, and the methods that are replaced to break it."""

from collections.abc import Callable
from types import ModuleType

from attrs import frozen

Change = tuple[type | ModuleType, str, Callable[..., object] | property]


@frozen
class Mutant:
    """A rule and how it is broken. `routing` is where it matters, `is_whole` if it needs whole brokers."""

    rule: str
    faults: str
    changes: tuple[Change, ...]
    routing: str = "simple"
    is_whole: bool = False

    @property
    def text(self) -> str:
        """Return the first line of its docstring."""
        instead = self.changes[0][2]
        return str(instead.__doc__).partition("\n")[0]
