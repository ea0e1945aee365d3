"""Mutants of the node and of the client's machine, which are around the core. They are for `--whole`."""

from typing import Final

from broker.client.inbox import Inbox
from broker.client.interest import FollowedInterest
from broker.client.machine import ClientMachine
from broker.client.offers import Offers
from broker.client.seen import SeenEvents
from broker.client.session import Session
from broker.client.silence import Silence
from broker.client.window import SendWindow as ClientWindow
from broker.core.interest import InterestWatch
from broker.core.leases import Leases
from broker.node import clients
from broker.node.backpressure import Backpressure
from broker.node.budget import Account
from broker.node.clients import ClientSession
from broker.node.connection import Connection
from broker.node.credit import CreditBatch, CreditWindow
from broker.node.discovery import CatalogueWatch, Discovery
from broker.node.exchange import Exchange
from broker.node.greeting import GreetingContext
from broker.node.links import LinkSession
from broker.node.node import Node
from broker.node.publishers import LocalPublisher
from broker.node.queues import LinkQueue, SubscriptionQueue
from broker.node.reconnect_timeouts import ReconnectTimeouts
from broker.node.replaying import Replaying
from broker.node.subscriptions import LocalSubscription
from broker.node.timers import Timers
from broker.node.uplinks import Uplinks
from broker.sessions import Retained
from broker.station import LinkState, LocalSubscriptionState, Station, inputs, snapshots
from harness.explorer import broken, broken_leases
from harness.explorer import broken_clients as c
from harness.explorer import broken_ends as e
from harness.explorer import broken_journals as j
from harness.explorer import broken_nodes as n
from harness.explorer.mutant import Change, Mutant
from harness.whole import sites
from ordering.pairwise import Pairwise


def _whole(rule: str, faults: str, *changes: Change) -> Mutant:
    return Mutant(rule, faults, changes, is_whole=True)


_ONE_BY_ONE: Final = (Pairwise, "run", broken.takes_one_by_one)

_SESSIONS: Final = {
    "link-skips-one": _whole("sessions", "churn", (LinkState, "after", n.resumes_one_too_far)),
    "link-repeats-one": _whole("sessions", "churn", (LinkSession, "attach", n.resumes_one_too_early)),
    "queue-skips-one": _whole("sessions", "churn", (LocalSubscriptionState, "after", n.delivers_one_too_few)),
    "queue-from-taken": _whole(
        "sessions", "churn", (LocalSubscription, "_begin", n.begins_where_it_was_taken)
    ),
    "queue-from-the-end": _whole("sessions", "churn", (LocalSubscription, "_begin", n.begins_at_the_end)),
    "received-is-had": _whole("sessions", "churn", (clients, "start_of", n.takes_received_as_had)),
    "one-more-taken": _whole("sessions", "churn", (ClientSession, "advertised", n.says_one_more_taken)),
    "old-reader-stays": _whole(
        "sessions", "churn", (LocalSubscription, "taken_over", n.keeps_the_old_reader)
    ),
    "nothing-retired": _whole("sessions", "churn", (LocalPublisher, "withdraw", n.retires_nothing)),
    "resumption-unanswered": _whole("sessions", "churn", (LocalPublisher, "attach", n.answers_no_resumption)),
    "placed-further": _whole("sessions", "churn", (ClientSession, "_go_on", n.places_one_further)),
    "detached-reads": _whole("sessions", "churn", (LocalSubscription, "detach", n.keeps_its_reader)),
}

_CREDIT: Final = {
    "credit-twice": _whole("credit", "none", (CreditBatch, "release", n.returns_twice)),
    "credit-never": _whole("credit", "none", (CreditBatch, "release", n.returns_nothing)),
    "batches-at-the-end": _whole("credit", "churn", (Connection, "release", n.keeps_batches_at_the_end)),
    "held-forgotten": _whole("credit", "churn", (LinkQueue, "hold", n.forgets_held_batches)),
    "withdrawn-holds": _whole(
        "credit", "churn", (LocalSubscription, "_let_go", n.keeps_batches_of_the_withdrawn)
    ),
    "old-credit": _whole("credit", "churn", (LinkSession, "attach", n.keeps_old_credit)),
    "credit-not-renewed": _whole("credit", "churn", (CreditWindow, "renew", n.renews_nothing)),
    "credit-first-on-top": _whole("credit", "churn", (CreditWindow, "first", n.first_ignores_renewal)),
    "share-kept": _whole("credit", "churn", (CreditWindow, "close", n.stays_in_the_share)),
    "grants-again": _whole("credit", "none", (CreditWindow, "grant", n.grants_without_end)),
    "journal-room-forgotten": _whole("credit", "restart", (Exchange, "grant_withheld", n.withholds_for_ever)),
}

