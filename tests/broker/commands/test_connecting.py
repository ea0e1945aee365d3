import functools

import click
import pytest
from click.testing import CliRunner

from broker.client import StateChange
from broker.commands import connecting
from broker.commands.connecting import Connecting, connecting_options

BROKER = ("--broker", "127.0.0.1:7411")


def run(*arguments: str, broker: tuple[str, ...] = BROKER) -> tuple[list[Connecting], str]:
    """What a command gets, and what is said about its options."""
    found: list[Connecting] = []

    @click.command(name="listen")
    @connecting_options
    def command(connecting: Connecting) -> None:
        found.append(connecting)

    result = CliRunner().invoke(command, [*broker, *arguments])
    return found, result.output


def test_without_options_the_command_gives_its_name_and_connects_without_tls() -> None:
    (found,), _ = run()
    assert (str(*found.brokers), found.name, found.token, found.tls) == (
        "127.0.0.1:7411",
        "listen",
        None,
        None,
    )


def test_the_broker_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONCORD_BROKER", "127.0.0.1:7412")
    brokers = [str(*found.brokers) for found in (*run(broker=())[0], *run()[0])]
    assert brokers == ["127.0.0.1:7412", "127.0.0.1:7411"]


def test_several_brokers_may_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    (found,), _ = run("--broker", "b2:1,b3:1", "--learn")
    assert found.learn
    assert [str(each) for each in found.brokers] == ["127.0.0.1:7411", "b2:1", "b3:1"]
    monkeypatch.setenv("CONCORD_BROKER", "b4:1,b5:1")
    (found,), _ = run(broker=())
    assert [str(each) for each in found.brokers] == ["b4:1", "b5:1"]


def test_a_token_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONCORD_TOKEN", "secret")
    (found,), _ = run("--name", "alice", "--tls")
    assert (found.name, found.token) == ("alice", "secret")
    assert found.tls is not None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--tls-cert", __file__], "belong together"),
        (["--tls-ca", __file__], "--tls-ca"),
        (["--tls-cert", __file__, "--tls-key", __file__], "--tls-cert"),
        (["--tls-ca", "nowhere.pem"], "does not exist"),
    ],
)
def test_tls_options_that_cannot_be_used_are_named(arguments: list[str], words: str) -> None:
    found, said = run(*arguments)
    assert found == []
    assert words in said


def test_only_a_connection_that_was_lost_is_spoken_of(capsys: pytest.CaptureFixture[str]) -> None:
    narrate = connecting.narrator()
    change = functools.partial(StateChange, address="B:1", reason="broken\npipe")
    for state in ("connected", "reconnecting", "connected"):
        narrate(change(state))
    assert capsys.readouterr().err.splitlines() == [
        "concord: connection to B:1 lost (broken pipe); reconnecting",
        "concord: connected to B:1 again",
    ]
