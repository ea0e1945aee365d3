"""Finds ordering plugins by name, among the entry points of the group `concord.ordering`."""

from collections.abc import Mapping
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Final

from attrs import evolve

from ordering.interface import INTERFACE_VERSION, Context, Ordering, OrderingFactory

GROUP: Final = "concord.ordering"

NO_OPTIONS: Final[Mapping[str, str]] = MappingProxyType({})


class UnknownOrderingError(Exception):
    """No installed distribution offers a plugin of that name."""


class IncompatibleOrderingError(UnknownOrderingError):
    """The installed plugin of that name was written for another version of the interface."""


def names() -> list[str]:
    """Return the names of all installed plugins, sorted."""
    return sorted({point.name for point in entry_points(group=GROUP)})


def load(name: str, options: Mapping[str, str] = NO_OPTIONS) -> OrderingFactory:
    """Return the factory of the plugin with this name, which makes plugins with these options.

    Raises:
        UnknownOrderingError: no installed plugin has this name.
        IncompatibleOrderingError: the plugin was written for another version of the interface.
    """
    factory: OrderingFactory = _find(name).load()
    version = int(getattr(factory, "INTERFACE_VERSION", 1))
    if version != INTERFACE_VERSION:
        raise IncompatibleOrderingError(
            f"the plugin {name!r} was written for version {version} of the interface of ordering plugins, "
            f"and this broker has version {INTERFACE_VERSION}: install releases of both that go together"
        )
    return configured(factory, options) if options else factory


def configured(factory: OrderingFactory, options: Mapping[str, str]) -> OrderingFactory:
    """Return a factory that makes plugins with these options."""
    return partial(_make, factory, dict(options))


def caution(name: str) -> str:
    """Return the warning that a broker with this plugin logs when it starts, or an empty text."""
    return str(getattr(_find(name).load(), "CAUTION", ""))


def routing(name: str) -> str:
    """Return the routing strategies that a plugin needs where the operator chooses none, or an empty text."""
    return str(getattr(_find(name).load(), "ROUTING", ""))


def notes_version(name: str) -> int:
    """Return the version of the marks and notes that a plugin exchanges with its neighbours."""
    return int(getattr(_find(name).load(), "NOTES_VERSION", 1))


def _make(factory: OrderingFactory, options: Mapping[str, str], context: Context) -> Ordering:
    return factory(evolve(context, options=options))


@cache
def _find(name: str) -> EntryPoint:
    """Return the entry point; looking through all distributions takes milliseconds."""
    for point in entry_points(group=GROUP, name=name):
        return point
    raise UnknownOrderingError(f"no ordering plugin is called {name!r}; there are {', '.join(names())}")
