"""The habits of the house that a program can check, so that nobody has to remember them.

Every rule is a function from one file's text to its complaints. Each is also tried on a file that breaks it,
since a rule that cannot fail says nothing.
"""

import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import pytest

from tests.sources import PACKAGES, ROOT, Source, every_file, example, product_files, python_files
from tests.vocabulary import words

Rule = Callable[[Source], list[str]]

MODULE_LINES_MAX: Final = 600
"""Twice what a module should have: beyond this it does more than one thing."""

FUNCTION_LINES_MAX: Final = 70
"""One screen."""

COPIED_LINES: Final = 200
"""A program to copy stays below this."""

VAGUE_NAMES: Final = {"utils", "helpers", "manager", "data", "info"}
"""Names that say nothing about what is inside, and so attract everything."""

NAMESAKES: Final = {
    "Client": "the blocking client has the names of the asynchronous one: a program changes its import only",
    "AdvertisementWatch": "as Client",
    "Deliveries": "as Client",
    "ObjectDeliveries": "as Client",
    "Publisher": "as Client",
    "Gap": "a message, and what the client delivers for it; users import the second only",
}
"""Names that two classes have, with the reason."""

_MARKS: Final = re.compile(r"\b(TO[D]O|FIX[M]E|XX[X])\b")
_UNFINISHED: Final = {"skip", "skipif", "xfail", "importorskip"}
_DIRECTIVE: Final = re.compile(
    r"#\s*(?:ruff:\s*)?noqa(?::\s*[A-Z]+\d+(?:,\s*[A-Z]+\d+)*)?|#\s*type:\s*ignore(?:\[[^\]]*\])?|#\s*pragma:[^#]*"
)
_WORD: Final = re.compile(r"[A-Za-z]{3,}")
_MACHINE_PATH: Final = re.compile(r"(?<![\w.-])/(?:work|root|tmp)(?:/|\b)")
_REGISTRY: Final = re.compile(
    r"\b(?:pypi[.]org|pythonhosted[.]org|index[.]crates[.]io|registry[.]npmjs[.]\w+)"
)
_MOCK_CLOCKS: Final = {"autojump_clock", "mock_clock"}
_LINK: Final = re.compile(r"\]\(([^)\s]+)\)")
_ELSEWHERE: Final = ("http://", "https://", "mailto:", "#")


def _is_python(source: Source) -> bool:
    return source.path.suffix == ".py"


def _functions(source: Source) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(source.tree()):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _comments(source: Source) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def size(source: Source) -> list[str]:
    """Modules and functions stay small enough to be read."""
    lines = len(source.text.splitlines())
    complaints = [source.at(lines, f"{lines} lines; split it")] if lines > MODULE_LINES_MAX else []
    for function in _functions(source):
        length = (function.end_lineno or function.lineno) - function.lineno + 1
        if length > FUNCTION_LINES_MAX:
            complaints.append(source.at(function.lineno, f"{function.name} has {length} lines; split it"))
    return complaints


def copied(source: Source) -> list[str]:
    """What users copy from the examples can be read in one sitting."""
    lines = len(source.text.splitlines())
    shown = source.path.parts[:2] == ("examples", "pages")
    if source.path.parts[0] != "examples" or shown or lines < COPIED_LINES:
        return []
    return [source.at(lines, f"{lines} lines; users copy what is below {COPIED_LINES}")]


def names(source: Source) -> list[str]:
    """A module says what is inside."""
    vague = VAGUE_NAMES.intersection(source.path.with_suffix("").parts)
    return [source.at(1, f"the name {name!r} says nothing") for name in sorted(vague)]


def opening(source: Source) -> list[str]:
    """A module opens with what it is for."""
    if source.path.parts[0] not in PACKAGES or ast.get_docstring(source.tree()):
        return []
    return [source.at(1, "has no docstring")]


def finished(source: Source) -> list[str]:
    """Nothing is left for later: it is done, or it is not there."""
    complaints = [
        source.at(number, f"has the mark {found[0]}")
        for number, line in enumerate(source.text.splitlines(), 1)
        for found in [_MARKS.search(line)]
        if found
    ]
    if not _is_python(source):
        return complaints
    for node in ast.walk(source.tree()):
        if isinstance(node, ast.Name) and node.id == "NotImplementedError":
            complaints.append(source.at(node.lineno, "says that something is not implemented"))
        elif isinstance(node, ast.Attribute) and source.is_test and node.attr in _UNFINISHED:
            complaints.append(source.at(node.lineno, f"a test that may {node.attr} proves nothing"))
    return complaints


def _sleeps(node: ast.AST, *, mocked: bool = False) -> Iterator[ast.Call]:
    """Calls that really wait; time under a mock clock costs nothing."""
    for child in ast.iter_child_nodes(node):
        inner = mocked
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = {each.arg for each in (*child.args.args, *child.args.kwonlyargs)}
            inner = mocked or not _MOCK_CLOCKS.isdisjoint(arguments)
        elif isinstance(child, ast.Call) and not mocked and _is_sleep(child):
            yield child
        yield from _sleeps(child, mocked=inner)


