"""Who may connect, and what each may advertise and subscribe to.

Laws:

1. Without a file every peer that can connect is known by the certificate that it shows, if the broker asks
   for one: then it is a client, or a broker if its name is one of `broker_names`. If the broker asks for
   none, every peer may do everything; `Settings` allows that on the loopback interface, or with an option for
   it.
2. With a file, a peer proves to be one of its users by a token or by the certificate of its TLS connection.
   A user with both in the file has to show both. A token fits at most one user.
3. What a user may advertise or subscribe to is a filter; the peer's own filter must be covered by it. A rule
   that is absent allows nothing. Who `administer`s may move brokers: with certificates alone, the brokers.
   Who follows `interest` is notified of the filters of others that overlap an own advertisement.
4. Comparing tokens takes the same time whatever they are: every user's hash is compared in full.
"""

import hashlib
import hmac
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, cast

from attrs import evolve, field, frozen

from broker.errors import ConcordError
from broker.filters import Filter, FilterError, parse

ROLES: Final = ("client", "broker")
_KEYS: Final = ("token_sha256", "certificate", "roles", "advertise", "subscribe", "administer", "interest")
_HASH_HEX_DIGITS: Final = 64

USER_BYTES_MAX: Final = 200
"""A publisher's id holds its user's name, its client's and its broker's."""


class AuthError(ConcordError):
    """The file of users cannot be used; the text names the file and the key."""


@frozen
class User:
    """A user who may connect, with the filters of what it may advertise and subscribe; None: nothing."""

    name: str
    token_sha256: bytes | None = field(default=None, repr=False)
    certificate: str | None = None
    roles: tuple[str, ...] = ("client",)
    advertise: Filter | None = None
    subscribe: Filter | None = None
    is_administrator: bool = False
    follows_interest: bool = False

    def may(self, verb: str) -> bool:
        """Whether the user may at all do this, a word such as "advertise", "discover" or "interest"."""
        if verb == "administer":
            return self.is_administrator
        if verb == "interest":
            return self.follows_interest
        if verb == "explain":
            return self.advertise is not None or self.subscribe is not None
        return (self.advertise if verb == "advertise" else self.subscribe) is not None

    def objection(self, verb: str, wanted: Filter) -> str | None:
        """Return why the user may not `verb` ("advertise" or "subscribe") that filter, or None if it may.

        Who may subscribe may "discover" by any filter: it is shown what its rule covers.
        """
        rule = self.advertise if verb == "advertise" else self.subscribe
        if rule is None:
            return f"user {self.name!r} may not {verb} at all"
        if verb == "discover" or rule.covers(wanted):
            return None
        return f"user {self.name!r} may {verb} only what this covers: {rule}"


EVERYBODY: Final = User(
    "", None, None, ROLES, parse("True"), parse("True"), is_administrator=True, follows_interest=True
)
"""The user of every peer of a broker that has no file of users."""


@frozen
class Access:
    """The users of one broker; `users` is None if it was given no file.

    `asks_for_certificates` says that nobody gets here who has not shown one that an authority signed.
    """

    users: tuple[User, ...] | None = None
    asks_for_certificates: bool = False
    broker_names: frozenset[str] = frozenset()

    def identify(self, role: str, token: str, certificates: Sequence[str]) -> User | None:
        """Return the user who shows this token and a certificate with these names and may have the role."""
        if self.users is None:
            return self._certified(role, certificates) if self.asks_for_certificates else EVERYBODY
        return self._known(self.users, role, token, certificates)

    def _certified(self, role: str, certificates: Sequence[str]) -> User | None:
        is_broker = not self.broker_names.isdisjoint(certificates)
        if not certificates or (role == "broker" and not is_broker):
            return None
        return evolve(EVERYBODY, name=certificates[0], is_administrator=is_broker)

    @staticmethod
    def _known(users: Iterable[User], role: str, token: str, certificates: Sequence[str]) -> User | None:
        digest = hashlib.sha256(token.encode()).digest()
        shown = frozenset(certificates)
        found = None
        for user in users:
            has_token = hmac.compare_digest(user.token_sha256 or bytes(len(digest)), digest)
            token_fits = has_token if user.token_sha256 is not None else True
            certificate_fits = user.certificate is None or user.certificate in shown
            if token_fits and certificate_fits and role in user.roles and found is None:
                found = user
        return found


def read_access(content: Mapping[str, object]) -> Access:
    """Make users out of the tables of a file."""
    unknown = sorted(content.keys() - {"users"})
    if unknown:
        raise AuthError(f"unknown key {unknown[0]!r:.60}; the file has one table per user, [users.NAME]")
    users = content.get("users", {})
    if not isinstance(users, dict):
        raise AuthError("'users' must be tables, [users.NAME]")
    found = tuple(_read_user(name, table) for name, table in users.items())
    hashes = [
        user.token_sha256 for user in found if user.token_sha256 is not None and user.certificate is None
    ]
    if len(set(hashes)) < len(hashes):
        raise AuthError("two users have the same token_sha256: a token must belong to one user")
    return Access(found)


def _read_user(name: str, table: object) -> User:
    if not name.isprintable() or "/" in name or len(name.encode()) > USER_BYTES_MAX:
        raise AuthError(
            f"users.{name!r:.60}: a name is at most {USER_BYTES_MAX} bytes of printable text without '/'"
        )
    if not isinstance(table, dict):
        raise AuthError(f"users.{name} must be a table, [users.{name}]")
    keys = cast("dict[str, object]", table)
    unknown = sorted(keys.keys() - set(_KEYS))
    if unknown:
        raise AuthError(f"users.{name} has the unknown key {unknown[0]!r:.60}; there are {', '.join(_KEYS)}")
    user = User(
        name,
        _read_hash(name, keys.get("token_sha256")),
        _read_text(name, "certificate", keys.get("certificate")),
        _read_roles(name, keys.get("roles", ["client"])),
        _read_filter(name, "advertise", keys.get("advertise")),
        _read_filter(name, "subscribe", keys.get("subscribe")),
        _read_truth(name, "administer", keys.get("administer", False)),
        _read_truth(name, "interest", keys.get("interest", False)),
    )
    if user.token_sha256 is None and user.certificate is None:
        raise AuthError(f"users.{name} needs token_sha256 or certificate, or anybody would be {name!r}")
    return user


def _read_text(name: str, key: str, value: object) -> str | None:
    if value is None or (isinstance(value, str) and value):
        return value
    raise AuthError(f"users.{name}.{key} must be text that is not empty")


def _read_hash(name: str, value: object) -> bytes | None:
    text = _read_text(name, "token_sha256", value)
    if text is None:
        return None
    try:
        digest = bytes.fromhex(text)
    except ValueError:
        digest = b""
    if len(text) != _HASH_HEX_DIGITS or len(digest) != _HASH_HEX_DIGITS // 2:
        raise AuthError(f"users.{name}.token_sha256 must be the {_HASH_HEX_DIGITS} hex digits of a SHA-256")
    return digest


def _read_roles(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or any(role not in ROLES for role in value):
        raise AuthError(f"users.{name}.roles must be a list of {' or '.join(ROLES)}")
    return tuple(cast("list[str]", value))


def _read_truth(name: str, key: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise AuthError(f"users.{name}.{key} must be true or false")


def _read_filter(name: str, key: str, value: object) -> Filter | None:
    text = _read_text(name, key, value)
    if text is None:
        return None
    try:
        return parse(text)
    except FilterError as error:
        raise AuthError(f"users.{name}.{key}: {error}") from error
