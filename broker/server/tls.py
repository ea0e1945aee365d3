"""TLS contexts out of the files a broker was given.

Laws:

1. A peer's certificate is accepted only if the authority given by `--tls-ca` (or, for an uplink without one,
   one that the system trusts) signed it, and an uplink's certificate must name the host that was dialled.
2. If users are known by tokens, a peer without a certificate is admitted to show its token; otherwise a peer
   without a certificate is refused.
"""

import ssl
from typing import TypedDict

import trio

from broker.server.settings import SettingsError, Tls


class _Certificate(TypedDict, total=False):
    """The fields of Python's description of a certificate that are used here."""

    subject: tuple[tuple[tuple[str, str], ...], ...]
    subjectAltName: tuple[tuple[str, str], ...]


def _fresh(purpose: ssl.Purpose, tls: Tls) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(purpose, cafile=tls.authority)
    except OSError as error:
        raise SettingsError(f"--tls-ca {tls.authority}: {error.strerror or error}") from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if tls.certificate is not None:
        try:
            context.load_cert_chain(tls.certificate, tls.key)
        except OSError as error:
            raise SettingsError(f"--tls-cert {tls.certificate}: {error.strerror or error}") from error
    return context


def serving_context(tls: Tls, *, knows_users: bool) -> ssl.SSLContext | None:
    """Return the TLS context for accepted connections, or None for plain TCP."""
    if not tls.serves:
        return None
    context = _fresh(ssl.Purpose.CLIENT_AUTH, tls)
    if tls.authority is not None:
        context.verify_mode = ssl.CERT_OPTIONAL if knows_users else ssl.CERT_REQUIRED
    return context


def dialling_context(tls: Tls) -> ssl.SSLContext | None:
    """Return the TLS context for the uplink, or None for plain TCP."""
    return _fresh(ssl.Purpose.SERVER_AUTH, tls) if tls.dials else None


def certificate_names(stream: trio.SSLStream[trio.SocketStream]) -> tuple[str, ...]:
    """The names in the certificate that the peer has proven to hold: common name and DNS names."""
    certificate: _Certificate | None = stream.getpeercert()
    if not certificate:
        return ()
    subject = [value for part in certificate.get("subject", ()) for key, value in part if key == "commonName"]
    others = [value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"]
    return tuple(dict.fromkeys([*subject, *others]))
