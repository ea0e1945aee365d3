"""Who may import whom, proven from the imports themselves.

`ordering` stands alone, `broker` may use it through its interface, and `harness` may use both. `concord` is
the door to what is public in `broker` and `ordering`; nobody goes through it but users, the examples and
tests. The programs among the examples that users copy use that door and nothing else.
What decides is pure: no clock, no chance, no sockets. What is heavy is imported where it is used.
"""

import ast
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from typing import Final

import attrs
import pytest

import concord
from broker.commands import COMMANDS
from broker.commands import GROUP as COMMAND_GROUP
from tests.sources import PACKAGES, ROOT, Source, example, product_files

MAY_IMPORT: Final = {
    "ordering": {"ordering"},
    "broker": {"broker", "ordering"},
    "harness": {"broker", "ordering", "harness"},
    "concord": {"broker", "ordering", "concord"},
    "examples": {"broker", "concord", "harness", "examples"},
}

PURE: Final = (
    "broker.advice",
    "broker.client.deliveries",
    "broker.client.delivery",
    "broker.client.endings",
    "broker.client.inbox",
    "broker.client.interest",
    "broker.client.life",
    "broker.client.limits",
    "broker.client.machine",
    "broker.client.offers",
    "broker.client.options",
    "broker.client.outbox",
    "broker.client.questions",
    "broker.client.reading",
    "broker.client.replay",
    "broker.client.session",
    "broker.client.silence",
    "broker.client.window",
    "broker.constraint_types",
    "broker.core",
    "broker.discovery_messages",
    "broker.filters",
    "broker.form",
    "broker.healing",
    "broker.history_events",
    "broker.interest_messages",
    "broker.matching",
    "broker.messages",
    "broker.move_messages",
    "broker.node",
    "broker.patterns",
    "broker.publication",
    "broker.quantities",
    "broker.replay",
    "broker.replay_messages",
    "broker.routing",
    "broker.sessions",
    "broker.station",
    "broker.transitions",
    "broker.wire",
    "ordering",
)
IMPURE: Final = {
    "asyncio",
    "datetime",
    "os",
    "random",
    "secrets",
    "socket",
    "threading",
    "time",
    "trio",
    "uuid",
}

ROOMS: Final = (
    *(
        "form",
        "errors",
        "addresses",
        "quantities",
        "exception_groups",
        "backoff",
        "leases",
        "page_limits",
        "lines",
        "transitions",
        "toml_files",
    ),
    *(
        "filters",
        "publication",
        "replay_messages",
        "constraint_types",
        "interest_messages",
        "history_events",
        "healing",
        "matching",
        "routing",
        "move_messages",
        "discovery_messages",
    ),
    *("messages", "wire"),
    *(
        "sessions",
        "replay",
        "core",
        "station",
        "node",
        "advice",
        "journal",
        "objects",
        "client",
        "patterns",
        "trace",
        "server",
        "history",
        "commands",
        "spark",
    ),
)
"""The rooms of the broker: each uses those before it, never those behind it."""

HARNESS_ROOMS: Final = (
    *("datasets", "tables", "results", "leash", "worker_processes", "processes", "outcomes", "overlay"),
    "node_overlay",
    *("traces", "faults", "scenarios", "simulator", "journals", "fuzz", "whole", "explorer"),
    *(
        "runs",
        "reshaping",
        "analysis",
        "watch",
        "report",
        "advice",
        "large",
        "benchmarks",
        "peers",
        "evaluation",
        "commands",
        "soak",
        "attacks",
        "walk",
        "site",
    ),
)
"""The rooms of the harness: tools of all; what makes runs and judges them; what measures; what users call."""

SHOWN: Final = "examples.pages"
"""What stands around the examples, to show them; everything else there is to be copied."""

_PUBLIC: Final = frozenset(concord.__all__)

PUBLIC_MODULES: Final = {
    f"concord.{name}"
    for name in ("asyncio", "constraints", "detect", "events", "plugins", "spark", "sync", "testing")
}
"""Where all that is public is, beside what `concord` has itself."""

PLUGIN_INTERFACE: Final = {"ordering", "ordering.interface", "ordering.plugins", "ordering.watched"}

HEAVY: Final = {
    "hypercorn",
    "matplotlib",
    "numpy",
    "pandas",
    "pyarrow",
    "pyspark",
    "rich",
    "starlette",
}

HEAVY_ROOMS: Final = ("broker.history", "broker.spark", "concord.spark")
"""What is for programs that have Spark; nothing else of ours that is light imports it."""


@attrs.frozen
class Import:
    """One imported module or name, and whether importing the file is enough to import it."""

    module: str
    name: str
    line: int
    is_eager: bool

    @property
    def top(self) -> str:
        return self.module.partition(".")[0]


