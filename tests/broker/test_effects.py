"""Effects are carried out in the order of their fields, by everybody who carries them out."""

import ast
import inspect
from collections.abc import Iterator
from textwrap import dedent

import attrs
import pytest

import broker.core
import broker.node
from broker.node.exchange import Exchange
from broker.server.server import Server
from harness.simulator.world import World
from harness.whole.sites import WholeSite


def looked_at(owner: type, method: str, seen: frozenset[str] = frozenset()) -> Iterator[str]:
    """The fields of `effects` that a method looks at, in its order, with those of methods that it calls."""
    [function] = ast.parse(dedent(inspect.getsource(getattr(owner, method)))).body
    for node in _in_order(function):
        match node:
            case ast.Attribute(value=ast.Name(id="effects"), attr=field):
                yield field
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)):
                if name not in seen and inspect.isfunction(vars(owner).get(name)):
                    yield from looked_at(owner, name, seen | {method})


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        yield child
        yield from _in_order(child)


def is_in_order(effects: type, owner: type, method: str) -> bool:
    """Whether a method looks at the fields of its effects in their order, and at each for the first time."""
    fields = [each.name for each in attrs.fields(effects)]
    places = [fields.index(name) for name in dict.fromkeys(looked_at(owner, method))]
    return places == sorted(places)


CARRIED_OUT = [
    (broker.core.CoreEffects, Exchange, "settle"),
    (broker.core.CoreEffects, World, "_release"),
    (broker.node.Effects, Server, "_carry_out"),
    (broker.node.Effects, WholeSite, "_carry_out"),
]


@pytest.mark.parametrize(("effects", "owner", "method"), CARRIED_OUT)
def test_the_order_of_fields_is_the_order_in_which_they_are_carried_out(
    effects: type, owner: type, method: str
) -> None:
    assert len(set(looked_at(owner, method))) > 4
    assert is_in_order(effects, owner, method)


class Hasty:
    """Pauses before it writes."""

    def carry_out(self, effects: broker.node.Effects) -> list[object]:
        return [effects.records, *self.pause(effects), *effects.writes]

    def pause(self, effects: broker.node.Effects) -> list[object]:
        return [*effects.pauses]


def test_another_order_is_noticed() -> None:
    assert list(looked_at(Hasty, "carry_out")) == ["records", "pauses", "writes"]
    assert not is_in_order(broker.node.Effects, Hasty, "carry_out")