_QUEUES: Final = {
    "gap-forgotten": _whole("gaps", "crash", (SubscriptionQueue, "add_gap", n.forgets_gaps)),
    "drop-untold": _whole("gaps", "none", (SubscriptionQueue, "_miss", n.drops_in_silence)),
    "confirmed-forgotten": _whole("queues", "none", (LocalSubscription, "confirmed", n.keeps_unconfirmed)),
    "bound-ignored": _whole(
        "queues", "none", (SubscriptionQueue, "is_over_bound", property(n.never_looks_at_its_bound))
    ),
    "backlog-forgotten": _whole("queues", "none", (ClientSession, "pump", n.forgets_the_backlog)),
    "had-is-kept": _whole("queues", "churn", (Retained, "acknowledge", n.keeps_what_was_had)),
    "dropped-stays": _whole("queues", "none", (Station, "drop", n.keeps_what_was_dropped)),
    "received-uncounted": _whole(
        "queues", "restart", (LocalSubscription, "_count_received", n.counts_nothing_received)
    ),
    "slow-never-ended": _whole("queues", "none", (Exchange, "after", n.ends_nobody)),
}

_JOURNAL: Final = {
    "outputs-before-sync": _whole("journal", "restart", (Connection, "_seal", n.seals_nothing)),
    "unsealed-early": _whole("journal", "restart", (Connection, "unseal", n.unseals_early)),
    "sealed-for-more": _whole("journal", "restart", (Connection, "_seal", n.seals_for_one_more)),
    "acknowledged-before-sync": _whole(
        "journal", "restart", (LinkSession, "acknowledge", j.acknowledges_at_once)
    ),
    "synced-is-lost": _whole("journal", "restart", (sites, "recover", j.loses_the_last_record)),
    "resumed-repeats": _whole("sessions", "restart", (Station, "acknowledged", j.learns_nothing)),
    "numbers-forgotten": _whole("snapshots", "restart", (Station, "restore", j.counts_anew)),
    "taken-forgotten": _whole("snapshots", "restart", (Station, "restore", j.takes_anew)),
    "plugin-forgotten": _whole("snapshots", "restart", (snapshots, "state_of", j.forgets_the_plugin)),
    "half-a-batch": _whole("replay", "restart", (Station, "receive", j.applies_half)),
    "takes-at-the-end": _whole("replay", "restart", (inputs, "read_record", j.takes_at_the_end)),
}

_TIMERS: Final = {
    "fires-once": _whole("timers", "crash", (Timers, "every", n.fires_once)),
    "absence-without-end": _whole("timers", "loss", (ReconnectTimeouts, "_wake_at", n.never_wakes)),
    "absence-of-the-present": _whole(
        "timers", "churn", (ReconnectTimeouts, "cancel", n.waits_for_who_is_there)
    ),
    "nobody-is-dead": _whole("timers", "crash", (Node, "_look_after", n.takes_nobody_for_lost)),
    "replay-stops": _whole("replay", "churn", (Replaying, "_look", n.replays_once)),
    "never-acknowledges": _whole("sessions", "none", (LinkSession, "acknowledge", n.never_acknowledges)),
    "uplink-not-dialled-again": _whole("healing", "churn", (Uplinks, "ended", n.never_dials_again)),
}