def _is_sleep(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    seconds = call.args[0] if call.args else None
    return (
        name == "sleep"
        and isinstance(seconds, ast.Constant)
        and isinstance(seconds.value, int | float)
        and seconds.value > 0
    )


def wakefulness(source: Source) -> list[str]:
    """A test waits for what it needs, never for a while."""
    if not source.is_test:
        return []
    return [source.at(call.lineno, "sleeps; wait for the event instead") for call in _sleeps(source.tree())]


def reasons(source: Source) -> list[str]:
    """An exception to a rule says why, in the same comment."""
    return [
        source.at(line, f"{comment!r} gives no reason")
        for line, comment in _comments(source)
        if _DIRECTIVE.search(comment) and not _WORD.search(_DIRECTIVE.sub("", comment))
    ]


def _exported(tree: ast.Module) -> list[str] | None:
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        if any(isinstance(each, ast.Name) and each.id == "__all__" for each in targets):
            return [str(name) for name in ast.literal_eval(value)] if value is not None else []
    return None


def _defined(source: Source) -> Iterator[tuple[str, bool]]:
    """Names a module has at its top level, with whether they must be exported if they are public."""
    package = source.path.name == "__init__.py"
    for node in source.tree().body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, True
        elif isinstance(node, ast.ImportFrom):
            ours = (node.module or "").partition(".")[0] in PACKAGES or node.level > 0
            yield from ((alias.asname or alias.name, package and ours) for alias in node.names)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from ((each.id, False) for each in targets if isinstance(each, ast.Name))


def exports(source: Source) -> list[str]:
    """`__all__` names everything public, and nothing that is not there."""
    exported = _exported(source.tree())
    if source.path.parts[0] not in PACKAGES or exported is None:
        return []
    defined = list(_defined(source))
    lazy = any(function.name == "__getattr__" for function in _functions(source))
    missing = {name for name, public in defined if public and not name.startswith("_")} - set(exported)
    absent = set() if lazy else set(exported) - {name for name, _ in defined}
    return [
        *(source.at(1, f"{name} is public and not in __all__") for name in sorted(missing)),
        *(source.at(1, f"{name} is in __all__ and nowhere else") for name in sorted(absent)),
    ]


def anywhere(source: Source) -> list[str]:
    """Nothing depends on one machine's folders or on one registry."""
    return [
        source.at(number, f"names {found[0]!r}, which other machines do not have")
        for number, line in enumerate(source.text.splitlines(), 1)
        for pattern in (_MACHINE_PATH, _REGISTRY)
        for found in [pattern.search(line)]
        if found
    ]


def links(source: Source) -> list[str]:
    """What a page points to is there."""
    if source.path.suffix != ".md":
        return []
    return [
        source.at(number, f"points to {target}, which is not there")
        for number, line in enumerate(source.text.splitlines(), 1)
        for target in _LINK.findall(line)
        if not target.startswith(_ELSEWHERE)
        and not (ROOT / source.path.parent / target.partition("#")[0]).exists()
    ]


def mirror(source: Source) -> list[str]:
    """A folder of tests is named after the package it tests."""
    place = source.path.parent.relative_to("tests") if source.is_test else source.path.parent
    if not source.is_test or place == place.parent or (ROOT / place / "__init__.py").exists():
        return []
    return [source.at(1, f"tests the package {place}, which is not there")]


def namesakes(sources: Iterable[Source]) -> list[str]:
    """No two classes of the product have one name, except those that the table explains."""
    found: dict[str, list[str]] = defaultdict(list)
    for source in sources:
        for node in source.tree().body:
            if isinstance(node, ast.ClassDef):
                found[node.name].append(source.at(node.lineno, f"another {node.name}; name it apart"))
    return [place for name, places in found.items() if name not in NAMESAKES for place in places[1:]]


PYTHON_RULES: Final[tuple[Rule, ...]] = (
    size,
    copied,
    names,
    opening,
    wakefulness,
    reasons,
    exports,
    mirror,
    words,
)
TEXT_RULES: Final[tuple[Rule, ...]] = (finished, anywhere, links)

SLASH: Final = "/"
BROKEN: Final[dict[Rule, list[Source]]] = {
    size: [
        example("broker/x.py", "x = 1\n" * (MODULE_LINES_MAX + 1)),
        example("broker/x.py", "def f():\n" + "    g()\n" * FUNCTION_LINES_MAX),
    ],
    copied: [example("examples/game/x.py", "x = 1\n" * COPIED_LINES)],
    names: [example("broker/utils.py", ""), example("tests/data/test_x.py", "")],
    opening: [example("broker/x.py", "# A comment is no docstring.\n")],
    wakefulness: [
        example("tests/test_x.py", "async def test_x():\n    await trio.sleep(0.1)\n"),
        example("tests/test_x.py", "sleep(1)\n"),
    ],
    reasons: [
        example("broker/x.py", "import os  # noqa: F401\n"),
        example("broker/x.py", "x = y  # type: ignore[assignment]\n"),
        example("broker/x.py", "x = y  # noqa: E501, S101 - \n"),
        example("broker/x.py", "# ruff: noqa: T201\n"),
    ],
    exports: [
        example("broker/x.py", "__all__ = ['f']\ndef f(): ...\ndef g(): ...\n"),
        example("broker/x.py", "__all__ = ['f']\n"),
        example("broker/x/__init__.py", "from broker.x.y import Z\n__all__: list[str] = []\n"),
    ],
    mirror: [example("tests/broker/nowhere/test_x.py", "")],
    words: [
        example("broker/x.py", '"""Return what the child was told."""\n'),
        example("broker/x.py", "x = 1  # Told before.\n"),
        example("broker/x.py", "told_child = 1\n"),
        example("broker/x.py", "def f(told: int) -> None: ...\n"),
        example("broker/x.py", "class ToldChild: ...\n"),
        example("broker/x.py", "x.told\n"),
        example("broker/x.py", 'f"{told}"\n'),
        example("tests/test_x.py", '"""What is\nhanded out."""\n'),
    ],
    finished: [
        example("docs/x.md", "TO" + "DO: more"),
        example("broker/x.py", "raise NotImplementedError\n"),
        example("tests/test_x.py", "@pytest.mark.skip\ndef test_x(): ...\n"),
        example("tests/test_x.py", "@pytest.mark.xfail(strict=True)\ndef test_x(): ...\n"),
    ],
    anywhere: [
        example("docs/x.md", f"Look in {SLASH}work/main."),
        example("Makefile", f"out:\n\tcp x {SLASH}tmp"),
        example(".ci/run", f"pip install --index-url https://{'pypi'}.org/simple x"),
    ],
    links: [example("README.md", "[a page](docs/nowhere.md)"), example("docs/x.md", "[a](../nowhere.py#L1)")],
}

SOUND: Final[dict[Rule, Source]] = {
    copied: example("examples/pages/x.py", "x = 1\n" * COPIED_LINES),
    size: example("broker/x.py", "def f():\n" + "    g()\n" * (FUNCTION_LINES_MAX - 1)),
    names: example("broker/filters/database.py", ""),
    opening: example("broker/x.py", '"""What it is for."""\n'),
    wakefulness: example(
        "tests/test_x.py", "async def test_x(autojump_clock):\n    await trio.sleep(9)\nsleep(0)\n"
    ),
    reasons: example("broker/x.py", "f(x)  # noqa: S603 - the program is our own\ng()  # A plain remark.\n"),
    exports: example("broker/x.py", "__all__ = ['f', 'X']\nX = 1\ndef f(): ...\ndef _g(): ...\n"),
    mirror: example("tests/broker/commands/test_x.py", ""),
    words: example("broker/filters/x.py", "toldo = 'told'  # The hull; the hardest intellect.\n"),
    finished: example("broker/x.py", "# Everything is done; `skip` is a verb.\nreader.skip(3)\n"),
    anywhere: example("docs/x.md", "Read the work/life page at https://example.org/work-in-progress."),
    links: example("README.md", "[here](LICENSE), [there](https://example.org/x), [below](#below)"),
}


@pytest.mark.parametrize("rule", PYTHON_RULES)
def test_the_sources_keep_the_rule(rule: Rule) -> None:
    assert "\n".join(complaint for source in python_files() for complaint in rule(source)) == ""


@pytest.mark.parametrize("rule", TEXT_RULES)
def test_the_whole_repository_keeps_the_rule(rule: Rule) -> None:
    assert "\n".join(complaint for source in every_file() for complaint in rule(source)) == ""


@pytest.mark.parametrize(
    ("rule", "source"), [(rule, bad) for rule in (*PYTHON_RULES, *TEXT_RULES) for bad in BROKEN[rule]]
)
def test_the_rule_notices_when_it_is_broken(rule: Rule, source: Source) -> None:
    assert len(rule(source)) == 1


@pytest.mark.parametrize("rule", [*PYTHON_RULES, *TEXT_RULES])
def test_the_rule_lets_pass_what_keeps_it(rule: Rule) -> None:
    assert rule(SOUND[rule]) == []


def test_no_two_classes_of_the_product_have_one_name() -> None:
    assert "\n".join(namesakes(product_files())) == ""


def test_every_exception_for_namesakes_is_needed() -> None:
    names = [n.name for each in product_files() for n in each.tree().body if isinstance(n, ast.ClassDef)]
    assert [name for name in NAMESAKES if names.count(name) < 2] == []


def test_two_classes_of_one_name_are_noticed() -> None:
    one, other = example("broker/x.py", "class Place: ...\n"), example("harness/y.py", "class Place: ...\n")
    assert namesakes([one, other]) == ["harness/y.py:1: another Place; name it apart"]
    assert namesakes([one, example("harness/y.py", "class Seat:\n    class Place: ...\n")]) == []
