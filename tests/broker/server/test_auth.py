import hashlib
import tomllib
from pathlib import Path

import pytest

from broker.filters import parse
from broker.node.access import EVERYBODY, Access, AuthError, read_access
from broker.server.settings import Tls
from broker.server.users import load_access


def hashed(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def access_of(text: str) -> Access:
    return read_access(tomllib.loads(text))


def alice(extra: str = "") -> Access:
    return access_of(f"[users.alice]\ntoken_sha256 = '{hashed('secret')}'\n{extra}")


def test_without_a_file_every_peer_may_do_everything() -> None:
    user = load_access(None, Tls()).identify("broker", "", ())
    assert user is EVERYBODY
    assert user.objection("advertise", parse("True")) is None
    assert user.objection("subscribe", parse("x == 1 or y > 2")) is None


def test_a_token_makes_a_user() -> None:
    user = alice().identify("client", "secret", ())
    assert user is not None
    assert user.name == "alice"


@pytest.mark.parametrize("token", ["", "Secret", "secret ", hashed("secret")])
def test_another_token_is_no_user(token: str) -> None:
    assert alice().identify("client", token, ()) is None


def test_a_client_may_not_be_a_broker_unless_its_roles_say_so() -> None:
    assert alice().identify("broker", "secret", ()) is None
    assert alice("roles = ['broker']").identify("broker", "secret", ()) is not None
    assert alice("roles = ['broker']").identify("client", "secret", ()) is None


def test_only_an_administrator_may_move_brokers() -> None:
    for extra, may in (("", False), ("administer = false", False), ("administer = true", True)):
        user = alice(extra).identify("client", "secret", ())
        assert user is not None
        assert user.may("administer") is may
    for name, may in (("anybody", False), ("B1", True)):
        access = Access(asks_for_certificates=True, broker_names=frozenset(("B1",)))
        user = access.identify("client", "", (name,))
        assert user is not None
        assert user.may("administer") is may
    assert EVERYBODY.may("administer")


def test_a_certificate_makes_a_user_whatever_the_token() -> None:
    access = access_of("[users.carol]\ncertificate = 'carol.example'")
    assert access.identify("client", "", ["other", "carol.example"]) is not None
    assert access.identify("client", "", ["other"]) is None


def test_a_user_with_a_token_and_a_certificate_has_to_show_both() -> None:
    access = alice("certificate = 'alice.example'")
    assert access.identify("client", "secret", ["alice.example"]) is not None
    assert access.identify("client", "secret", []) is None
    assert access.identify("client", "wrong", ["alice.example"]) is None


def test_what_a_rule_covers_is_allowed_and_nothing_else() -> None:
    user = alice("advertise = \"kind == 'trade'\"").identify("client", "secret", ())
    assert user is not None
    assert user.objection("advertise", parse("kind == 'trade' and price > 0")) is None
    objection = user.objection("advertise", parse("price > 0"))
    assert objection == "user 'alice' may advertise only what this covers: kind == 'trade'"
    assert user.objection("subscribe", parse("kind == 'trade'")) == "user 'alice' may not subscribe at all"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[user.alice]", "unknown key 'user'"),
        ("users = 3", "'users' must be tables"),
        ("users.alice = 3", "users.alice must be a table"),
        ("[users.alice]\ntoken = 'x'", "users.alice has the unknown key 'token'"),
        ("[users.alice]", "users.alice needs token_sha256 or certificate"),
        ("[users.alice]\ntoken_sha256 = 'abc'", "users.alice.token_sha256 must be the 64 hex digits"),
        (f"[users.alice]\ntoken_sha256 = '{' 00' * 21} '", "must be the 64 hex digits"),
        ("[users.alice]\ntoken_sha256 = 3", "users.alice.token_sha256 must be text"),
        ("[users.alice]\ncertificate = 'a'\nadminister = 1", "users.alice.administer must be true or false"),
        ("[users.alice]\ncertificate = 'a'\nroles = ['king']", "users.alice.roles must be a list"),
        ("[users.alice]\ncertificate = 'a'\nroles = 'client'", "users.alice.roles must be a list"),
        ("[users.alice]\ncertificate = 'a'\nadvertise = 'x =='", "users.alice.advertise: "),
    ],
)
def test_a_file_that_is_wrong_is_refused_by_key(text: str, complaint: str) -> None:
    with pytest.raises(AuthError, match=complaint.replace("[", r"\[")):
        access_of(text)


def test_one_token_cannot_be_of_two_users() -> None:
    with pytest.raises(AuthError, match="same token_sha256"):
        access_of("".join(f"[users.{name}]\ntoken_sha256 = '{hashed('x')}'\n" for name in ("a", "b")))


def test_errors_name_the_file(tmp_path: Path) -> None:
    with pytest.raises(AuthError, match=r"--auth .*nowhere\.toml: No such file"):
        load_access(tmp_path / "nowhere.toml", Tls())
    broken = tmp_path / "broken.toml"
    broken.write_text("[users", encoding="utf-8")
    with pytest.raises(AuthError, match=r"--auth .*broken\.toml: "):
        load_access(broken, Tls())
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("[users.alice]", encoding="utf-8")
    with pytest.raises(AuthError, match=r"--auth .*wrong\.toml: users\.alice needs"):
        load_access(wrong, Tls())


@pytest.mark.parametrize(
    "content",
    [b"\xff", b"a = '\xff'", b"a = " + b"9" * 5000, b"a = " + b"[" * 20_000, b"a = " + b"{b=" * 20_000],
)
def test_what_cannot_even_be_read_is_refused_too(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    path.write_bytes(content)
    with pytest.raises(AuthError, match=r"--auth .*broken\.toml: "):
        load_access(path, Tls())


@pytest.mark.parametrize(
    "text",
    [
        f"{'x' * 5000} = 1",
        f"[users.a]\n{'x' * 5000} = 1",
        f"users.{'x' * 5000} = 1",
        'users."a\\nb" = 1',
        "[users.'a/b']",
    ],
)
def test_an_error_is_one_line_whatever_the_names(text: str) -> None:
    with pytest.raises(AuthError) as refused:
        access_of(text)
    assert len(str(refused.value)) < 300
    assert str(refused.value).isprintable()
