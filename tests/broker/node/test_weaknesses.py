"""Every weakness that was weakness, broken again in its single place: the attack on it must find that.

An attack is a test of its own elsewhere; here it runs on a product with one thing less, and fails. Findings
have the numbers of the table in the threat model.
"""

import ast
import inspect
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import cast

import pytest
import trio
from attrs import define, field
from starlette.types import Scope

from broker import lines
from broker.core import pages
from broker.filters import language, numbers
from broker.filters.limits import Steps
from broker.filters.syntax import NodeError
from broker.journal import Journal, descriptors
from broker.journal import journal as journals
from broker.journal.files import SystemFiles
from broker.matching import equality
from broker.messages import Flush, Hello
from broker.node import answers, clients, subscriptions
from broker.node import node as nodes
from broker.node.access import EVERYBODY, ROLES, Access, User
from broker.node.budget import Account
from broker.node.clients import ClientSession
from broker.node.connection import Connection
from broker.node.exchange import Exchange
from broker.node.greeting import Callee
from broker.node.limits import NodeLimits
from broker.node.newcomers import Newcomers
from broker.node.node import Node
from broker.node.rates import Rate
from broker.node.subscriptions import LocalSubscription
from broker.replay.retention import Cursor, Retention
from broker.wire import WireError
from examples.pages import guarding
from tests.broker import test_lines
from tests.broker.core import test_pages, test_replays
from tests.broker.filters import test_hostile
from tests.broker.journal import test_descriptors, test_displaced
from tests.broker.journal.test_descriptors import others
from tests.broker.matching import test_equality
from tests.broker.node import test_attacks as attacks
from tests.broker.node import test_shares as shares
from tests.broker.server import test_auth
from tests.examples.pages import test_guarding
from tests.sources import ROOT

__all__ = ["others"]

KIB = 1024
WITHOUT_END = 10**12

Patch = pytest.MonkeyPatch


@define(eq=False)
class Fixed:
    """What was weakness: `breaks` undoes it, and `attack` fails then, called with the values of `given`."""

    finding: int
    breaks: Callable[[Patch], None]
    attack: Callable[..., object]
    given: Mapping[str, object] = field(factory=dict)
    failure: type[BaseException] = AssertionError

    @property
    def name(self) -> str:
        return f"{self.finding}-{self.breaks.__name__.strip('_')}-{self.attack.__name__}"

    def run(self, request: pytest.FixtureRequest) -> None:
        """Attack; what is not given is a fixture."""
        names = [each for each in inspect.signature(self.attack).parameters if each not in self.given]
        values = {each: request.getfixturevalue(each) for each in names if each != "broker"}
        attack = partial(self.attack, **self.given, **values)
        if inspect.iscoroutinefunction(self.attack):
            trio.run(cast("Callable[[], Awaitable[None]]", attack))
        elif "broker" in names:
            with attacks.shared() as broker:
                attack(broker=broker)
        else:
            attack()

    def is_found(self) -> AbstractContextManager[object]:
        """What runs within fails as the attack does when it succeeds, and not because it cannot be run."""
        if inspect.iscoroutinefunction(self.attack):
            return pytest.RaisesGroup(AssertionError, flatten_subgroups=True)
        return pytest.raises(self.failure)


def set_for_good(patch: Patch, owner: type, name: str, value: object) -> None:
    """Whatever is written to the field, it reads as this value."""
    patch.setattr(owner, name, property(lambda _: value, lambda *_: None))


# --- filters ----------------------------------------------------------------------------------------------


def a_filter_is_printed_from_its_tree(patch: Patch) -> None:
    def printed(error: NodeError, _: str) -> str:
        return ast.unparse(error.node)

    patch.setattr(language, "_reason", printed)


def a_filter_may_fail_as_it_likes(patch: Patch) -> None:
    a_filter_is_printed_from_its_tree(patch)
    patch.setattr(clients, "parse", lambda text: language._parsed(text, language._Expansion()))