def _absolute(source: Source, node: ast.ImportFrom) -> str:
    """The module a `from ... import` names, with leading dots resolved."""
    if node.level == 0:
        return node.module or ""
    package = source.path.parent.parts
    base = package[: len(package) - (node.level - 1)]
    return ".".join((*base, *(() if node.module is None else (node.module,))))


def _walk(node: ast.AST, *, eager: bool = True) -> Iterator[tuple[ast.AST, bool]]:
    """Every node, with whether it runs when the file is imported."""
    for child in ast.iter_child_nodes(node):
        yield child, eager
        lazy = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from _walk(child, eager=eager and not lazy)


def imports(source: Source) -> Iterator[Import]:
    """What a file imports; `from a import b` counts as a name of `a`."""
    for node, eager in _walk(source.tree()):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, "", node.lineno, eager)
        elif isinstance(node, ast.ImportFrom):
            module = _absolute(source, node)
            for alias in node.names:
                yield Import(module, alias.name, node.lineno, eager)


def _inside(module: str, *places: str) -> bool:
    return any(module == place or module.startswith(f"{place}.") for place in places)


def doors(source: Source) -> list[str]:
    """A room may use the rooms to its left, never to its right."""
    room = source.path.parts[0]
    return [
        source.at(found.line, f"{room} imports {found.module}, and may import of ours {MAY_IMPORT[room]}")
        for found in imports(source)
        if found.top in PACKAGES and found.top not in MAY_IMPORT[room]
    ]


def rooms(source: Source) -> list[str]:
    """Inside the broker, imports go one way (`ROOMS`)."""
    return _one_way(source, "broker", ROOMS)


def harness_rooms(source: Source) -> list[str]:
    """Inside the harness, imports go one way (`HARNESS_ROOMS`)."""
    return _one_way(source, "harness", HARNESS_ROOMS)


def _one_way(source: Source, package: str, order: tuple[str, ...]) -> list[str]:
    parts = source.module.split(".")
    if parts[0] != package or parts[1:] in ([], ["__main__"]):
        return []
    here = order.index(parts[1])
    return [
        source.at(found.line, f"imports {found.module}; {parts[1]} stands before it among the rooms")
        for found in imports(source)
        if (room := _room(found, package)) in order and order.index(room) > here
    ]


def _room(found: Import, package: str) -> str:
    parts = found.module.split(".")
    if parts[0] != package:
        return ""
    return parts[1] if len(parts) > 1 else found.name


def purity(source: Source) -> list[str]:
    """What decides knows no clock, no chance, no files and no sockets."""
    if not _inside(source.module, *PURE):
        return []
    return [
        source.at(found.line, f"imports {found.module}; what decides is deterministic and does no I/O")
        for found in imports(source)
        if found.top in IMPURE
    ]


def plugin_door(source: Source) -> list[str]:
    """The broker sees ordering plugins through their interface alone."""
    if source.path.parts[0] != "broker":
        return []
    return [
        source.at(found.line, f"imports {found.module}; the broker uses {sorted(PLUGIN_INTERFACE)} alone")
        for found in imports(source)
        if found.top == "ordering" and found.module not in PLUGIN_INTERFACE
    ]


def lightness(source: Source) -> list[str]:
    """A broker starts fast: what is heavy is imported by the function that needs it."""
    if source.path.parts[0] not in {"broker", "concord", "ordering"} or _inside(source.module, *HEAVY_ROOMS):
        return []
    return [
        source.at(found.line, f"imports {found.module} when it is itself imported; do it where it is used")
        for found in imports(source)
        if found.is_eager and (found.top in HEAVY or _inside(found.module, *HEAVY_ROOMS))
    ]


def copied_programs(source: Source) -> list[str]:
    """What users copy runs without what shows it."""
    if source.path.parts[0] != "examples" or _inside(source.module, SHOWN):
        return []
    return [
        source.at(found.line, f"imports {found.module}, which a user who copies this does not have")
        for found in imports(source)
        if found.top in {"broker", "ordering", "harness"} or _inside(found.module, SHOWN)
    ]


def public_names(source: Source) -> list[str]:
    """Examples are copied by users, so they use what users may use."""
    if source.path.parts[0] != "examples":
        return []
    return [
        source.at(found.line, f"imports {found.name or found.module} of {found.module}, which is not public")
        for found in imports(source)
        if (found.top == "concord" and not _is_public(found))
        or (found.top == "broker" and not (_inside(source.module, SHOWN) and _is_for_commands(found)))
    ]


def _is_public(found: Import) -> bool:
    named = found.module if found.name in {"", *_PUBLIC} else f"{found.module}.{found.name}"
    return found.module in PUBLIC_MODULES or named in {"concord", *PUBLIC_MODULES}


def _is_for_commands(found: Import) -> bool:
    """Whether it is of what commands share: a command of another package looks like those of this one."""
    return _inside(found.module, "broker.commands")


Rule = Callable[[Source], list[str]]

RULES: Final[tuple[Rule, ...]] = (
    doors,
    rooms,
    harness_rooms,
    purity,
    plugin_door,
    lightness,
    copied_programs,
    public_names,
)

