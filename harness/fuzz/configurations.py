"""Throws TOML at `concord broker`: `python -m harness.fuzz.configurations --seconds 60 --seed 1`.

A case is a file of options (`--config`), a file of users (`--auth`), or a file with a token
(`--token-file`). Each is taken, or refused by one line that people can read.
"""

import tempfile
from math import isfinite
from pathlib import Path
from random import Random
from typing import Final
from unittest.mock import patch

from attrs import frozen

from broker.commands import broker as product
from broker.commands import concord
from broker.node.access import AuthError
from broker.server.settings import Settings, Tls
from broker.server.users import load_access
from harness.fuzz.campaigns import Campaign, Crash, FuzzTally, check_message, command_for, line_of
from harness.fuzz.mutations import spoilt

CONFIG: Final = "--config"
AUTH: Final = "--auth"
TOKEN: Final = "--token-file"  # noqa: S105 - the name of an option

_USERS: Final = (
    b'[users.ann]\ntoken_sha256 = "' + b"0a" * 32 + b'"\nadvertise = "x == 1"\nsubscribe = "True"\n',
    b'[users.ann]\ncertificate = "ann"\nroles = ["client", "broker"]\n[users."b c"]\ncertificate = "b"\n',
    b"users = {ann = {certificate = \"ann\", subscribe = \"kind in ('a', 'b') and not y < 2\"}}\n",
    b"[users]\n[users.ann]\nroles = []\n\n[other]\n",
    b"",
)
_KEYS: Final = tuple(each.opts[0].removeprefix("--") for each in product.command.params)
_VALUES: Final = (
    *('"127.0.0.1:7411"', '["127.0.0.1:1", "127.0.0.1:2"]', '"B1"', "3", "0", "-1", "4.5", "nan"),
    *("inf", "-inf", "1e308", "true", "false", '""', '"\\u0000"', '"a\\u0000b"', '"\\n"'),
    *('"\\u001b[2J"', '"x=1"', '"=1"', '["k=1", "k=2"]', "[[]]", "[{}]", "{}", "{a = 1}", "[1, true]"),
    *("[nan]", "1979-05-27", "07:32:00", "[]", '"64MiB"', '"1h30m"', '"9e9"', '"requests=0"'),
    *('"requests=1e9"', '"kept-bytes=64MiB"', '"debug"', '"json"', '"covering+simple"', '"simple"'),
    *('"sequencer"', '"queue=5"', "0x" + "f" * 5000, "0x" + "f" * 400, "9" * 4000),
    *('"' + "9" * 400 + 'd"', '"' + "9" * 400 + '"', '"' + "x" * 5000 + '"'),
    *('"requests=9' + "9" * 400 + '"', '"\\U0010ffff"', '"\\u2028"', '"127.0.0.1:99999"', '"[::1]:0"'),
    *('"[x]:1"', '"localhost:\\u0661"', "'''\na'''"),
)
_PLAIN: Final = b'name = "B1"\nlisten = "127.0.0.1:0"\n'
_CONFIGS: Final = (
    _PLAIN,
    _PLAIN + b'uplink = ["127.0.0.1:1"]\nlink-timeout = 3\nordering-option = ["queue=5"]\ninsecure = true\n',
    _PLAIN
    + b'replay-cache = "64MiB"\nreplay-count = 10\nreplay-age = "1h"\nlease = 20\nlimit = "requests=9"\n',
    _PLAIN + b'log-level = "debug"\nlog-format = "json"\nrouting = "covering+simple"\ntls-broker = ["B2"]\n',
)
_TOKENS: Final = (b"secret\n", b"", b"\xc3\xa9\n", b"a\0b")


@frozen
class ConfigurationCase:
    """Which file it is, and what is in it."""

    option: str
    content: bytes


def _make(random: Random) -> ConfigurationCase:
    match random.randrange(8):
        case 0:
            return ConfigurationCase(TOKEN, spoilt(random, _TOKENS))
        case 1 | 2:
            return ConfigurationCase(AUTH, spoilt(random, _USERS))
        case 3 | 4:
            return ConfigurationCase(CONFIG, spoilt(random, _CONFIGS))
        case _:
            return ConfigurationCase(CONFIG, _drawn(random))


def _drawn(random: Random) -> bytes:
    """Return well-formed TOML: options with values that may fit, each at most once."""
    drawn = {key: random.choice(_VALUES) for key in random.sample(_KEYS, random.choice((1, 1, 2, 3)))}
    plain = {"name": '"B1"', "listen": '"127.0.0.1:0"'} if random.random() < 0.9 else {}  # noqa: PLR2004 - mostly
    return "".join(f"{key} = {value}\n" for key, value in {**plain, **drawn}.items()).encode()


def _judge(case: ConfigurationCase, _: FuzzTally) -> str:
    with tempfile.TemporaryDirectory(prefix="concord-fuzz-") as directory:
        path = Path(directory) / "file"
        path.write_bytes(case.content)
        return _users(path) if case.option == AUTH else _broker(case.option, path)


def _users(path: Path) -> str:
    try:
        load_access(path, Tls())
    except AuthError as error:
        check_message(str(error))
        return "refused"
    return "taken"


def _broker(option: str, path: Path) -> str:
    """Run the command up to where it would start a broker."""
    arguments = [option, str(path)]
    if option == TOKEN:
        arguments += ["--name", "B1", "--listen", "127.0.0.1:0"]
    started: list[Settings] = []
    with (
        patch.object(product, "_run", lambda settings, **_: started.append(settings)),
        patch.object(product, "supervise", lambda settings, _: started.append(settings)),
        patch.object(product, "_calm_collector"),
        patch.object(product, "configure"),
    ):
        try:
            concord.main(["broker", *arguments], prog_name="concord", standalone_mode=False)
        except Exception as error:  # noqa: BLE001 - what else it is, is judged
            line_of(error)
            return "refused"
    for settings in started:
        if terms := settings.terms:
            _ = terms.missed_renewals_max
        if not isfinite(settings.link_timeout_s + settings.replay_age_s):
            raise Crash(f"a time that never ends: {settings}")
    return "taken"


CAMPAIGN: Final = Campaign("configurations", _make, _judge)
main: Final = command_for(CAMPAIGN, "Throw TOML at `concord broker`.")

if __name__ == "__main__":
    main()
