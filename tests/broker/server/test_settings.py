from pathlib import Path
from typing import Any, cast

import attrs
import pytest

from broker.addresses import Address
from broker.node.greeting import difference
from broker.server.settings import Settings, SettingsError, Tls
from ordering.pairwise import Pairwise

LOCAL = Address("127.0.0.1", 7411)
EVERYWHERE = Address("0.0.0.0", 7411)  # noqa: S104 - what must not happen by accident
KEYS = Tls(Path("cert.pem"), Path("key.pem"))


@pytest.mark.parametrize(
    ("host", "is_loopback"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),  # noqa: S104 - likewise
        ("::", False),
        ("10.0.0.1", False),
        ("broker.example", False),
    ],
)
def test_only_the_loopback_interface_counts_as_this_machine(host: str, is_loopback: bool) -> None:  # noqa: FBT001 - a parameter
    assert Address(host, 1).is_loopback is is_loopback


def test_listening_beyond_this_machine_needs_tls_or_a_word() -> None:
    with pytest.raises(SettingsError, match="--tls-cert and --tls-key, or say --insecure"):
        Settings(name="B", listen=EVERYWHERE)
    Settings(name="B", listen=LOCAL)
    with pytest.raises(SettingsError, match="TLS alone keeps nobody out; give --auth FILE, or --tls-ca"):
        Settings(name="B", listen=EVERYWHERE, tls=KEYS)
    Settings(name="B", listen=EVERYWHERE, tls=KEYS, auth=Path("users.toml"))
    Settings(name="B", listen=EVERYWHERE, tls=attrs.evolve(KEYS, authority=Path("ca.pem")))
    Settings(name="B", listen=EVERYWHERE, is_insecure=True)


def test_metrics_beyond_this_machine_need_a_word() -> None:
    with pytest.raises(SettingsError, match="--metrics"):
        Settings(name="B", listen=LOCAL, metrics=EVERYWHERE)
    Settings(name="B", listen=LOCAL, metrics=EVERYWHERE, is_insecure=True)


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 201])
def test_a_name_is_short_printable_text(name: str) -> None:
    with pytest.raises(SettingsError, match="--name"):
        Settings(name=name, listen=LOCAL)


def test_a_link_timeout_is_more_than_nothing() -> None:
    with pytest.raises(SettingsError, match="--link-timeout"):
        Settings(name="B", listen=LOCAL, link_timeout_s=0)


@pytest.mark.parametrize("seconds", [float("nan"), float("inf")])
@pytest.mark.parametrize("option", ["link_timeout_s", "lease_s", "lease_refresh_s"])
def test_a_time_is_a_number_that_ends(option: str, seconds: float) -> None:
    plain = Settings(name="B", listen=LOCAL, lease_s=100)
    with pytest.raises(SettingsError, match=f"--{option.removesuffix('_s').replace('_', '-')} "):
        attrs.evolve(plain, **cast("Any", {option: seconds}))


def test_a_certificate_comes_with_its_key() -> None:
    with pytest.raises(SettingsError, match="belong together"):
        Settings(name="B", listen=LOCAL, tls=Tls(certificate=Path("cert.pem")))


def test_an_address_is_printed_as_it_is_read() -> None:
    assert str(LOCAL) == "127.0.0.1:7411"
    assert str(Address("::1", 7411)) == "[::1]:7411"


def test_a_token_is_not_printed() -> None:
    assert "secret" not in repr(Settings(name="B", listen=LOCAL, token="secret"))


def test_other_brokers_learn_its_listening_or_its_advertised_address() -> None:
    there = Address("b1.example", 443)
    assert Settings(name="B", listen=Address("127.0.0.1", 0)).reached_at(7) == Address("127.0.0.1", 7)
    assert Settings(name="B", listen=EVERYWHERE, is_insecure=True).reached_at(7) is None
    wide = Settings(name="B", listen=EVERYWHERE, is_insecure=True, advertise_address=there)
    assert wide.reached_at(7) == there
    with pytest.raises(SettingsError, match="nobody can dial that"):
        Settings(name="B", listen=LOCAL, advertise_address=EVERYWHERE)


def test_neighbours_share_what_their_plugins_speak(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = Settings(name="B1", listen=LOCAL).manner
    monkeypatch.setattr(Pairwise, "NOTES_VERSION", 2, raising=False)
    theirs = Settings(name="B2", listen=LOCAL).manner
    assert difference("B1", ours, "B2", theirs) == (
        "neighbours must share these settings: B1 has 'notes version 1' and B2 has 'notes version 2': set one"
    )