_CONNECTIONS: Final = {
    "no-pump-after-written": _whole("outbox", "none", (Connection, "written", n.pumps_nothing)),
    "pause-never-ends": _whole("outbox", "none", (Node, "_pause_or_resume", n.never_resumes)),
    "closed-before-the-fault": _whole("ends", "hostile", (Node, "_let_go", n.closes_before_the_end)),
    "unhandled-forgotten": _whole("ends", "none", (Node, "_feed", n.forgets_the_unhandled)),
    "account-not-settled": _whole(
        "budgets", "churn", (LocalSubscription, "_settle_account", n.settles_no_account)
    ),
    "connection-charged-for-ever": _whole(
        "budgets", "churn", (ClientSession, "let_go", n.lets_go_for_nothing)
    ),
    "no-limits": _whole("budgets", "hostile", (Account, "refusal", n.knows_no_bound)),
    "steps-without-end": _whole("budgets", "hostile", (ClientSession, "handle", n.works_without_end)),
    "publishers-of-others": _whole("sessions", "hostile", (LocalPublisher, "is_of", n.resumes_for_anybody)),
    "subscriptions-of-others": _whole(
        "sessions", "hostile", (LocalSubscription, "is_of", n.resumes_for_anybody)
    ),
}

_CLIENT: Final = {
    "client-not-rewound": _whole("client", "churn", (ClientWindow, "rewind", c.does_not_rewind)),
    "client-drops-one-more": _whole("client", "churn", (ClientWindow, "taken", c.drops_one_more)),
    "client-renames-only": _whole("client", "crash", (ClientWindow, "rename", c.renames_without_counting)),
    "client-flushes-all": _whole(
        "client", "churn", (ClientWindow, "flushed", c.forgets_what_is_flushed_later)
    ),
    "client-without-credit": _whole("client", "none", (ClientWindow, "take", c.sends_without_credit)),
    "client-awaits-nothing": _whole("client", "churn", (Session, "_ask_source", c.awaits_no_answer)),
    "client-gap-uncounted": _whole("client", "none", (Inbox, "gap", c.counts_no_gap)),
    "client-gives-no-credit": _whole("client", "none", (Inbox, "consumed", c.gives_no_credit_back)),
    "client-gives-credit-twice": _whole("client", "none", (Inbox, "consumed", c.gives_credit_twice)),
    "client-repeats-elsewhere": _whole(
        "client",
        "roam",
        (clients, "start_of", n.delivers_what_was_had_elsewhere),
        (SeenEvents, "is_new", c.forgets_what_it_had),
    ),
    "client-skips-uncounted": _whole(
        "client",
        "roam",
        (clients, "start_of", n.delivers_what_was_had_elsewhere),
        (Inbox, "_put_new", c.counts_nothing_skipped),
    ),
    "client-moves-untold": _whole("client", "roam", (Inbox, "_begin_anew", c.misses_no_forgotten)),
    "client-never-moves": _whole("client", "loss", (ClientMachine, "_wait", c.stays_for_ever)),
    "client-moves-at-once": _whole("client", "roam", (ClientMachine, "_wait", c.leaves_at_once)),
    "client-acknowledges-more": _whole(
        "client", "churn", (Inbox, "acknowledge", c.acknowledges_what_was_read)
    ),
    "client-acknowledges-for-nothing": _whole(
        "client", "churn", (Inbox, "acknowledge", c.gives_no_credit_for_acknowledgements)
    ),
    "client-place-too-early": _whole(
        "client", "churn", (Inbox, "resume_position", property(c.goes_on_one_too_early))
    ),
    "client-place-had": _whole(
        "client", "churn", (Inbox, "resume_position", property(c.goes_on_where_it_was_had))
    ),
    "client-hears-silence": _whole("client", "crash", (Silence, "look", c.ignores_silence)),
    "client-had-everything": _whole(
        "client", "churn", (Inbox, "unconfirmed_position", c.says_everything_was_had)
    ),
    "client-forgotten-untold": _whole("client", "crash", (Inbox, "_begin_anew", c.misses_no_forgotten)),
    "client-dials-once": _whole("client", "churn", (ClientMachine, "tick", c.dials_never_again)),
    "interest-kept-listed": _whole("interest", "churn", (InterestWatch, "went", n.keeps_listed_interest)),
    "interest-not-anew": _whole("interest", "churn", (FollowedInterest, "ask", c.goes_on_with_the_old_list)),
    "client-resumes-nothing": _whole("client", "churn", (Session, "_ask_inbox", c.asks_inboxes_last)),
}

