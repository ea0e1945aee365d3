"""Finds constraint types: those that come with the product, and the entry points of `concord.constraints`.

Laws:

* Types are looked for when a filter first calls a predicate that is not of the language, or when a broker
  says what it has: filters without them cost nothing.
* Two types never have a name or a predicate in common, and no predicate hides one of the language.
"""

from collections.abc import Hashable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Final, cast

from attrs import field, frozen

from broker.errors import ConcordError
from broker.filters.constraint_types import GROUP, INTERFACE_VERSION, ConstraintType

AnyConstraintType = ConstraintType[Hashable, object]
"""A constraint type, whatever its contents are: they come from it and go to it alone."""

SHIPPED: Final = tuple(
    EntryPoint(name, f"broker.constraint_types.{module}", GROUP)
    for name, module in (
        ("network", "networks:NETWORKS"),
        ("place", "places:PLACES"),
        ("version", "versions:VERSIONS"),
    )
)
"""Those of the product; they need no look at what is installed."""

LANGUAGE: Final = frozenset({"all", "any", "exists", "len"})


class ConstraintTypeError(ConcordError):
    """An installed constraint type cannot be used; the text says which, and what to install."""


@frozen
class InstalledType:
    """A constraint type that filters may use, and its name."""

    name: str
    own: AnyConstraintType = field(eq=False)

    @property
    def version(self) -> int:
        """Return the version of what its predicates mean, which neighbours must share."""
        return int(getattr(self.own, "VERSION", 1))


@cache
def installed() -> Mapping[str, InstalledType]:
    """Return all constraint types by their names.

    Raises:
        ConstraintTypeError: one of them cannot be used.
    """
    found: dict[str, InstalledType] = {}
    owners = dict.fromkeys(LANGUAGE, "the filter language")
    for point in (*SHIPPED, *sorted(entry_points(group=GROUP), key=lambda each: (each.name, each.value))):
        if point.name in found:
            raise ConstraintTypeError(f"two constraint types are called {point.name!r}: uninstall one")
        found[point.name] = made = InstalledType(point.name, _loaded(point))
        for predicate in made.own.predicates:
            if predicate in owners:
                raise ConstraintTypeError(
                    f"the constraint type {point.name!r} brings the predicate {predicate!r}, and so does"
                    f" {owners[predicate]}: uninstall one"
                )
            owners[predicate] = f"the constraint type {point.name!r}"
    return MappingProxyType(found)


def _loaded(point: EntryPoint) -> AnyConstraintType:
    try:
        own = cast("AnyConstraintType", point.load())
    except (ImportError, AttributeError) as error:
        raise ConstraintTypeError(f"the constraint type {point.name!r} cannot be loaded: {error}") from error
    version = int(getattr(own, "INTERFACE_VERSION", 1))
    if version != INTERFACE_VERSION:
        raise ConstraintTypeError(
            f"the constraint type {point.name!r} was written for version {version} of the interface of"
            f" constraint types, and this is version {INTERFACE_VERSION}: install releases that go together"
        )
    return own


@cache
def by_predicate() -> Mapping[str, InstalledType]:
    """Return the constraint types by the names of their predicates."""
    return MappingProxyType(
        {predicate: each for each in installed().values() for predicate in each.own.predicates}
    )


def type_of(name: str) -> InstalledType:
    """Return the constraint type with this name.

    Raises:
        ConstraintTypeError: it is not installed.
    """
    if name not in installed():
        raise ConstraintTypeError(
            f"no constraint type {name!r} is installed; there are {', '.join(sorted(installed()))}"
        )
    return installed()[name]


def announced() -> str:
    """Return the constraint types and their versions in words, which neighbours must share."""
    return " ".join(f"{name}/{each.version}" for name, each in sorted(installed().items()))
