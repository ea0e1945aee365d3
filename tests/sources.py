"""The repository as text: what the tests of the house read, and how they name a place in it."""

import ast
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

import attrs

ROOT: Final = Path(__file__).resolve().parent.parent
PACKAGES: Final = ("concord", "broker", "ordering", "harness", "examples")

_NOT_OURS: Final = frozenset({ROOT / "build", ROOT / "dist", ROOT / "runs"})
_HIDDEN_BUT_OURS: Final = frozenset({".ci", ".editorconfig", ".gitignore"})


@attrs.frozen
class Source:
    """One file: its place from the root of the repository, and its text."""

    path: PurePosixPath
    text: str

    @property
    def module(self) -> str:
        """The dotted name a Python file is imported by; a package's is that of its folder."""
        parts = self.path.with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def is_test(self) -> bool:
        return self.path.parts[0] == "tests"

    def tree(self) -> ast.Module:
        return ast.parse(self.text, filename=str(self.path))

    def at(self, line: int, complaint: str) -> str:
        """A complaint about a line, as editors like to read it."""
        return f"{self.path}:{line}: {complaint}"


def example(path: str, text: str) -> Source:
    """A file that is not there, to try a rule on."""
    return Source(PurePosixPath(path), text)


def _paths(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        name = path.name
        hidden = name.startswith(".") and name not in _HIDDEN_BUT_OURS
        if hidden or path in _NOT_OURS or name == "__pycache__" or name.endswith(".egg-info"):
            continue
        if path.is_dir():
            yield from _paths(path)
        else:
            yield path


def every_file() -> list[Source]:
    """All text of the repository, whatever its kind."""
    return [
        Source(PurePosixPath(path.relative_to(ROOT).as_posix()), path.read_text(encoding="utf-8"))
        for path in _paths(ROOT)
        if path.suffix not in {".png", ".gif", ".ico", ".so"}
    ]


def python_files() -> list[Source]:
    """All Python of the repository, tests included."""
    return [source for source in every_file() if source.path.suffix == ".py"]


def product_files() -> list[Source]:
    """The Python that is shipped."""
    return [source for source in python_files() if source.path.parts[0] in PACKAGES]