_OFFERS: Final = {
    "removals-unshown": _whole("offers", "churn", (CatalogueWatch, "changed", n.shows_no_removals)),
    "watches-of-nobody": _whole("offers", "churn", (Discovery, "end_all", n.watches_on)),
    "client-keeps-old-offers": _whole("offers", "churn", (Offers, "put", c.keeps_old_offers)),
}

_SETTINGS: Final = {
    "lease-behind-credit": _whole(
        "leases",
        "none",
        (Leases, "sweep", broken_leases.counts_time),
        (Leases, "renewed", broken_leases.counts_a_renewal),
    ),
    "settings-not-compared": _whole(
        "greeting", "none", (GreetingContext, "objection", e.compares_no_settings)
    ),
}

_ENDS: Final = {
    "link-given-up-at-once": _whole("sessions", "churn", (LinkSession, "lost", e.gives_up_at_once)),
    "link-waits-for-ever": _whole("timers", "loss", (LinkSession, "lost", e.waits_without_end)),
    "acknowledges-one-less": _whole(
        "sessions", "none", (LinkSession, "acknowledge", e.acknowledges_one_less)
    ),
    "acknowledges-other-way": _whole(
        "sessions", "churn", (LinkSession, "acknowledge", e.acknowledges_what_it_sent)
    ),
    "old-credit-on-top": _whole("credit", "churn", (LinkSession, "attach", e.adds_old_credit)),
    "lost-queue-holds": _whole("credit", "churn", (LinkQueue, "clear", e.frees_nothing_at_the_end)),
    "control-passes-queue": _whole("R5", "churn", (LinkQueue, "_add_mixed", e.control_goes_first)),
    "links-starve": _whole("credit", "restart", (Exchange, "grant_withheld", e.withholds_from_links)),
    "publishers-wait-on": _whole("pace", "none", (Backpressure, "judge", e.never_judges)),
    "hole-uncounted": _whole("gaps", "crash", (SubscriptionQueue, "take", e.counts_no_hole)),
    "not-opened-again": _whole("sessions", "churn", (LocalSubscription, "attach", e.opens_nobody_again)),
    "gap-lost-on-the-way": _whole("gaps", "loss", (LocalSubscription, "_add", e.merges_pieces)),
    "queue-from-what-was-sent": _whole(
        "sessions", "churn", (LocalSubscription, "_begin", e.goes_on_with_the_old_queue)
    ),
    "dedupe-dropped": _whole(
        "sessions",
        "churn",
        (ClientSession, "_overlook", e.takes_twice),
        (ClientSession, "advertised", e.says_nothing_taken),
    ),
    "publisher-forgotten": _whole("sessions", "churn", (LocalPublisher, "detach", e.forgets_at_once)),
    "all-is-synced": _whole("journal", "restart", (Node, "_synced", e.takes_all_for_synced)),
    "one-unsealed": _whole("journal", "restart", (Node, "_synced", e.unseals_the_first)),
    "silent-while-reading": _whole("timers", "none", (Node, "_keep_alive", e.stays_silent)),
    "greets-without-end": _whole("timers", "crash", (Node, "_look_after", e.greets_without_end)),
    "woken-too-late": _whole("timers", "churn", (ReconnectTimeouts, "_wake_at", e.wakes_too_late)),
    "client-flushes-early": _whole("client", "restart", (ClientWindow, "flush", e.flushed_when_sent)),
    "client-sends-too-early": _whole("client", "churn", (Session, "take", e.sends_before_the_answer)),
    "client-rewinds-backwards": _whole("client", "churn", (ClientWindow, "rewind", e.rewinds_backwards)),
    "unordered-event-waits": _whole(
        "needless", "none", (Pairwise, "publication", e.asks_for_everything), _ONE_BY_ONE
    ),
    "unordered-subscription-waits": _whole(
        "needless", "none", (Pairwise, "publication", e.asks_for_everybody), _ONE_BY_ONE
    ),
}

WHOLE_MUTANTS: Final = {
    **_ENDS,
    **_OFFERS,
    **_SETTINGS,
    **_SESSIONS,
    **_CREDIT,
    **_QUEUES,
    **_JOURNAL,
    **_TIMERS,
    **_CONNECTIONS,
    **_CLIENT,
}
"""Every mutant of whole brokers and clients, by name."""
