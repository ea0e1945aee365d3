import subprocess
import sys
from importlib.metadata import EntryPoint
from typing import Final

import click
import pytest
import trio
from click.shell_completion import ShellComplete

from broker import commands
from broker.commands import lazy
from tests.sources import ROOT


def raising(error: BaseException) -> click.Command:
    """A command that only fails."""

    def fail() -> None:
        raise error

    return click.Command("fail", callback=fail)


def status_of(monkeypatch: pytest.MonkeyPatch, command: click.Command) -> object:
    """The exit status of `concord` when its only command is the given one."""
    monkeypatch.setattr(commands.concord, "get_command", lambda _context, _name: command)
    with pytest.raises(SystemExit) as left:
        commands.main(["fail"])
    return left.value.code


NAMES: Final = ["advertisements", "broker", "demo", "detect", "explain", "harness", "publish", "subscribe"]


@pytest.mark.parametrize("name", NAMES)
def test_every_command_is_there_and_shows_an_example(name: str) -> None:
    with click.Context(commands.concord) as context:
        command = commands.concord.get_command(context, name)
        assert set(NAMES) <= set(commands.concord.list_commands(context))
    assert command is not None
    with click.Context(command) as context:
        assert f"concord {name}" in command.get_help(context)


def test_a_command_that_a_distribution_offers_is_found_and_replaces_none_of_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = f"{__name__}:theirs"
    monkeypatch.setattr(sys.modules[__name__], "theirs", click.Command("theirs"), raising=False)
    points = {name: EntryPoint(name, own, commands.GROUP) for name in ("weather", "broker")}
    monkeypatch.setattr(lazy, "offered", lambda group: points if group == commands.GROUP else {})
    with click.Context(commands.concord) as context:
        found = {name: commands.concord.get_command(context, name) for name in points}
        assert commands.concord.list_commands(context) == [
            "advertisements",
            "broker",
            "detect",
            "drain",
            "explain",
            "history",
            "insert",
            "move",
            "publish",
            "subscribe",
            "weather",
        ]
        assert commands.concord.get_command(context, "demo") is None
    assert found["weather"] is not None
    assert found["weather"].name == "theirs"
    assert found["broker"] is not None
    assert found["broker"].name == "broker"


@pytest.mark.parametrize(
    ("wrong", "meant"), [(["subscrib"], "subscribe"), (["harness", "explor"], "explore"), (["xyz"], "")]
)
def test_a_misspelt_command_gets_a_suggestion(wrong: list[str], meant: str) -> None:
    with pytest.raises(click.UsageError) as caught:
        commands.concord.main(wrong, standalone_mode=False)
    assert caught.value.message.endswith(f"Did you mean {meant!r}?" if meant else "'xyz'.")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("concord sub", {"subscribe"}),
        ("concord subscribe --dur", {"--durable"}),
        ("concord broker --ordering f", {"fifo"}),
        ("concord harness explore --routing merging+c", {"merging+covering"}),
    ],
)
def test_shells_can_complete_words(words: str, found: set[str]) -> None:
    *before, last = words.split()[1:]
    completion = ShellComplete(commands.concord, {}, "concord", "_CONCORD_COMPLETE")
    assert {each.value for each in completion.get_completions(before, last)} == found


def test_a_wrong_command_is_one_line_on_standard_error_and_status_2() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "broker", "nope"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "concord: No such command 'nope'.\n"


@pytest.mark.parametrize(
    "error", [OSError(98, "Address already in use"), click.UsageError("first\n  second")]
)
def test_what_a_user_can_act_on_is_one_line(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(monkeypatch, raising(ExceptionGroup("nursery", [error]))) == commands.EXIT_ERROR
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("concord: ")
    assert printed.err.count("\n") == 1


def test_a_long_line_keeps_its_beginning_and_its_end_and_moves_no_cursor(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    error = click.UsageError(f"first {'x' * 5000}\x1b[2J last")
    assert status_of(monkeypatch, raising(error)) == commands.EXIT_ERROR
    printed = capsys.readouterr().err
    assert printed.startswith("concord: first xxx")
    assert printed.endswith("xxx\\x1b[2J last\n")
    assert len(printed) < 1000


def test_a_defect_is_seen_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        commands.concord, "get_command", lambda _context, _name: raising(LookupError("defect"))
    )
    with pytest.raises(LookupError):
        commands.main(["fail"])


def test_an_interrupted_command_ends_as_shells_expect(monkeypatch: pytest.MonkeyPatch) -> None:
    assert status_of(monkeypatch, raising(KeyboardInterrupt())) == commands.EXIT_INTERRUPTED


def test_a_command_may_choose_its_status(monkeypatch: pytest.MonkeyPatch) -> None:
    assert status_of(monkeypatch, raising(click.exceptions.Exit(1))) == 1


def test_a_cancelled_nursery_with_an_interrupt_is_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> None:
        async def interrupt() -> None:
            async with trio.open_nursery():
                raise KeyboardInterrupt

        trio.run(interrupt)

    assert status_of(monkeypatch, click.Command("fail", callback=run)) == commands.EXIT_INTERRUPTED