BROKEN: Final[dict[Rule, list[Source]]] = {
    doors: [
        example("ordering/x.py", "from broker.core import Hop"),
        example("broker/x.py", "def f():\n    import harness.faults"),
        example("broker/server/x.py", "from ...examples import game"),
        example("harness/x.py", "import examples"),
        example("broker/x.py", "from concord import connect"),
        example("harness/x.py", "import concord.testing"),
        example("concord/x.py", "from harness import overlay"),
    ],
    rooms: [
        example("broker/core/x.py", "from broker.node import Node"),
        example("broker/node/x.py", "def f():\n    from broker import server"),
        example("broker/messages.py", "import broker.wire.kinds"),
    ],
    harness_rooms: [
        example("harness/runs/x.py", "from harness.analysis.points import Point"),
        example("harness/simulator/x.py", "def f():\n    from harness import runs"),
        example("harness/datasets.py", "import harness.traces"),
    ],
    purity: [
        example("broker/core/x.py", "import trio.lowlevel"),
        example("broker/messages.py", "from time import monotonic"),
        example("broker/wire/__init__.py", "def f():\n    import os"),
        example("ordering/x.py", "import random"),
    ],
    plugin_door: [example("broker/core/x.py", "from ordering.fifo import Fifo")],
    lightness: [
        example("broker/x.py", "import pyarrow.parquet"),
        example("concord/x.py", "from broker.spark import ConcordSource"),
        example("ordering/x.py", "class A:\n    from rich import print"),
    ],
    copied_programs: [
        example("examples/x.py", "import harness"),
        example("examples/game/x.py", "from examples.pages import overlay"),
        example("examples/game/x.py", "from ordering.interface import Ordering"),
        example("examples/game/x.py", "from broker.commands import main"),
    ],
    public_names: [
        example("examples/x.py", "from broker import connect"),
        example("examples/x.py", "import broker.client"),
        example("examples/x.py", "from concord import core"),
        example("examples/x.py", "from concord.private import connect"),
        example("examples/pages/x.py", "from broker.client import connect"),
        example("examples/x.py", "from broker.commands import signals"),
    ],
}

SOUND: Final[dict[Rule, Source]] = {
    doors: example("harness/x.py", "from broker import connect\nimport ordering\nfrom . import faults"),
    rooms: example("broker/server/x.py", "from broker.node import Node\nfrom broker import connect"),
    harness_rooms: example(
        "harness/report/x.py", "from harness.analysis import points\nfrom harness import tables"
    ),
    purity: example("broker/server/x.py", "import time, trio, os"),
    plugin_door: example("broker/core/x.py", "from ordering.interface import Ordering"),
    lightness: example("broker/x.py", "def f():\n    import pyarrow"),
    copied_programs: example("examples/pages/x.py", "import harness\nimport examples.game"),
    public_names: example(
        "examples/pages/x.py",
        "import concord, trio\nfrom concord import connect, testing\nfrom broker.commands.x import y\n"
        "from concord.plugins import Ordering",
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_the_repository_keeps_the_import_rule(rule: Rule) -> None:
    assert "\n".join(complaint for source in product_files() for complaint in rule(source)) == ""


@pytest.mark.parametrize(("rule", "source"), [(rule, bad) for rule in RULES for bad in BROKEN[rule]])
def test_the_import_rule_notices_when_it_is_broken(rule: Rule, source: Source) -> None:
    assert len(rule(source)) == 1


@pytest.mark.parametrize("rule", RULES)
def test_the_import_rule_lets_pass_what_keeps_it(rule: Rule) -> None:
    assert rule(SOUND[rule]) == []


@pytest.mark.parametrize("door", ["concord.asyncio", "concord.sync"])
def test_clients_for_others_load_no_trio(door: str) -> None:
    program = f"import sys, {door}; print(*sys.modules)"
    started = subprocess.run(  # noqa: S603 - as below
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert {"trio", "outcome", "sniffio"}.isdisjoint(started.stdout.split())


def test_the_command_starts_without_anything_heavy_and_without_its_subcommands() -> None:
    program = "import sys, broker.commands; print(*sys.modules)"
    started = subprocess.run(  # noqa: S603 - the interpreter that runs this test, on a program written here
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = set(started.stdout.split())
    assert HEAVY.isdisjoint(loaded)
    assert loaded.isdisjoint(place.partition(":")[0] for place in COMMANDS.values())
    assert loaded.isdisjoint(point.module for point in entry_points(group=COMMAND_GROUP))
    assert "broker.server" not in loaded


def test_a_broker_loads_websocket_only_where_it_listens_for_it() -> None:
    program = "import sys, broker.commands.broker; print(*sys.modules)"
    started = subprocess.run(  # noqa: S603 - as above
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert {"wsproto", "h11"}.isdisjoint(started.stdout.split())
