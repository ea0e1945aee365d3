"""The client of the product, driven as its Trio shell drives it, but without Trio.

The names are those of the client's machine: what a shell passes in, and what it looks at.
"""

from math import inf
from typing import Final

from attrs import define, field

from broker.backoff import LONGEST_S, Backoff, longest_while_kept_s
from broker.client.connection import GRACE_PART, KEPT_HEARTBEATS, PASSING
from broker.client.session import Session
from broker.errors import BrokerFaultError

__all__ = ["Machine"]

_MS: Final = 1000


@define(eq=False)
class Machine:
    """One client over all its connections."""

    session: Session
    _backoff: Backoff
    failure: BrokerFaultError | None = field(default=None, init=False)
    is_connected: bool = field(default=False, init=False)
    wants_dial: bool = field(default=False, init=False)
    wants_close: bool = field(default=False, init=False)
    _has_transport: bool = field(default=False, init=False)
    _is_leaving: bool = field(default=False, init=False)
    _dial_s: float = field(default=inf, init=False)
    _answer_s: float = field(default=inf, init=False)
    _silent_s: float = field(default=inf, init=False)
    _flush_s: float = field(default=inf, init=False)
    _lost_s: float = field(default=-inf, init=False)
    _since_s: float = field(default=0.0, init=False)
    _kept_s: float = field(default=0.0, init=False)
    _heartbeat_s: float = field(default=inf, init=False)
    _looks: int = field(default=0, init=False)

    def start(self) -> None:
        """Begin."""
        self.wants_dial = True

    def dialling(self, now_s: float) -> None:
        """The shell begins to open a transport."""
        self.wants_dial = False
        self._has_transport = True
        self._answer_s = now_s + self.session.limits.connect_timeout_s

    def connected(self) -> None:
        """The transport is open."""
        if not self.wants_close:
            self.session.connect()

    def received(self, content: bytes, now_s: float) -> None:
        """Bytes came from the broker."""
        if self.wants_close or not self._has_transport:
            return
        self._heard(now_s)
        session = self.session
        try:
            session.receive(content)
        except BrokerFaultError as fault:
            self._end(now_s, fault if fault.code not in PASSING else None)
            return
        if not self.is_connected and session.welcome is not None:
            self.is_connected = True
            self._answer_s = inf
            self._heartbeat_s = session.welcome.heartbeat_ms / _MS
            self._kept_s = KEPT_HEARTBEATS * self._heartbeat_s
            self._since_s = now_s
            self._flush_s = now_s + session.limits.flush_interval_s
            self._heard(now_s)

    def _heard(self, now_s: float) -> None:
        self._looks = 0
        self._silent_s = now_s + self._heartbeat_s if self.is_connected else inf

    def lost(self, now_s: float) -> None:
        """The transport is gone."""
        self._has_transport = False
        if self.wants_close:
            self.wants_close = False
        else:
            self._disconnect(now_s)

    def _end(self, now_s: float, failure: BrokerFaultError | None) -> None:
        self.wants_close = True
        self.failure = failure
        self._disconnect(now_s)

    def _disconnect(self, now_s: float) -> None:
        was_connected, self.is_connected = self.is_connected, False
        self._answer_s = self._silent_s = self._flush_s = inf
        self.session.disconnect()
        if self.failure is not None or self._is_leaving:
            return
        if was_connected:
            self._lost_s = now_s
            if now_s - self._since_s > LONGEST_S:
                self._backoff.reset()
        is_kept = now_s - self._lost_s < self._kept_s
        self._dial_s = now_s + self._backoff.next_s(
            longest_while_kept_s(self._kept_s) if is_kept else LONGEST_S
        )

    @property
    def deadline_s(self) -> float:
        """When to call `tick`."""
        dial_s = inf if self._has_transport else self._dial_s
        return min(dial_s, self._answer_s, self._silent_s, self._flush_s)

    def tick(self, now_s: float) -> None:
        """Do what is due."""
        if now_s >= self._dial_s and not self._has_transport:
            self._dial_s = inf
            self.wants_dial = True
        if now_s >= self._answer_s:
            self._end(now_s, None)
        if now_s >= self._silent_s:
            self._look(now_s)
        if now_s >= self._flush_s:
            self._flush_s = now_s + self.session.limits.flush_interval_s
            self.session.window.flush_if_due()
            self.session.tell_progress()

    def _look(self, now_s: float) -> None:
        self._looks += 1
        match self._looks:
            case 1:
                self.session.ping(1)
                self._silent_s = now_s + self._heartbeat_s
            case 2:
                self._silent_s = now_s + self._heartbeat_s * GRACE_PART
            case _:
                self._end(now_s, None)

    def leave(self) -> None:
        """Say goodbye; the transport is closed once that is written."""
        self._is_leaving = True
        self.session.leave()