def defects_are_not_contained(patch: Patch) -> None:
    def contain(_: Exchange, __: Connection, error: Exception) -> None:
        raise error

    patch.setattr(Exchange, "contain", contain)


def steps_are_not_counted(patch: Patch) -> None:
    patch.setattr(Steps, "take", lambda *_: None)


def numbers_are_hashed_plainly(patch: Patch) -> None:
    patch.setattr(numbers, "_hash", lambda found: hash(frozenset(found)))


def bounds_are_hashed_plainly(patch: Patch) -> None:
    patch.setattr(numbers, "label", hash)


def numbers_are_keys_themselves(patch: Patch) -> None:
    patch.setattr(equality, "may_collide", lambda _: False)


# --- pages ------------------------------------------------------------------------------------------------


def answers_are_not_cut(patch: Patch) -> None:
    patch.setattr(answers, "cut", lambda lines, _: [tuple(lines)])


def lines_may_be_long(patch: Patch) -> None:
    patch.setattr(lines, "LINE_BYTES", WITHOUT_END)


def tables_are_not_cut(patch: Patch) -> None:
    patch.setattr(pages, "_ends", lambda sizes, _: [len(sizes)])


def what_is_collected_is_not_counted(patch: Patch) -> None:
    patch.setattr(pages, "_check_bounds", lambda *_: None)


# --- connections and work -----------------------------------------------------------------------------------


def who_does_not_greet_is_not_counted(patch: Patch) -> None:
    patch.setattr(Newcomers, "pop_surplus", lambda _: None)


def connections_have_no_limit(patch: Patch) -> None:
    set_for_good(patch, NodeLimits, "connections", WITHOUT_END)


def there_is_no_reserve(patch: Patch) -> None:
    patch.setattr(descriptors, "RESERVE", 0)


def filters_cost_nothing(patch: Patch) -> None:
    patch.setattr(clients, "UNIT_STEPS", WITHOUT_END)


def requests_are_decoded_without_end(patch: Patch) -> None:
    patch.setattr(nodes, "CONTROLS_MAX", WITHOUT_END)


def everybody_has_rights(patch: Patch) -> None:
    patch.setattr(User, "may", lambda *_: True)


def everybody_may_explain(patch: Patch) -> None:
    before = User.may
    patch.setattr(User, "may", lambda self, verb: verb == "explain" or before(self, verb))


def accounts_refuse_nothing(patch: Patch) -> None:
    patch.setattr(Account, "full", lambda *_: None)


def what_is_not_confirmed_is_not_counted(patch: Patch) -> None:
    set_for_good(patch, LocalSubscription, "unconfirmed_bytes", 0)


def the_largest_makes_room(patch: Patch) -> None:
    patch.setattr(subscriptions, "STALLED_S", WITHOUT_END)


def events_take_their_frames_alone(patch: Patch) -> None:
    patch.setattr(subscriptions, "EVENT_BYTES", 0)


def everybody_has_room(patch: Patch) -> None:
    patch.setattr(answers.Later, "has_room", property(lambda _: True))


def addresses_have_no_limit(patch: Patch) -> None:
    set_for_good(patch, NodeLimits, "address_connections", WITHOUT_END)


def nobody_has_to_rest(patch: Patch) -> None:
    patch.setattr(Rate, "take", lambda *_: 0.0)


def nobody_is_paused(patch: Patch) -> None:
    patch.setattr(Node, "_should_pause", lambda *_: False)


# --- publishers and replays ---------------------------------------------------------------------------------


def ones_own_publisher_is_resumed(patch: Patch) -> None:
    patch.setattr(ClientSession, "_resumed", lambda self, name, _: self._exchange.publishers.get(name))


def labels_have_no_user(patch: Patch) -> None:
    before = ClientSession.__attrs_post_init__

    def make(self: ClientSession) -> None:
        before(self)
        self._label = self.name

    patch.setattr(ClientSession, "__attrs_post_init__", make)


