"""Every command that a page shows is one: the real command line reads it, and what it names is there."""

import re
import shlex
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Final

import click
import pytest

from broker.commands import concord
from tests.sources import ROOT, Source, every_file, example

_FENCED: Final = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_INDENTED: Final = re.compile(r"^(?: {4,}.*\n?)+", re.MULTILINE)
_INLINE: Final = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_SETTING: Final = re.compile(r"[A-Z_]+=.*", re.DOTALL)
_TARGET: Final = re.compile(r"^([a-z-]+):", re.MULTILINE)

_SHELLS: Final = {"sh", ""}
_ENDS: Final = {"|", "&", "&&", "||", ";", ">", ">>", "<", "2>", "(", ")"}
_WORDS: Final = {"if", "then", "do", "$", "$(", "sudo"}
_PROGRAMS: Final = {"concord", "make", "python"}
_TARGETS: Final = frozenset(_TARGET.findall((ROOT / "Makefile").read_text(encoding="utf-8")))
_NOT_OURS: Final = {"build", "install", "pip", "pytest"}
"""Modules and targets of others that pages run."""


def blocks(text: str) -> Iterator[str]:
    """What a page shows as commands: blocks for a shell, and indented ones outside of fences."""
    for _, language, block in _FENCED.findall(text):
        if language in _SHELLS:
            yield block
    yield from _INDENTED.findall(_FENCED.sub("\n", text))


def commands(block: str) -> Iterator[list[str]]:
    """The commands of a block that are ours, as words."""
    joined = re.sub(
        r"\\\n|(?<=\|)\n", " ", re.sub(r"<<'?END'?.*?^ *END$", "", block, flags=re.DOTALL | re.MULTILINE)
    )
    for line in joined.splitlines():
        words: list[str] = []
        for word in [*_words(line), ";"]:
            if word in _ENDS:
                yield from [words] if words and words[0] in _PROGRAMS else []
                words = []
            elif words or (word not in _WORDS and not _SETTING.fullmatch(word)):
                words.append(word)


def _words(line: str) -> list[str]:
    reader = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    reader.whitespace_split = True
    try:
        return list(reader)
    except ValueError:  # No line for a shell: a figure, or a sentence with an apostrophe.
        return []


def complaint(words: list[str], *, is_whole: bool = True) -> str:
    """What is wrong with a command, or nothing. One that is not whole may lack what must be there."""
    program, *arguments = words
    if "..." in arguments or "…" in arguments:
        return ""
    if program == "make":
        named = [each for each in arguments if "=" not in each and not each.startswith("-")]
        return "" if set(named) <= _TARGETS | _NOT_OURS else f"the Makefile has no {named}"
    if program == "python":
        return _module(arguments[1:], is_whole=is_whole) if arguments[:1] == ["-m"] else ""
    return _read(concord, "concord", arguments, is_whole=is_whole)


def _module(words: list[str], *, is_whole: bool) -> str:
    name, *arguments = words
    if name in _NOT_OURS:
        return ""
    spec = find_spec(name)
    if spec is None:
        return f"there is no module {name}"
    module = import_module(name if spec.submodule_search_locations is None else f"{name}.__main__")
    found = [getattr(module, each, None) for each in ("main", "command")]
    read = [
        _read(each, name, arguments, is_whole=is_whole) for each in found if isinstance(each, click.Command)
    ]
    return read[0] if read else ""


def _read(command: click.Command, name: str, arguments: list[str], *, is_whole: bool) -> str:
    """Let click read the arguments, and those of the command below."""
    try:
        if isinstance(command, click.Group) and arguments and not arguments[0].startswith("-"):
            _, below, rest = command.resolve_command(click.Context(command), arguments)
            assert below is not None
            return _read(below, arguments[0], rest, is_whole=is_whole)
        command.make_context(name, list(arguments))
    except click.exceptions.Exit:  # --help and --version have been printed.
        return ""
    except click.MissingParameter as error:
        return error.format_message() if is_whole else ""
    except click.UsageError as error:
        is_absent = "does not exist" in error.format_message()  # A file that the reader has.
        return (
            ""
            if is_absent or not (is_whole or "No such" in error.format_message())
            else error.format_message()
        )
    return ""


def shown(source: Source) -> Iterator[str]:
    """What is wrong with the commands of a page."""
    for block in blocks(source.text):
        for words in commands(block):
            if said := complaint(words):
                yield f"{source.path}: {shlex.join(words)}: {said}"
    for text in _INLINE.findall(source.text):
        for words in commands(text):
            if said := complaint(words, is_whole=False):
                yield f"{source.path}: {text}: {said}"


PAGES: Final = [source for source in every_file() if source.path.suffix == ".md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.path))
def test_the_command_line_reads_every_command_of_a_page(
    page: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    if setting := re.search(r"^export CONCORD_BROKER=(\S+)$", page.text, re.MULTILINE):
        monkeypatch.setenv("CONCORD_BROKER", setting[1])
    assert list(shown(page)) == []


def test_pages_show_commands() -> None:
    assert sum(len(list(commands(block))) for page in PAGES for block in blocks(page.text)) > 100


@pytest.mark.parametrize(
    "text",
    [
        "    concord nothing\n",
        "    concord broker --name B1\n",
        "    concord broker --name B1 --listen 127.0.0.1:1 --nothing\n",
        "    echo 1 |\n        concord publish --advertise 'x > 0' -\n",
        "```sh\nif X=1 concord explain --nothing; then exit; fi\n```\n",
        "    make nothing\n",
        "    python -m harness.nothing\n",
        "    python -m harness.walk --nothing\n",
        "Use `concord harness nothing`.\n",
        "Use `concord broker --nothing`.\n",
    ],
)
def test_a_command_that_is_none_is_noticed(text: str) -> None:
    assert len(list(shown(example("docs/x.md", text)))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Use `concord broker`.\n",
        "    $ echo '{}' |\n          concord explain --broker 127.0.0.1:1\n",
        "    it's a figure\n",
    ],
)
def test_a_command_that_is_sound_passes(text: str) -> None:
    assert list(shown(example("docs/x.md", text))) == []
