import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import structlog
import trio
from click.testing import CliRunner, Result

from broker import connect
from broker.addresses import Address
from broker.commands import broker as command_module
from broker.server.settings import Settings
from tests.sources import ROOT

WAIT_S = 30

MINIMUM = ["--name", "B1", "--listen", "127.0.0.1:0"]


@asynccontextmanager
async def started(
    *options: str, program: Sequence[str] = (sys.executable,)
) -> AsyncIterator[tuple[trio.Process, str]]:
    """The real command in a process of its own, and the address it printed."""
    environment = {**os.environ, "CONCORD_TOKEN": ""}
    async with trio.open_nursery() as nursery:
        run = partial(
            trio.run_process,
            [*program, "-m", "broker", "broker", *options],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            check=False,
        )
        process: trio.Process = await nursery.start(run)
        with trio.fail_after(WAIT_S):
            line = await read_line(process)
            yield process, line.removeprefix("listening on ")
            await process.wait()


async def read_line(process: trio.Process) -> str:
    assert process.stdout is not None
    line = b""
    while not line.endswith(b"\n"):
        received = await process.stdout.receive_some(1)
        assert received, "the broker ended before it was ready"
        line += received
    return line.decode().rstrip("\n")


async def rest_of(stream: trio.abc.ReceiveStream | None) -> str:
    assert stream is not None
    return b"".join([received async for received in stream]).decode()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_a_broker_says_where_it_listens_serves_and_ends_cleanly(number: signal.Signals) -> None:
    async with started("--name", "B1", "--listen", "127.0.0.1:0", "--log-format", "json") as (
        process,
        address,
    ):
        assert re.fullmatch(r"127\.0\.0\.1:[1-9]\d*", address)
        async with (
            connect(address, name="alice") as alice,
            alice.subscribe("x > 0") as deliveries,
            alice.advertise("x > 0") as publisher,
        ):
            await publisher.publish({"x": 1})
            async for delivery in deliveries:
                assert delivery.attributes == {"x": 1}
                break
        process.send_signal(number)
        assert await process.wait() == 0
        assert await rest_of(process.stdout) == ""
        logged = [json.loads(line) for line in (await rest_of(process.stderr)).splitlines()]
        assert logged[0]["event"] == "client came"
        assert {line["broker"] for line in logged} == {"B1"}


async def test_under_nohup_a_broker_outlives_its_terminal() -> None:
    async with started(*MINIMUM, program=("nohup", sys.executable)) as (process, address):
        process.send_signal(signal.SIGHUP)
        async with connect(address, name="alice"):
            pass
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0


async def test_a_chain_of_real_brokers_ends_on_a_signal() -> None:
    async with started(*MINIMUM) as (top, address):
        async with started("--name", "B2", "--listen", "127.0.0.1:0", "--uplink", address) as (leaf, below):
            async with connect(below, name="bob"):
                pass
            leaf.send_signal(signal.SIGTERM)
            assert await leaf.wait() == 0
        top.send_signal(signal.SIGTERM)
        assert await top.wait() == 0


async def test_a_broker_with_the_published_ordering_warns() -> None:
    async with started(*MINIMUM, "--ordering", "published", "--log-format", "json") as (process, _):
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0
        (warning,) = [json.loads(line) for line in (await rest_of(process.stderr)).splitlines()]
        assert warning["level"] == "warning"
        assert "never for production" in warning["event"]


def ended(*options: str) -> tuple[int, str]:
    """How the command ends that cannot start, and what it says."""
    process = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "broker", "broker", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT_S,
    )
    assert process.stdout == ""
    return process.returncode, process.stderr


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--name", "B1"], "Missing option '--listen'"),
        (["--name", "B1", "--listen", "0.0.0.0:0"], "--listen 0.0.0.0:0: others could read"),
        ([*MINIMUM, "--ordering", "none"], "--ordering none: no ordering plugin is called 'none'"),
        (
            [*MINIMUM, "--ordering-option", "form"],
            "Invalid value for '--ordering-option': expected KEY=VALUE",
        ),
        ([*MINIMUM, "--ordering-option", "a=b"], "--ordering pairwise: unknown option 'a'; there are none"),
        ([*MINIMUM, "--auth", "nowhere.toml"], "--auth nowhere.toml: No such file or directory"),
        ([*MINIMUM, "--link-timeout", "0"], "Invalid value for '--link-timeout'"),
        ([*MINIMUM, "--token-file", "nowhere"], "--token-file nowhere: No such file or directory"),
    ],
)
def test_a_broker_that_cannot_start_says_why_in_one_line(options: list[str], complaint: str) -> None:
    status, said = ended(*options)
    assert status == 2
    assert said.startswith(f"concord: {complaint}")
    assert said.count("\n") == 1