def replays_have_no_limit(patch: Patch) -> None:
    patch.setattr(ClientSession, "_refusal_of_replay", lambda _: "")


def a_cursor_copies(patch: Patch) -> None:
    before, copies = Retention.open, list[bytes]()

    def open_(self: Retention, upto: int, since_ns: int, *, newest_first: bool) -> Cursor:
        copies.append(bytes(64 * KIB))
        return before(self, upto, since_ns, newest_first=newest_first)

    patch.setattr(Retention, "open", open_)


# --- who is who ---------------------------------------------------------------------------------------------


def certificates_say_nothing(patch: Patch) -> None:
    patch.setattr(Access, "_certified", lambda *_: EVERYBODY)


def certificates_are_not_asked_for(patch: Patch) -> None:
    set_for_good(patch, Access, "asks_for_certificates", False)


def users_have_all_roles(patch: Patch) -> None:
    set_for_good(patch, User, "roles", ROLES)


def names_are_anybodys(patch: Patch) -> None:
    patch.setattr(Callee, "_theft", lambda *_: None)


def neighbours_are_not_asked(patch: Patch) -> None:
    def replace(self: Callee, hello: Hello, _: Connection) -> None:
        self._replace(hello, self.context.neighbour(hello.name))

    patch.setattr(Callee, "_begin_probe", replace)


def every_host_is_served(patch: Patch) -> None:
    before = guarding._served

    def served(scope: Scope) -> list[str]:
        return [*before(scope), guarding._only(scope["headers"], b"host").lower()]

    patch.setattr(guarding, "_served", served)


def every_origin_is_ours(patch: Patch) -> None:
    before = guarding._only

    def only(headers: list[guarding.Header], name: bytes) -> str:
        return f"http://{before(headers, b'host').lower()}" if name == b"origin" else before(headers, name)

    patch.setattr(guarding, "_only", only)


def every_token_is_good(patch: Patch) -> None:
    patch.setattr(guarding, "compare_digest", lambda *_: True)


# --- the journal --------------------------------------------------------------------------------------------


def nobody_looks_for_the_directory(patch: Patch) -> None:
    patch.setattr(SystemFiles, "displaced", lambda _: "")


def nobody_looks_before_writing(patch: Patch) -> None:
    patch.setattr(Journal, "_check_files", lambda _: None)


# --- all of them --------------------------------------------------------------------------------------------

POWERS = {"which": "powers in a call"}
STEPS = {"text": f"x == 1 or {test_hostile.EXPENSIVE['suffixes and a set']}", "code": "steps", "column": 1}
MOVED = {"displace": test_displaced.moved, "what": "was moved or deleted"}
EMPTIED = {"displace": test_displaced.emptied, "what": "files in it were deleted"}

SILENCE = pytest.fail.Exception
"""An error was expected, and there was none."""

NOTHING_SAID = ValueError
"""One message was expected, and there was none."""

