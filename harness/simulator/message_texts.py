"""The text of a message in diagrams and traces. Sets are sorted, so equal traces are equal texts."""

from broker.messages import (
    AdvertisementAcknowledged,
    AdvertisementAdded,
    AdvertisementWithdrawn,
    AttachAnswer,
    AttachDone,
    AttachRequest,
    BrokersChanged,
    Flood,
    FloodDone,
    LinkMessage,
    OrderingMessage,
    Publication,
    RouteIds,
    SettleAsked,
    SubscriptionAcknowledged,
    SubscriptionAdded,
    SubscriptionsReplaced,
    SubscriptionWithdrawn,
    Synchronise,
)


def text_of(message: LinkMessage) -> str:  # noqa: C901, PLR0911, PLR0912 - one line per kind of message
    """Return a message as text: +P1 announces, -P1 withdraws, ok P1 acknowledges, P1:2? requests that."""
    match message:
        case Publication():
            return (
                f"{message.publisher}:{message.sequence}{'?' * message.mark}{'' if message.ordered else '~'}"
            )
        case OrderingMessage():
            return "ack" + "".join(f" {number}" for number in message.content if number > 1)
        case AdvertisementAdded() | SubscriptionAdded():
            return f"+{message.id}"
        case AdvertisementWithdrawn() | SubscriptionWithdrawn():
            return f"-{message.id}"
        case AdvertisementAcknowledged():
            return f"ok {message.id}"
        case SubscriptionAcknowledged():
            return f"ok #{message.number}"
        case SubscriptionsReplaced():
            added = "".join(f"+{route.id}" for route in message.added)
            return f"{added}{''.join(f'-{each}' for each in sorted(message.withdrawn))}"
        case SettleAsked():
            return f"settled {message.id}?"
        case AttachRequest():
            return f"attach {message.asker}#{message.number}?{_more(message)}"
        case AttachAnswer():
            return f"{message.verdict} {message.asker}#{message.number}"
        case AttachDone():
            return f"attached {message.asker}#{message.number}"
        case RouteIds():
            return f"routes {_listed(message.advertisements | message.subscriptions)}{_more(message)}"
        case Synchronise():
            return f"synchronise {_ids(message)}{_more(message)}"
        case Flood():
            return f"flood {message.token} {_ids(message)}"
        case FloodDone():
            return f"ok flood {message.token}"
        case BrokersChanged():
            return f"brokers +{_listed(message.added)} -{_listed(message.removed)}"
        case _:
            return type(message).__name__


def _more(page: AttachRequest | RouteIds | Synchronise) -> str:
    return " ..." if page.more else ""


def _ids(message: Synchronise | Flood) -> str:
    return ",".join(advertisement for advertisement, _ in message.advertisements)


def _listed(names: frozenset[str]) -> str:
    return ",".join(sorted(names))