async def test_a_broker_that_its_uplink_refuses_ends_with_status_2() -> None:
    async with started(*MINIMUM) as (top, address):
        options = ("--name", "B1", "--listen", "127.0.0.1:0", "--uplink", address, "--log-level", "error")
        refused = await trio.run_process(
            [sys.executable, "-m", "broker", "broker", *options],
            capture_stdout=True,
            capture_stderr=True,
            check=False,
        )
        assert (refused.returncode, refused.stdout) == (2, b"")
        said = refused.stderr.decode()
        assert said.startswith(
            f"concord: --uplink {address} refused this broker: both brokers are called 'B1'"
        )
        assert said.count("\n") == 1
        top.send_signal(signal.SIGTERM)
        assert await top.wait() == 0


def run_with(*options: str) -> tuple[Result, list[Settings]]:
    """Run the command up to where it would serve; return what it would serve with."""
    seen: list[Settings] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command_module, "_run", lambda settings, **_: seen.append(settings))
        patch.setattr(command_module, "_calm_collector", lambda: None)
        result = CliRunner().invoke(command_module.command, list(options))
    return result, seen


def test_options_may_stand_in_a_file_and_the_command_line_wins(tmp_path: Path) -> None:
    config = tmp_path / "broker.toml"
    config.write_text(
        """
        name = "B1"
        listen = "127.0.0.1:7411"
        uplink = ["127.0.0.1:1", "127.0.0.1:2"]
        link-timeout = 3
        ordering = "sequencer"
        ordering-option = ["sequencer=B1", "queue=5"]
        insecure = true
        """,
        encoding="utf-8",
    )
    result, seen = run_with("--config", str(config), "--name", "B9", "--link-timeout", "4.5")
    assert result.exit_code == 0, result.output
    assert seen == [
        Settings(
            name="B9",
            listen=Address("127.0.0.1", 7411),
            uplinks=(Address("127.0.0.1", 1), Address("127.0.0.1", 2)),
            link_timeout_s=4.5,
            ordering="sequencer",
            ordering_options={"sequencer": "B1", "queue": "5"},
            is_insecure=True,
        )
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("nme = 'B1'", "unknown key 'nme'; there are advertise-address, auth, insecure"),
        ("config = 'other.toml'", "unknown key 'config'"),
        ("insecure = 'yes'", "insecure: expected true or false"),
        ("name = true", "name: expected text or a number"),
        ("listen = ['127.0.0.1:1']", "listen: expected text or a number"),
        ("uplink = 'nowhere'", "'nowhere' is not HOST:PORT"),
        ("name =", "Invalid value"),
        ("name = " + "9" * 5000, "Invalid value"),
        ("name = " + "[" * 20_000, "nested too deeply"),
        ("name = 0x" + "f" * 5000, "name: expected a number between"),
        ("replay-count = inf", "replay-count: expected a number between"),
        ("link-timeout = nan", "link-timeout: expected a number between"),
        ("replay-cache = -5", "expected a number from 0 on, got -5"),
        (f"replay-cache = '{'9' * 400}'", "larger than any size"),
        (f"replay-age = '{'9' * 400}d'", "longer than any time"),
        (f"limit = 'requests={'9' * 400}'", "larger than any size"),
        ('journal = "a\\u0000b"', "journal: a zero byte"),
        ("journal = 3", "journal: expected a path, as text"),
    ],
    ids=lambda each: each[:20],
)
def test_a_file_that_is_wrong_is_refused_by_key(text: str, complaint: str, tmp_path: Path) -> None:
    config = tmp_path / "broker.toml"
    config.write_text(text, encoding="utf-8")
    result, seen = run_with("--config", str(config), *MINIMUM)
    assert result.exit_code == 2
    assert complaint in " ".join(result.output.split())
    assert seen == []


def test_a_token_comes_from_a_file_or_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONCORD_TOKEN", "from the environment")
    assert run_with(*MINIMUM)[1][0].token == "from the environment"
    file = tmp_path / "token"
    file.write_text("from the file\n", encoding="utf-8")
    assert run_with(*MINIMUM, "--token-file", str(file))[1][0].token == "from the file"


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"secret\xff")
    for option, complaint in (
        ("--token-file", "not UTF-8 at byte 6"),
        ("--config", "can't decode byte 0xff"),
    ):
        result, seen = run_with(*MINIMUM, option, str(file))
        assert result.exit_code == 2
        assert complaint in " ".join(result.output.split())
        assert seen == []


def test_a_defect_is_logged_whole_and_ends_with_status_1(monkeypatch: pytest.MonkeyPatch) -> None:
    async def serve(*_: object) -> None:
        raise AssertionError("a law of the core is broken")

    monkeypatch.setattr(command_module, "serve", serve)
    with structlog.testing.capture_logs() as logged, pytest.raises(SystemExit) as left:
        command_module._run(Settings(name="B1", listen=Address("127.0.0.1", 0)), is_worker=False)
    assert left.value.code == 1
    assert [(each["log_level"], str(each["exc_info"])) for each in logged] == [
        ("critical", "a law of the core is broken")
    ]