FIXED = [
    Fixed(
        1,
        a_filter_is_printed_from_its_tree,
        test_hostile.test_a_hostile_text_is_refused_in_one_short_line,
        POWERS,
    ),
    Fixed(
        1,
        a_filter_may_fail_as_it_likes,
        attacks.test_a_filter_that_is_too_deep_to_print_is_refused_like_any_other,
        failure=NOTHING_SAID,
    ),
    Fixed(
        1,
        defects_are_not_contained,
        attacks.test_a_defect_that_hurt_nothing_ends_the_connection_that_met_it,
        failure=RecursionError,
    ),
    Fixed(2, answers_are_not_cut, attacks.test_an_answer_that_is_long_comes_in_pages_that_fit_into_frames),
    Fixed(2, lines_may_be_long, test_lines.test_a_long_filter_ends_with_an_ellipsis_and_its_length),
    Fixed(2, lines_may_be_long, test_lines.test_a_long_list_says_how_many_more_there_are),
    Fixed(
        3,
        tables_are_not_cut,
        test_pages.test_large_tables_cross_new_links_in_small_frames,
        {"routing": "covering"},
        failure=WireError,
    ),
    Fixed(3, what_is_collected_is_not_counted, test_pages.test_what_is_collected_is_bounded, failure=SILENCE),
    Fixed(4, who_does_not_greet_is_not_counted, shares.test_connections_that_say_nothing_are_bounded_and_end),
    Fixed(4, connections_have_no_limit, shares.test_connections_are_bounded_and_one_that_ends_makes_room),
    Fixed(
        4,
        addresses_have_no_limit,
        shares.test_connections_of_an_address_are_bounded_and_those_of_others_are_not,
    ),
    Fixed(4, there_is_no_reserve, test_descriptors.test_a_journal_goes_on_when_others_have_every_descriptor),
    Fixed(5, everybody_has_rights, attacks.test_rights_come_before_work),
    Fixed(5, filters_cost_nothing, attacks.test_requests_beyond_the_work_of_a_step_wait_for_the_next_one),
    Fixed(
        5, requests_are_decoded_without_end, attacks.test_no_more_requests_are_decoded_than_a_step_can_handle
    ),
    Fixed(
        5,
        steps_are_not_counted,
        test_hostile.test_a_limit_of_work_is_named_with_its_place,
        {**STEPS, "words": ""},
        failure=SILENCE,
    ),
    Fixed(
        5,
        accounts_refuse_nothing,
        shares.test_requests_are_bounded_and_say_by_what,
        {"limit": {"requests": 3}, "owner": ""},
    ),
    Fixed(
        5,
        nobody_has_to_rest,
        shares.test_a_client_that_subscribes_and_unsubscribes_over_and_over_is_slowed_down,
        {"limits": NodeLimits(requests=10, changes_per_s=5)},
    ),
    Fixed(
        6,
        what_is_not_confirmed_is_not_counted,
        shares.test_credit_without_end_keeps_no_queue_above_its_bound,
        failure=NOTHING_SAID,
    ),
    Fixed(6, accounts_refuse_nothing, shares.test_many_queues_of_one_user_are_bounded_together),
    Fixed(
        6,
        the_largest_makes_room,
        shares.test_the_user_that_keeps_most_loses_when_all_have_too_much,
        {"limit": {"kept_bytes": 1024 * KIB}, "policy": "drop"},
    ),
    Fixed(6, events_take_their_frames_alone, shares.test_small_events_count_what_they_take),
    Fixed(
        7,
        nobody_is_paused,
        attacks.test_a_client_that_does_not_read_its_answers_is_not_read_either,
        {"question": Flush},
    ),
    Fixed(7, nobody_is_paused, attacks.test_refusals_that_nobody_reads_stop_the_reading),
    Fixed(
        7,
        everybody_has_room,
        attacks.test_a_peer_that_does_not_read_gets_no_notice_of_every_change,
    ),
    Fixed(
        7,
        everybody_has_room,
        attacks.test_a_long_answer_waits_for_a_client_that_does_not_read_and_so_do_later_frames,
    ),
    Fixed(8, ones_own_publisher_is_resumed, attacks.test_resuming_ones_own_live_publisher_leaves_no_ghost),
    Fixed(
        9,
        replays_have_no_limit,
        shares.test_replays_that_are_held_open_are_bounded,
        {"limit": {"replays": 3}, "text": ""},
    ),
    Fixed(9, a_cursor_copies, test_replays.test_three_hundred_open_replays_take_a_few_megabytes),
    Fixed(
        10,
        numbers_are_hashed_plainly,
        test_hostile.test_numbers_of_one_hash_do_not_make_constraints_of_one_hash,
        {"pattern": "x == {1}"},
    ),
    Fixed(
        10,
        bounds_are_hashed_plainly,
        test_hostile.test_numbers_of_one_hash_do_not_make_constraints_of_one_hash,
        {"pattern": "x > {1}"},
    ),
    Fixed(
        10,
        numbers_are_keys_themselves,
        test_equality.test_keys_of_numbers_that_python_hashes_alike_have_hashes_of_their_own,
        {"sign": 1},
    ),
    Fixed(
        11,
        every_host_is_served,
        test_guarding.test_a_name_that_was_made_to_resolve_to_this_machine_is_refused,
        {"path": "/"},
    ),
    Fixed(
        11,
        every_origin_is_ours,
        test_guarding.test_another_pages_socket_is_refused_in_words,
        {"origin": test_guarding.FOREIGN},
    ),
    Fixed(11, every_token_is_good, test_guarding.test_a_socket_needs_the_token_of_the_page),
    Fixed(
        12,
        certificates_say_nothing,
        attacks.test_without_users_a_certificate_is_a_clients_unless_it_is_said_to_be_a_brokers,
    ),
    Fixed(
        12,
        certificates_are_not_asked_for,
        attacks.test_who_has_an_authority_asks_for_certificates_and_knows_brokers_by_theirs,
    ),
    Fixed(12, users_have_all_roles, test_auth.test_a_client_may_not_be_a_broker_unless_its_roles_say_so),
    Fixed(
        13,
        neighbours_are_not_asked,
        attacks.test_a_live_neighbour_is_not_replaced_by_a_peer_that_knows_its_incarnation,
        failure=NOTHING_SAID,
    ),
    Fixed(
        13,
        names_are_anybodys,
        attacks.test_a_neighbours_name_belongs_to_the_user_that_first_took_it,
        failure=NOTHING_SAID,
    ),
    Fixed(
        14,
        nobody_looks_for_the_directory,
        test_displaced.test_nothing_is_confirmed_after_the_directory_is_gone,
        MOVED,
        failure=SILENCE,
    ),
    Fixed(
        14,
        nobody_looks_before_writing,
        test_displaced.test_nothing_is_confirmed_after_the_directory_is_gone,
        EMPTIED,
        failure=SILENCE,
    ),
    Fixed(
        14,
        nobody_looks_for_the_directory,
        test_displaced.test_a_directory_that_is_exchanged_while_it_is_opened_is_refused,
        failure=SILENCE,
    ),
    Fixed(15, everybody_may_explain, attacks.test_rights_come_before_work),
    Fixed(15, labels_have_no_user, attacks.test_the_name_of_the_user_is_in_the_ids_that_all_read),
]


