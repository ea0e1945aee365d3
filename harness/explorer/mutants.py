"""The product with one rule broken, by name. A test of order is worth as much as the mutants that it finds.

A mutant replaces a few methods while it is applied, so the product pays nothing for being testable. `faults`
are those under which a campaign finds it soonest.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Final

from broker.core import lifting, pages, stepping, subscribing
from broker.core.advertising import Advertising
from broker.core.announcements import Announcements
from broker.core.attachment import Attachments
from broker.core.audit import StateAudit
from broker.core.barrier import Barrier
from broker.core.broker import BrokerCore
from broker.core.crossing import Crossings
from broker.core.demand import Demand
from broker.core.gates import Gates
from broker.core.leases import Leases, Repairs
from broker.core.lifting import Lifts
from broker.core.losses import Losses
from broker.core.lowering import Lowers
from broker.core.membership import Directory, Membership
from broker.core.moves import MoveRequests
from broker.core.pages import Collector
from broker.core.replays import Replays
from broker.core.rising import Rises
from broker.core.routing import RoutingState
from broker.core.stepping import MoveSteps, Rising
from broker.core.steps import StepParts
from broker.core.subscribing import Neighbour, Subscribing
from broker.core.synchronisation import Synchronisation
from broker.core.tables import RoutingTables
from broker.healing import Roster, Search
from broker.replay import Playback, Positions
from broker.replay.retention import Cursor
from broker.routing.grouped import Grouped
from harness.explorer import (
    broken,
    broken_audits,
    broken_crossings,
    broken_healing,
    broken_leases,
    broken_lifts,
    broken_lowers,
    broken_pages,
    broken_promises,
    broken_replays,
    broken_routing,
)
from harness.explorer.mutant import Mutant
from harness.explorer.whole_mutants import WHOLE_MUTANTS
from ordering.pairwise import Pairwise


def _one(  # noqa: PLR0913, PLR0917 - what a mutant is, in one line
    rule: str,
    faults: str,
    owner: type | ModuleType,
    name: str,
    instead: Callable[..., object],
    routing: str = "simple",
) -> Mutant:
    return Mutant(rule, faults, ((owner, name, instead),), routing)


def _taking(rule: str, instead: Callable[..., object]) -> Mutant:
    """Return a mutant that takes publications in another way, alone and in runs."""
    runs = (Pairwise, "run", broken.takes_one_by_one)
    return Mutant(rule, "none", ((Pairwise, "publication", instead), runs))


MUTANTS: Final[dict[str, Mutant]] = {
    "no-detection": _taking("R2", broken.never_late),
    "down-waits": _taking("R1", broken.queues_what_comes_down),
    "early-acknowledgement": _taking("R4", broken.acknowledges_at_once),
    "middle-does-not-ask": _one("R2", "none", Pairwise, "_add", broken.asks_only_for_itself),
    "no-hop-order": _one("R3", "none", Pairwise, "_emit_free", staticmethod(broken.passes_earlier)),
    "late-one-by-one": _one("R3", "none", Pairwise, "_emit_free", staticmethod(broken.goes_one_by_one)),
    "unordered-overtakes": _taking("R3", broken.unordered_passes),
    "lost-uplink-waits": _one("R8", "crash", Pairwise, "uplink_changed", broken.goes_on_waiting),
    "request-loses-place": _one("R4", "churn", Pairwise, "hop_lost", broken.loses_its_place),
    "uncounted-acknowledgements": _one("R4", "none", Pairwise, "combine", broken.merges_badly),
    "run-acknowledged-whole": _one("R4", "none", Pairwise, "_acknowledge", broken.acknowledges_whole_runs),
    "control-overtakes": _one("R5", "churn", BrokerCore, "_send", broken.overtakes),
    "no-barrier": _one("R6", "churn", Barrier, "start", broken.waits_for_nobody),
    "barrier-without-subscriptions": _one("R6", "churn", Barrier, "start", broken.waits_for_no_subscription),
    "no-gates": _one("R7", "churn", RoutingTables, "close_gate", broken.leaves_open),
    "told-too-early": _one(
        "R7", "churn", Subscribing, "_complete_if_open", broken_promises.acknowledges_its_own_at_once
    ),
    "breaks-before-making": _one(
        "R7", "churn", Subscribing, "_leave", broken_routing.breaks_before_it_makes, "covering"
    ),
    "barrier-forgets": _one(
        "R6", "churn", Barrier, "route_replaced", broken_routing.forgets_what_was_replaced, "covering"
    ),
    "unsettled": _one("R9", "crash", Subscribing, "_settle", broken_routing.rides_at_once, "covering+simple"),
    "forgets-who-moved": _one(
        "R9", "crash", Gates, "has_moved", broken_routing.forgets_who_moved, "covering+simple"
    ),
    "trusts-names": _one(
        "R9", "crash", Attachments, "_is_named_elsewhere", broken_routing.trusts_every_name, "simple+covering"
    ),
    "ends-unsaid": _one(
        "R9", "move", Attachments, "_ask", broken_routing.says_nothing_of_ends, "covering+simple"
    ),
    "untold-crossing": _one(
        "gaps", "healing", Subscribing, "note_crossed", broken_routing.sends_no_crossing_gap, "covering"
    ),
    "closed-cover-opens": _one(
        "R7", "churn", Subscribing, "wait", broken_promises.opens_under_a_closed_cover, "covering"
    ),
    "late-farewell": Mutant(
        "promises",
        "churn",
        (
            (BrokerCore, "unsubscribe", broken_promises.lets_them_leave_later),
            (BrokerCore, "receive", broken_promises.lets_them_leave_now),
        ),
    ),
    "old-routes": _one("R7", "churn", RoutingTables, "open_gate", broken.keeps_old_routes),
    "any-answer-opens": _one("R7", "churn", Subscribing, "answered", broken.takes_any_answer),
    "old-exposure": _one("R2", "churn", RoutingTables, "_expose", broken.exposes_nothing_new),
    "withdrawn-for-all": _one("R9", "crash", Advertising, "take_back", broken.withdraws_for_all),
    "nothing-taken-back": _one("R8", "churn", Announcements, "edit", broken.withdraws_nothing),
    "no-deferral": Mutant(
        "R9",
        "crash",
        (
            (Membership, "_is_stale", broken.never_stale),
            (Membership, "_known_advertisements", broken.knows_nothing),
        ),
    ),
    "no-second-look": _one("R9", "crash", Membership, "_known_advertisements", broken.knows_nothing),
    "says-once": _one("R9", "crash", Membership, "_announce_again", broken.says_once),
    "crosses-early": _one("R9", "crash", Synchronisation, "synchronise", broken.crosses_early),
    "flood-hole": _one("R9", "crash", Synchronisation, "_flood", broken.floods_settled_links),
    "old-flood-opens": Mutant(
        "R9",
        "crash",
        (
            (Synchronisation, "link_lost", broken.remembers_floods),
            (Synchronisation, "done", broken.opens_by_name),
        ),
    ),
    "crossing-opens-early": _one("R7", "crash", Crossings, "_choose", broken_crossings.opens_when_chosen),
    "crossing-serves-early": _one(
        "gaps", "crash", Crossings, "_open", broken_crossings.serves_neighbours_early, "covering+simple"
    ),
    "crossing-serves-what-is-asked": _one(
        "gaps", "crash", Subscribing, "wait", broken_crossings.serves_what_is_asked_early, "covering+simple"
    ),
    "crossing-announced-to-nobody": _one(
        "gaps",
        "lower+losses",
        Synchronisation,
        "announce_crossed",
        broken_crossings.announces_nothing,
        "covering+simple",
    ),
    "crossing-forgets-newcomers": _one(
        "R9", "crash", Crossings, "_offer", broken_crossings.forgets_newcomers
    ),
    "crossing-sends-what-has-gone": _one(
        "R9", "crash", Neighbour, "hold", broken_crossings.sends_what_has_gone
    ),
    "crossing-withdraws-nothing": _one("R9", "crash", Neighbour, "hold", broken_crossings.withdraws_nothing),
    "crossing-keeps-what-was-known-twice": _one(
        "R9", "lift", Neighbour, "forget", broken_crossings.keeps_what_is_blocked, "simple"
    ),
    "look-not-awaited": _one("R6", "churn", Subscribing, "on_their_way", broken_crossings.awaits_no_look),
    "look-not-again": _one("R6", "churn", Crossings, "look_through", broken_crossings.looks_once),
    "opens-without-asking": _one("R7", "crash", Subscribing, "block", broken.asks_nobody_behind_new_links),
    "untold-loss": _one("gaps", "crash", Losses, "lost", broken.sends_no_gap_for_a_loss),
    "untold-absence": _one("gaps", "healing", Losses, "found", broken.sends_no_gap_for_an_absence),
    "owed-gap-late": Mutant(
        "gaps",
        "crash",
        (
            (Losses, "settle", broken.sends_owed_gaps_late),
            (Losses, "go_on", broken.goes_on_all_the_same),
        ),
    ),
    "owed-gap-forgotten": _one("gaps", "crash", Losses, "go_on", broken.forgets_owed_gaps),
    "lost-uplink-drops": _one("R8", "healing", Pairwise, "uplink_changed", broken_healing.drops_what_waits),
    "dials-the-smallest": _one("healing", "healing", Search, "next", broken_healing.dials_the_smallest),
    "nobody-twice": _one("healing", "healing", Search, "begin_round", broken_healing.tries_nobody_twice),
    "only-up": _one("healing", "healing", Search, "_beyond_configured", broken_healing.goes_up_only),
    "only-fellows": _one(
        "healing", "healing", Search, "_beyond_configured", broken_healing.knows_its_fellows_only
    ),
    "no-far-rounds": _one(
        "healing", "healing", Search, "_beyond_configured", broken_healing.waits_for_larger_names
    ),
    "stale-above": _one("healing", "healing", Search, "candidates", broken_healing.believes_itself_below),
    "root-remains-below": _one("healing", "healing", Roster, "root_of", broken_healing.remains_below),
    "news-not-told-on": _one("healing", "healing", Directory, "learn", broken_healing.passes_nothing_on),
    "silent-attachment": _one(
        "healing", "healing", Directory, "attached", broken_healing.says_nothing_when_attached
    ),
    "news-forgotten": _one(
        "healing", "healing", Directory, "link_lost", broken_healing.forgets_with_the_link
    ),
    "interest-not-ended": _one("interest", "churn", Demand, "interest_went", broken.keeps_interest),
    "lease-by-time": _one("leases", "churn+leases", Leases, "sweep", broken_leases.expires_by_time),
    "lease-not-renewed": _one("leases", "churn+leases", Leases, "renewed", broken_leases.renews_nothing),
    "lease-half-said": _one(
        "leases", "churn+leases", Leases, "_announced", broken_leases.announces_no_subscriptions
    ),
    "lease-too-early": _one("leases", "churn+leases", Leases, "listed", broken_leases.expires_early),
    "lease-never-counted": _one(
        "leases", "churn+leases", Leases, "listed", broken_leases.forgets_what_was_left_out
    ),
    "lease-listed-expires": _one(
        "leases", "churn+leases", Leases, "listed", broken_leases.expires_what_was_listed
    ),
    "lease-list-unread": _one("leases", "churn+leases", Leases, "listed", broken_leases.takes_in_nothing),
    "lease-never-asked": _one("leases", "churn+leases", Leases, "renewed", broken_leases.asks_for_nothing),
    "lease-unmended": _one("leases", "churn+leases", Repairs, "make", broken_leases.repairs_nothing),
    "lease-untold-below": _one("gaps", "churn+leases", RoutingState, "missed_by", broken_leases.sends_no_gap),
    "lease-untold-here": _one(
        "gaps", "none+leases", RoutingState, "missed_from", broken_leases.sends_no_gap, "covering+simple"
    ),
    "lease-announced-again": _one(
        "leases",
        "none+leases",
        Subscribing,
        "_is_known",
        broken_leases.breaks_what_is_announced_again,
        "simple",
    ),
    "lease-union-stays": _one(
        "leases",
        "none+leases",
        Grouped,
        "chooses_from",
        broken_leases.believes_its_candidates,
        "merging+merging",
    ),
    "audit-of-nothing": _one("leases", "churn+memory", Pairwise, "audit", broken_audits.looks_at_nothing),
    "audit-of-no-item": _one(
        "leases", "churn+memory", Pairwise, "_audit_items", broken_audits.looks_at_no_item
    ),
    "audit-asks-nothing": _one("leases", "churn+memory", Pairwise, "audit", broken_audits.asks_nothing),
    "audit-of-no-client": _one(
        "leases", "churn+memory", StateAudit, "make_local", broken_audits.looks_at_no_client
    ),
    "audit-of-no-publisher": _one(
        "leases",
        "churn+memory",
        RoutingTables,
        "restore_local_advertisements",
        broken_audits.looks_at_no_publisher,
    ),
    "audit-notifies-nobody": _one(
        "leases", "churn+memory", StateAudit, "_notify", broken_audits.notifies_nobody
    ),
    "audit-starts-no-barrier": _one(
        "leases", "churn+memory", RoutingState, "wait_again", broken_audits.starts_no_barrier
    ),
    "audit-owes-nothing": _one("leases", "churn+memory", Repairs, "_owed", broken_audits.owes_nothing),
    "untold-client": _one("gaps", "churn+memory", RoutingState, "restore", broken_audits.sends_no_gap),
    "audit-answered-at-once": _one(
        "leases", "churn+leases", Pairwise, "_questioned", broken_audits.answers_at_once
    ),
    "asks-nobody-else": _one("past", "none", Replays, "asked", broken_replays.asks_nobody_else),
    "holds-nothing-back": _one("past", "none", Playback, "hold", broken_replays.holds_nothing_back),
    "plays-everything": _one("past", "churn", Playback, "_is_new", broken_replays.plays_everything),
    "past-by-clock": _one("past", "churn+clocks", Cursor, "wants", broken_replays.asks_by_the_clock),
    "past-from-the-opening": _one(
        "past", "churn+clocks", Replays, "_begin", broken_replays.asks_from_the_opening
    ),
    "past-mixed-marks": _one("past", "churn+clocks", Positions, "at", broken_replays.mixes_positions),
    "page-left-out": _one("pages", "crash", pages, "_whole", broken_pages.forgets_the_first),
    "last-page-first": _one("pages", "crash", pages, "_marked", broken_pages.begins_with_the_last),
    "acts-on-every-page": _one("pages", "crash", Collector, "take", broken_pages.acts_on_every_page),
    "pages-across-links": Mutant(
        "pages",
        "crash",
        (
            (Collector, "take", broken_pages.goes_on_across_links),
            (Collector, "forget", broken_pages.forgets_nothing),
        ),
    ),
    "withdrawn-page-first": _one(
        "pages", "churn", subscribing, "cut_both", broken_pages.withdraws_first, "covering"
    ),
    "lift-no-hold": _one("moves", "lift", Rising, "holds", broken_lifts.holds_nothing),
    "lift-no-drain": _one("moves", "lift", Pairwise, "open_count", broken_lifts.counts_no_requests),
    "lift-reads-at-once": _one(
        "moves", "lift", BrokerCore, "_arrive", broken_lifts.reads_the_new_link_at_once
    ),
    "lift-held-forgotten": _one("moves", "lift", Rises, "_send_held", broken_lifts.forgets_what_was_held),
    "lift-no-preparation": _one("moves", "lower", Pairwise, "order_above", broken_lifts.orders_nothing_above),
    "lift-older-passes": _one(
        "moves", "lower", Pairwise, "is_ordered_above", broken_lifts.waits_for_nothing_older
    ),
    "lift-late-by-the-old-way": _one(
        "moves", "lift", Lifts, "switched", broken_lifts.passes_the_switch_on_late
    ),
    "lift-interrupts": _one("moves", "lift", Lifts, "targets_below", broken_lifts.interrupts_what_comes_down),
    "lift-own-returns": _one(
        "moves", "lower", Lifts, "_are_publishers_known", broken_lifts.takes_all_for_known
    ),
    "lift-unquiet": _one("moves", "lift", lifting, "is_quiet", broken_lifts.takes_all_for_quiet),
    "lift-switch-behind": _one("moves", "lift", Lifts, "lifted", broken_lifts.switches_behind),
    "lift-no-new-target": _one("moves", "lift", Pairwise, "adopt", broken_lifts.adopts_nothing),
    "lift-no-rest": _one("moves", "lift", Advertising, "adopt_known", broken_lifts.announces_no_rest),
    "lift-waits-for-others": _one(
        "moves", "lift", Barrier, "await_too", broken_lifts.waits_for_the_others_alone
    ),
    "lift-closes-gates": _one(
        "moves", "lift", Subscribing, "_is_covered", broken_lifts.covers_nothing, "covering+simple"
    ),
    "lift-serves-later": _one(
        "moves",
        "lift",
        Subscribing,
        "offer_served",
        broken_lifts.closes_gates_towards_others,
        "covering+simple",
    ),
    "lift-holds-events-alone": _one("moves", "lift", Rises, "hold", broken_lifts.holds_events_alone),
    "lift-torn": _one("moves", "move", Rises, "link_lost", broken_lifts.goes_on_when_torn),
    "lift-parent-forgotten": _one(
        "moves", "move", Lifts, "above_lost", broken_lifts.forgets_the_parent_alone, "covering+simple"
    ),
    "lift-wants-forgotten": _one(
        "moves", "lift", Subscribing, "offer_handed_over", broken_lifts.forgets_its_own_wants
    ),
    "lift-ended-stays": _one("moves", "lift", stepping, "take_over", broken_lifts.keeps_what_has_ended),
    "lift-old-leases": _one("moves", "lift+leases", Lifts, "is_outdated", broken_lifts.takes_old_leases),
    "lift-leases-overtaken": _one("moves", "lift+leases", Pairwise, "drop", broken_lifts.drops_nothing),
    "lift-two-at-once": _one("moves", "lift", MoveSteps, "is_busy", broken_lifts.is_never_busy),
    "steps-from-below": Mutant(
        "moves",
        "lift",
        (
            (MoveSteps, "is_busy", broken_lifts.is_busy_when_it_asks),
            (StepParts, "asked", broken_lifts.takes_its_own_step_at_once),
        ),
    ),
    "steps-old-answers": _one(
        "moves", "move+leases", Rises, "arrive", broken_lifts.takes_old_answers, "covering+simple"
    ),
    "steps-given-up-wait": _one("moves", "lower", MoveSteps, "drop_waiting", broken_lifts.lets_all_wait),
    "move-not-again": _one("moves", "lift", MoveRequests, "_over", broken_lifts.remembers_what_it_left),
    "lift-requests-open": _one("moves", "lower", Pairwise, "_unfinished", broken_lifts.forgets_open_requests),
    "move-unanswered": _one("moves", "lift", MoveRequests, "answered", broken_lifts.sends_nothing_back),
    "move-to-itself": _one("moves", "lower", MoveRequests, "next_step", broken_lifts.goes_to_itself),
    "lower-joins-early": _one("moves", "lower", Rises, "ready", broken_lowers.sends_at_the_switch),
    "lower-keeps-nothing": _one("moves", "lower", Pairwise, "keep_for", broken_lowers.keeps_nothing),
    "lower-keeps-acknowledged": _one(
        "moves", "lower", Pairwise, "keep_for", broken_lowers.keeps_what_is_acknowledged
    ),
    "lower-loss-untold": _one(
        "gaps", "lower+losses", Lowers, "sibling_lost", broken_lowers.notifies_nobody_of_the_loss
    ),
    "lower-wanted-too-late": _one(
        "moves", "lower", Pairwise, "has_passed", broken_lowers.looks_at_nothing_kept, "covering+simple"
    ),
    "lower-own-side-passes": _one(
        "moves", "lower", Pairwise, "_in_step", broken_lowers.own_side_passes, "covering+simple"
    ),
    "lower-not-above": _one("moves", "lower", Pairwise, "keep_wanted", broken_lowers.orders_nothing_above),
    "lower-torn": _one("moves", "move", Lowers, "sibling_lost", broken_lowers.goes_on_when_torn),
    "lower-older-passes": _one("moves", "lower", Lowers, "poll", broken_lowers.waits_for_nothing_older),
    "lower-two-steps": Mutant(
        "moves",
        "lower",
        (
            (Pairwise, "acknowledge_with", broken_lowers.acknowledges_apart),
            (Pairwise, "has_passed", broken_lowers.looks_at_nothing_kept),
        ),
    ),
    "lower-pending-dropped": _one(
        "moves", "lower", Pairwise, "redirect", broken_lowers.drops_what_is_pending
    ),
    "lower-both-ways": _one("moves", "lower", Pairwise, "redirect", broken_lowers.gives_its_own_to_the_child),
    "lower-for-all": _one("moves", "lower", Pairwise, "redirect", broken_lowers.gives_the_childs_to_all),
    "lower-settled-overtakes": _one("moves", "lower", Lowers, "lower", broken_lowers.settles_at_once),
    "lower-switch-behind": _one("moves", "lower", Lowers, "lower", broken_lowers.switches_behind),
    "lower-grant-unanswered": _one(
        "moves", "lower", Lowers, "granted", broken_lowers.leaves_grants_unanswered, "covering+simple"
    ),
    "lower-unquiet": _one("moves", "lower", Lowers, "_is_quiet", broken_lowers.takes_all_for_quiet),
    "lower-old-leases": _one("moves", "lower+leases", Lowers, "is_outdated", broken_lowers.takes_old_leases),
    "grants-everybody": _one("R9", "crash", Attachments, "_decide", broken.grants_everybody),
    **WHOLE_MUTANTS,
}
"""Every mutant, by name; those of whole brokers and clients are for `--whole`."""


@contextmanager
def applied(name: str | None) -> Iterator[None]:
    """Break the rule of a mutant in every core while this lasts; None breaks none."""
    changes = MUTANTS[name].changes if name else ()
    before = [(owner, attribute, owner.__dict__[attribute]) for owner, attribute, _ in changes]
    try:
        for owner, attribute, instead in changes:
            setattr(owner, attribute, instead)
        yield
    finally:
        for owner, attribute, whole in before:
            setattr(owner, attribute, whole)
