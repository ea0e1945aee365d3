"""Finds ordering plugins by name, among the entry points of the group `concord.ordering`."""

from importlib.metadata import entry_points

from ordering.interface import OrderingFactory

GROUP = "concord.ordering"


class UnknownOrderingError(Exception):
    """No installed distribution offers a plugin of that name."""


def names() -> list[str]:
    """The names of all installed plugins."""
    return sorted({point.name for point in entry_points(group=GROUP)})


def load(name: str) -> OrderingFactory:
    """Return the factory of the plugin with this name."""
    for point in entry_points(group=GROUP, name=name):
        factory: OrderingFactory = point.load()
        return factory
    raise UnknownOrderingError(f"no ordering plugin is called {name!r}; there are {', '.join(names())}")