@pytest.fixture(autouse=True)
def _looks_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "CHECK_S", 0.0)


@pytest.mark.parametrize("weakness", FIXED, ids=lambda weakness: weakness.name)
def test_a_weakness_that_is_put_back_is_found(
    weakness: Fixed, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    weakness.breaks(monkeypatch)
    with weakness.is_found():
        weakness.run(request)


@pytest.mark.parametrize("weakness", FIXED, ids=lambda weakness: weakness.name)
def test_as_long_as_nothing_is_broken_nothing_is_found(
    weakness: Fixed, request: pytest.FixtureRequest
) -> None:
    weakness.run(request)


def rows() -> Iterator[tuple[int, list[str], list[str]]]:
    """Number, modules and tests of each finding in the threat model."""
    text = (ROOT / "docs" / "reference" / "threat-model.md").read_text(encoding="utf-8")
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0].isdecimal():
            modules, tests = (re.findall(r"`([^`]+)`", cell) for cell in cells[2:])
            yield int(cells[0]), modules, tests


@pytest.mark.parametrize(("number", "modules", "tests"), list(rows()))
def test_the_threat_model_names_the_fix_and_the_test(
    number: int, modules: list[str], tests: list[str]
) -> None:
    assert all((ROOT / module).exists() for module in modules)
    shown = dict.fromkeys(each.attack.__name__ for each in FIXED if each.finding == number)
    assert tests == list(shown)


def test_every_finding_is_broken_again() -> None:
    assert [number for number, _, _ in rows()] == list(range(1, 16)) == sorted({w.finding for w in FIXED})
