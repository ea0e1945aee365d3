"""TLS, certificates and tokens, between real peers."""

import hashlib
import ssl
from pathlib import Path

import pytest
import trio
import trustme

from broker import ConnectionFailedError, RefusedError, connect
from broker.addresses import Address
from broker.errors import BrokerFaultError, ConcordError
from broker.messages import Fault
from broker.server.server import Server
from broker.server.settings import SettingsError, Tls
from broker.wire import Peer
from tests.broker.server.overlay import broker_hello, client_hello, raw_peer, running, settings, until
from tests.broker.server.proxy import proxied

AUTHORITY = trustme.CA()


def hashed(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def files_of(folder: Path, name: str, authority: trustme.CA = AUTHORITY) -> Tls:
    """The files of a peer with this common name, on this machine."""
    issued = authority.issue_cert("127.0.0.1", "localhost", common_name=name)
    issued.cert_chain_pems[0].write_to_path(folder / f"{name}.pem")
    issued.private_key_pem.write_to_path(folder / f"{name}.key")
    authority.cert_pem.write_to_path(folder / "ca.pem")
    brokers = ("B1", "B2", "B3")
    return Tls(folder / f"{name}.pem", folder / f"{name}.key", folder / "ca.pem", brokers)


def client_context(tls: Tls | None) -> ssl.SSLContext:
    context = ssl.create_default_context()
    AUTHORITY.configure_trust(context)
    if tls is not None:
        assert tls.certificate is not None
        context.load_cert_chain(tls.certificate, tls.key)
    return context


def users(folder: Path, text: str) -> Path:
    path = folder / "auth.toml"
    path.write_text(text, encoding="utf-8")
    return path


async def test_clients_and_links_speak_tls(tmp_path: Path) -> None:
    one, two = files_of(tmp_path, "B1"), files_of(tmp_path, "B2")
    context = client_context(files_of(tmp_path, "alice"))
    async with (
        running(settings("B1", tls=one)) as top,
        running(settings("B2", top.endpoint, tls=two)) as leaf,
    ):
        await until(lambda: leaf.is_attached)
        async with (
            connect(top.address, name="alice", tls=context) as alice,
            connect(leaf.address, name="bob", tls=context) as bob,
            bob.subscribe("x > 0") as deliveries,
            alice.advertise("x > 0") as publisher,
        ):
            for number in range(1, 1001):
                await publisher.publish({"x": number}, payload=bytes(1000))
            expected = 1
            async for delivery in deliveries:
                assert delivery.attributes == {"x": expected}
                expected += 1
                if expected > 1000:
                    break


async def test_connections_in_tls_that_break_are_resumed(tmp_path: Path) -> None:
    one, two = files_of(tmp_path, "B1"), files_of(tmp_path, "B2")
    context = client_context(files_of(tmp_path, "alice"))
    async with (
        running(settings("B1", tls=one)) as top,
        proxied(top.endpoint) as between,
        running(settings("B2", between.endpoint, tls=two)) as leaf,
        proxied(leaf.endpoint) as to_leaf,
    ):
        await until(lambda: leaf.is_attached)
        async with (
            connect(top.address, name="alice", tls=context) as alice,
            connect(to_leaf.address, name="bob", tls=context, retry=True) as bob,
            bob.subscribe("x > 0") as deliveries,
            alice.advertise("x > 0") as publisher,
        ):
            for number in range(1, 401):
                await publisher.publish({"x": number}, payload=bytes(1000), confirm=number % 100 == 0)
                if number % 100 == 0:
                    assert [(await anext(deliveries)).attributes["x"] for _ in range(100)] == list(
                        range(number - 99, number + 1)
                    )
                    between.cut()
                    to_leaf.cut()
        assert between.count > 1
        assert to_leaf.count > 1
        assert top.server.exchange.totals.lost_links == leaf.server.exchange.totals.lost_links == 0


async def test_a_certificate_that_is_no_brokers_is_a_clients(tmp_path: Path) -> None:
    tls = files_of(tmp_path, "B1")
    eve = files_of(tmp_path, "eve")
    async with running(settings("B1", tls=tls)) as one:
        with pytest.RaisesGroup(BrokerFaultError, flatten_subgroups=True):
            async with running(settings("B2", one.endpoint, tls=eve)):
                await trio.sleep_forever()
        assert one.links() == set()


async def test_without_a_certificate_of_the_authority_no_peer_is_accepted(tmp_path: Path) -> None:
    tls = files_of(tmp_path, "B1")
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    stranger = files_of(foreign, "eve", trustme.CA())
    async with running(settings("B1", tls=tls)) as one:
        for context in (client_context(None), client_context(stranger)):
            with pytest.raises((ConcordError, ExceptionGroup)):
                async with connect(one.address, name="eve", tls=context):
                    pass
        await until(lambda: one.server.exchange.totals.refused == 2)
        assert not one.server.exchange.subscribers


async def test_a_plain_peer_of_a_tls_broker_is_dropped_and_others_go_on(tmp_path: Path) -> None:
    tls = files_of(tmp_path, "B1")
    async with running(settings("B1", tls=tls)) as one:
        async with raw_peer(one.server.port) as peer:
            await peer.say(client_hello())
            await until(lambda: one.server.exchange.totals.refused == 1)
        async with connect(one.address, name="alice", tls=client_context(tls)):
            pass


async def test_an_uplink_without_a_certificate_we_trust_is_not_attached_to(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    async with (
        running(settings("B1", tls=files_of(foreign, "B1", trustme.CA()))) as top,
        running(settings("B2", top.endpoint, tls=files_of(tmp_path, "B2"))) as leaf,
    ):
        await until(lambda: top.server.exchange.totals.refused >= 1)
        assert not leaf.is_attached


async def test_a_token_lets_its_user_do_what_its_rules_say(tmp_path: Path) -> None:
    auth = users(
        tmp_path,
        f"""
        [users.alice]
        token_sha256 = "{hashed("alice's")}"
        advertise = "kind == 'trade'"
        [users.bob]
        token_sha256 = "{hashed("bob's")}"
        subscribe = "kind == 'trade' and price < 100"
        """,
    )
    async with (
        running(settings("B1", auth=auth)) as one,
        connect(one.address, name="alice", token="alice's") as alice,
        connect(one.address, name="bob", token="bob's") as bob,
        alice.advertise("kind == 'trade' and price > 0"),
        bob.subscribe("kind == 'trade' and price < 50"),
    ):
        with pytest.raises(RefusedError, match="may advertise only what this covers: kind == 'trade'"):
            async with alice.advertise("price > 0"):
                pass
        with pytest.raises(RefusedError, match="user 'alice' may not subscribe at all") as caught:
            async with alice.subscribe("kind == 'trade'"):
                pass
        assert caught.value.code == "not-allowed"
        with pytest.raises(RefusedError, match="user 'alice' may not move brokers") as caught:
            await alice.move("B1", "B2")
        assert caught.value.code == "not-allowed"


async def test_a_wrong_token_is_refused(tmp_path: Path) -> None:
    auth = users(tmp_path, f"[users.alice]\ntoken_sha256 = '{hashed('secret')}'")
    async with running(settings("B1", auth=auth)) as one, raw_peer(one.server.port) as peer:
        await peer.say(client_hello(token="guess"))
        fault = await peer.receive_a(Fault)
        assert (fault.code, fault.text) == (
            "auth",
            "no user with this token or certificate may connect as a client",
        )


async def test_a_broker_shows_its_token_and_needs_the_role(tmp_path: Path) -> None:
    auth = users(
        tmp_path,
        f"""
        [users.overlay]
        token_sha256 = "{hashed("brokers'")}"
        roles = ["broker"]
        [users.alice]
        token_sha256 = "{hashed("alice's")}"
        """,
    )
    async with running(settings("B1", auth=auth)) as top:
        async with running(settings("B2", top.endpoint, token="brokers'")) as leaf:
            await until(lambda: leaf.is_attached)
        async with raw_peer(top.server.port, Peer.UPLINK) as peer:
            await peer.say(broker_hello("B3", token="alice's"))
            assert (await peer.receive_a(Fault)).code == "auth"
        with pytest.RaisesGroup(BrokerFaultError, flatten_subgroups=True):
            async with running(settings("B4", top.endpoint, token="alice's")):
                await trio.sleep_forever()


async def test_a_certificate_makes_a_user(tmp_path: Path) -> None:
    auth = users(tmp_path, "[users.alice]\ncertificate = 'alice'\nadvertise = 'True'")
    tls = files_of(tmp_path, "B1")
    async with running(settings("B1", tls=tls, auth=auth)) as one:
        context = client_context(files_of(tmp_path, "alice"))
        async with (
            connect(one.address, name="anything", tls=context) as alice,
            alice.advertise("x == 1"),
        ):
            pass
        for context in (client_context(None), client_context(files_of(tmp_path, "mallory"))):
            with pytest.raises((BrokerFaultError, ConnectionFailedError), match="no user with this token"):
                async with connect(one.address, name="alice", tls=context):
                    pass


@pytest.mark.parametrize(
    ("tls", "option"),
    [
        (Tls(Path("nowhere.pem"), Path("nowhere.key")), "--tls-cert nowhere.pem"),
        (Tls(authority=Path("nowhere.pem")), "--tls-ca nowhere.pem"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tls: Tls, option: str) -> None:
    with pytest.raises(SettingsError, match=option):
        Server.prepare(settings("B1", Address("127.0.0.1", 1), tls=tls))
