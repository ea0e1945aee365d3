"""Subscriptions as users ask for them: every option is checked before the broker is asked. No I/O."""

import math
from typing import Final, Literal, TypedDict

from broker.client.inbox import Inbox
from broker.client.limits import Limits
from broker.client.replay import Replay

MANUAL: Final = "manual"
"""The `ack` of a program that acknowledges its deliveries."""


class SubscriptionOptions(TypedDict, total=False):
    """The options of a subscription, as `Client.subscribe` describes them."""

    ordered: bool
    bound_bytes: int
    policy: Literal["disconnect", "drop"] | None
    durable: str
    age_s: float
    after: int | None
    ack: Literal["auto", "manual"]
    max_open: int
    resume: str
    replay: Replay | str | int | None


def subscription(  # noqa: PLR0913 - one for each option
    filter_text: str,
    *,
    ordered: bool,
    bound_bytes: int,
    policy: str | None,
    durable: str,
    age_s: float,
    after: int | None,
    ack: str,
    max_open: int,
    resume: str,
    replay: Replay | str | int | None,
    limits: Limits,
    now_s: float,
) -> Inbox:
    """Make the inbox of a subscription that begins now.

    Raises:
        ValueError: an option cannot be; the message says which, and what it may be.
    """
    if policy is None:
        policy = "drop" if durable else "disconnect"
    _check_options(policy, bound_bytes, durable, age_s, after)
    if resume and after is None:
        raise ValueError("resume names the subscription that after is a position of: give both")
    _check_acknowledging(ack, max_open, durable)
    inbox = Inbox(filter_text, ordered, bound_bytes, policy, limits, durable, math.ceil(age_s), after)
    inbox.max_open = max_open if ack == MANUAL else 0
    inbox.resume = resume
    if replay is not None:
        inbox.replay = Replay.of(replay).asking(now_s)
    return inbox


def _check_acknowledging(ack: str, max_open: int, durable: str) -> None:
    """Raise `ValueError` for an invalid option about acknowledgements."""
    if ack not in {"auto", MANUAL}:
        raise ValueError(f"ack: expected 'auto' or 'manual', got {ack!r}")
    if ack == MANUAL and not durable:
        raise ValueError("ack='manual' is for subscriptions with a durable name: others end with the program")
    if max_open < 1:
        raise ValueError(f"max_open: expected 1 or more, got {max_open}")


def _check_options(policy: str, bound_bytes: int, durable: str, age_s: float, after: int | None) -> None:
    """Raise `ValueError` for an invalid option of a subscription."""
    if policy not in {"disconnect", "drop"}:
        raise ValueError(f"policy: expected 'disconnect' or 'drop', got {policy!r}")
    if bound_bytes < 1:
        raise ValueError(f"bound_bytes: expected 1 or more, got {bound_bytes}")
    if not 0 <= age_s < math.inf:
        raise ValueError(f"age_s: expected 0 or more, got {age_s}")
    if not durable and (age_s or after is not None):
        raise ValueError("age_s and after are for subscriptions with a durable name")
    if after is not None and after < 0:
        raise ValueError(f"after: expected a position, 0 or more, got {after}")
