"""Which part of the core takes which message of an attached link."""

from collections.abc import Callable

from broker.core.leases import Leases
from broker.core.membership import Membership
from broker.core.moves import MoveRequests
from broker.core.replays import Replays
from broker.core.routing import RoutingState
from broker.core.stepping import MoveSteps
from broker.core.steps import StepParts
from broker.core.synchronisation import Synchronisation
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
    LeaseAsked,
    LeaseListed,
    LeaseRenewed,
    PublishersLost,
    SettleAsked,
    SubscriptionAcknowledged,
    SubscriptionAdded,
    SubscriptionsReplaced,
    SubscriptionWithdrawn,
    Synchronise,
    Whereabouts,
)
from broker.move_messages import (
    Joined,
    Lift,
    LiftAsked,
    Lifted,
    LiftedIds,
    LiftedRoutes,
    LiftReady,
    LowerAsked,
    LowerCancelled,
    Lowered,
    LowerGranted,
    LowerPrepared,
    LowerSettled,
    LowerTaken,
    MoveAnswer,
    MoveAsked,
    StepCancelled,
    StepQueued,
    StepRefused,
    Switched,
)
from broker.replay_messages import CacheMarked, ReplayAsked, ReplayMore, ReplayOver, ReplayPart, ReplayReady


def handlers_of(  # noqa: PLR0913, PLR0917 - one per part
    routing: RoutingState,
    leases: Leases,
    synchronisation: Synchronisation,
    membership: Membership,
    replays: Replays,
    moving: tuple[MoveRequests, MoveSteps, StepParts],
) -> dict[type, Callable[..., None]]:
    """Return the handler of each message; it is called with the message and its link."""
    moves, steps, parts = moving
    return {
        AdvertisementAdded: routing.add_advertisement,
        AdvertisementAcknowledged: routing.acknowledge_advertisement,
        AdvertisementWithdrawn: lambda m, link: routing.withdraw_advertisement(m.id, link, is_lost=m.is_lost),
        PublishersLost: routing.publishers_lost,
        SubscriptionAdded: routing.add_subscriptions,
        SubscriptionsReplaced: routing.add_subscriptions,
        SubscriptionAcknowledged: routing.acknowledge_subscriptions,
        SubscriptionWithdrawn: routing.withdraw_subscription,
        SettleAsked: routing.settle,
        LeaseRenewed: leases.renewed,
        LeaseAsked: leases.asked,
        LeaseListed: leases.listed,
        Synchronise: synchronisation.synchronise,
        Flood: synchronisation.flood,
        FloodDone: synchronisation.done,
        AttachRequest: membership.requested,
        AttachAnswer: membership.answered,
        AttachDone: membership.done,
        BrokersChanged: membership.brokers_changed,
        Whereabouts: membership.learn,
        MoveAsked: moves.asked,
        MoveAnswer: moves.answered,
        StepQueued: parts.rises.queued,
        StepRefused: parts.rises.refuse,
        StepCancelled: parts.cancelled,
        LiftAsked: parts.asked,
        LiftReady: parts.asked,
        Lift: parts.lift,
        LiftedRoutes: steps.take_routes,
        LiftedIds: steps.take_ids,
        Lifted: parts.lifts.lifted,
        Switched: parts.switched,
        LowerAsked: parts.asked,
        LowerGranted: parts.asked,
        LowerPrepared: parts.lowers.prepared,
        LowerCancelled: parts.lowers.cancelled,
        Lowered: parts.lowers.lowered,
        LowerTaken: parts.lowers.taken,
        LowerSettled: parts.lowers.settled,
        Joined: parts.rises.joined,
        ReplayAsked: replays.asked,
        ReplayReady: replays.ready,
        ReplayMore: replays.more,
        ReplayPart: replays.part,
        ReplayOver: replays.over,
        CacheMarked: replays.marked,
    }
