"""Which part of the core takes which message of an attached link."""

from collections.abc import Callable

from broker.core.leases import Leases
from broker.core.lifting import Lifts
from broker.core.membership import Directory, Membership
from broker.core.moves import MoveRequests
from broker.core.replays import Replays
from broker.core.routing import RoutingState
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
    Lift,
    LiftAsked,
    Lifted,
    LiftedIds,
    LiftedRoutes,
    LiftReady,
    MoveAnswer,
    MoveAsked,
    StepCancelled,
    StepRefused,
    Switched,
)
from broker.replay_messages import ReplayAsked, ReplayMore, ReplayOver, ReplayPart, ReplayReady


def handlers_of(  # noqa: PLR0913, PLR0917 - one per part
    routing: RoutingState,
    leases: Leases,
    synchronisation: Synchronisation,
    membership: Membership,
    directory: Directory,
    replays: Replays,
    moving: tuple[MoveRequests, Lifts],
) -> dict[type, Callable[..., None]]:
    """Return the handler of each message; it is called with the message and its link."""
    moves, lifts = moving
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
        Whereabouts: directory.learn,
        MoveAsked: moves.asked,
        MoveAnswer: moves.answered,
        StepRefused: lifts.refuse,
        StepCancelled: lifts.cancelled,
        LiftAsked: lifts.lift_asked,
        LiftReady: lifts.ready,
        Lift: lifts.lift,
        LiftedRoutes: lifts.lifted_routes,
        LiftedIds: lifts.lifted_ids,
        Lifted: lifts.lifted,
        Switched: lifts.switched_above,
        ReplayAsked: replays.asked,
        ReplayReady: replays.ready,
        ReplayMore: replays.more,
        ReplayPart: replays.part,
        ReplayOver: replays.over,
    }
