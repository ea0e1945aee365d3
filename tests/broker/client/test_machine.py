"""Connections that fail, break, fall silent and resume: the machine alone, with time passed in."""

import subprocess
import sys
from math import inf
from random import Random

import attrs
import pytest

from broker import messages as m
from broker.backoff import FIRST_S, LONGEST_S, TRIES_WHILE_KEPT, Backoff
from broker.client.life import TRANSITIONS, ClientLife, StateChange, Wants
from broker.client.limits import Limits
from broker.client.machine import FAREWELL_S, KEPT_HEARTBEATS, ClientMachine
from broker.client.session import Session
from broker.errors import BrokerFaultError, ClosedError, ConnectionFailedError, ConnectionLostError
from broker.wire import encode
from tests.broker.client.scripted import ADDRESS, HEARTBEAT_MS, frame, welcome
from tests.broker.client.talk import BEGUN_S, Talk, connected, sequences, subscription
from tests.sources import ROOT

HEARTBEAT_S = HEARTBEAT_MS / 1000
KEPT_S = KEPT_HEARTBEATS * HEARTBEAT_S
QUIET = Limits(flush_interval_s=1e9)
"""Nothing but what is tested happens by itself."""


@pytest.fixture
def talk() -> Talk:
    return connected(QUIET)


# --- life ---


def test_every_state_can_be_come_to_and_ends_closed() -> None:
    assert set(TRANSITIONS) == set(ClientLife)
    assert set().union(*TRANSITIONS.values()) == set(ClientLife) - {ClientLife.IDLE}
    assert [life for life in ClientLife if ClientLife.CLOSED not in TRANSITIONS[life]] == [ClientLife.CLOSED]
    assert not TRANSITIONS[ClientLife.CLOSED]


@pytest.mark.parametrize("life", ClientLife)
def test_a_step_that_is_not_in_the_table_is_a_mistake(life: ClientLife) -> None:
    for after in set(ClientLife) - TRANSITIONS[life]:
        machine = ClientMachine(Session("alice", "i0", "", Limits()), ADDRESS, Backoff(Random(1)))
        machine.life = life
        with pytest.raises(AssertionError, match="is not followed by"):
            machine._enter(after, inf)


def test_a_client_dials_greets_and_is_connected() -> None:
    talk = Talk()
    lives = [talk.life()]
    assert talk.wants() is Wants.DIAL
    talk.machine.dialling(talk.now_s)
    assert talk.wants() is Wants.NOTHING
    talk.machine.connected(talk.now_s)
    lives.append(talk.life())
    assert talk.machine.state == "reconnecting"
    talk.say(welcome())
    lives.append(talk.life())
    assert lives == [ClientLife.DIALLING, ClientLife.GREETING, ClientLife.CONNECTED]
    assert talk.changes == [StateChange("connected", ADDRESS, "the broker answered")]
    assert talk.machine.state == "connected"
    assert talk.machine.was_connected


def test_a_machine_that_has_not_begun_wants_nothing() -> None:
    machine = ClientMachine(Session("alice", "i0", "", Limits()), ADDRESS, Backoff(Random(1)))
    assert machine.wants is Wants.NOTHING
    assert machine.next_deadline() == inf
    machine.close(0)
    assert machine.state == "closed"
    assert machine.take_output() == b""


def test_the_machine_does_not_load_trio() -> None:
    program = (
        "import sys, broker.client.machine, broker.client.outbox, broker.client.reading, "
        "broker.client.options, broker.client.questions; sys.exit('trio' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)  # noqa: S603 - written here


# --- attempts ---


def test_a_first_connection_that_fails_is_a_failure_that_says_where_and_why() -> None:
    talk = Talk()
    talk.refuse()
    assert talk.life() is ClientLife.CLOSED
    failure = talk.machine.failure
    assert isinstance(failure, ConnectionFailedError)
    assert str(failure) == f"cannot connect to {ADDRESS}: connection refused"
    assert failure.address == ADDRESS
    assert talk.changes == []
    assert talk.wants() is Wants.NOTHING


def test_with_retry_attempts_are_made_with_growing_waits() -> None:
    talk = Talk(retry=True)
    longest_s = FIRST_S
    for _ in range(12):
        talk.refuse()
        assert talk.life() is ClientLife.WAITING
        waited_s = talk.pass_to_deadline()
        assert longest_s / 2 <= waited_s <= longest_s * 1.001
        longest_s = min(LONGEST_S, longest_s * 2)
    assert longest_s == LONGEST_S
    assert talk.changes == []
    talk.connect()
    assert talk.states == ["connected"]


@pytest.mark.parametrize("is_open", [False, True])
def test_a_broker_that_does_not_answer_is_given_up(*, is_open: bool) -> None:
    talk = Talk()
    talk.machine.dialling(talk.now_s)
    if is_open:
        talk.pass_s(QUIET.connect_timeout_s / 2)
        talk.machine.connected(talk.now_s)
    assert talk.machine.next_deadline() == BEGUN_S + QUIET.connect_timeout_s
    talk.pass_to_deadline()
    assert "no answer within 10 s" in str(talk.machine.failure)
    talk.close()
    assert talk.wants() is Wants.NOTHING


def test_the_next_attempt_waits_until_the_old_transport_is_gone() -> None:
    talk = Talk(retry=True)
    talk.open()
    talk.pass_s(QUIET.connect_timeout_s)
    assert talk.wants() is Wants.CLOSE
    talk.pass_s(60)
    assert (talk.life(), talk.machine.next_deadline()) == (ClientLife.WAITING, inf)
    talk.machine.tick(talk.now_s)
    assert talk.life() is ClientLife.WAITING
    talk.machine.is_changed = False
    talk.close()
    assert talk.machine.is_changed
    talk.pass_to_deadline()
    assert talk.wants() is Wants.DIAL


def test_a_transport_that_opens_too_late_is_not_used() -> None:
    talk = Talk(retry=True)
    talk.machine.dialling(talk.now_s)
    talk.pass_s(QUIET.connect_timeout_s)
    talk.machine.connected(talk.now_s)
    talk.say(welcome())
    assert talk.machine.take_output() == b""
    assert (talk.life(), talk.wants()) == (ClientLife.WAITING, Wants.CLOSE)


def test_an_end_in_the_place_of_an_answer_questions_the_service_at_the_address() -> None:
    talk = Talk()
    talk.open()
    talk.machine.lost(None, talk.now_s)
    assert str(talk.machine.failure).endswith("no answer but the end; does a broker listen there?")


@pytest.mark.parametrize("retry", [False, True])
def test_a_broker_that_refuses_the_client_is_not_asked_again(*, retry: bool) -> None:
    talk = Talk(retry=retry)
    talk.open()
    talk.say(m.Fault("auth", "no user with this token"))
    assert isinstance(talk.machine.failure, BrokerFaultError)
    assert talk.machine.failure.code == "auth"
    assert (talk.life(), talk.wants()) == (ClientLife.CLOSED, Wants.CLOSE)


@pytest.mark.parametrize("code", ["closing", "restarting", "busy", "replaced", "silent"])
def test_a_broker_that_cannot_answer_now_is_asked_again(code: str) -> None:
    talk = Talk(retry=True)
    talk.open()
    talk.say(welcome(), m.Fault(code, "not now"))
    assert (talk.life(), talk.session.welcome) == (ClientLife.WAITING, None)
    assert "not now" in talk.machine.reason
    talk.close()
    talk.connect()
    assert talk.states == ["connected"]


def test_a_heartbeat_of_nothing_is_refused() -> None:
    talk = Talk()
    talk.open()
    talk.say(attrs.evolve(welcome(), heartbeat_ms=0))
    assert "a heartbeat of 0 ms" in str(talk.machine.failure)


# --- silence ---


def test_a_silent_broker_is_asked_after_a_heartbeat_and_lost_after_another(talk: Talk) -> None:
    assert talk.pass_to_deadline() == HEARTBEAT_S
    assert talk.frames_sent() == [m.Ping(1)]
    assert talk.pass_to_deadline() == HEARTBEAT_S
    assert talk.life() is ClientLife.CONNECTED
    assert talk.pass_to_deadline() == pytest.approx(HEARTBEAT_S / 10)
    assert talk.changes[1] == StateChange("reconnecting", ADDRESS, "nothing came from the broker for 20 s")
    assert talk.wants() is Wants.CLOSE


def test_whatever_comes_is_a_sign_of_life(talk: Talk) -> None:
    for number in range(1, 4):
        talk.pass_s(HEARTBEAT_S)
        assert talk.frames_sent() == [m.Ping(number)]
        talk.pass_s(HEARTBEAT_S * 1.05)
        talk.machine.received(encode(m.Pong(number))[:3], talk.now_s)
        assert talk.machine.next_deadline() == talk.now_s + HEARTBEAT_S
        talk.machine.received(encode(m.Pong(number))[3:], talk.now_s)
    assert talk.states == ["connected"]


def test_a_client_that_only_receives_still_sends_signs_of_life() -> None:
    talk = connected(Limits())
    frame = encode(m.Pong(1))
    for place in range(len(frame)):
        talk.machine.received(frame[place : place + 1], talk.now_s)
        talk.pass_s(HEARTBEAT_S / 2)
    assert m.Pong(0) in talk.frames_sent()


def test_a_process_that_was_suspended_pings_before_it_gives_up(talk: Talk) -> None:
    talk.now_s += 100 * HEARTBEAT_S
    talk.machine.tick(talk.now_s)
    assert talk.frames_sent() == [m.Ping(1)]
    assert talk.machine.next_deadline() == talk.now_s + HEARTBEAT_S
    talk.now_s += 100 * HEARTBEAT_S
    talk.machine.tick(talk.now_s)
    assert talk.life() is ClientLife.CONNECTED
    talk.say(m.Pong(1))
    assert talk.machine.next_deadline() == talk.now_s + HEARTBEAT_S


def test_each_connection_is_asked_before_it_is_lost(talk: Talk) -> None:
    for _ in range(2):
        talk.pass_s(2.1 * HEARTBEAT_S)
        talk.close()
        talk.connect()
    talk.pass_s(2 * HEARTBEAT_S)
    assert talk.frames_sent() == [m.Ping(3)]
    assert talk.life() is ClientLife.CONNECTED


# --- what is due by itself ---


def test_a_slow_publishers_window_empties_by_itself_and_each_time() -> None:
    talk = connected()
    source = talk.publisher()
    for number in (2, 3):
        talk.publish(source)
        assert sequences(talk.frames_sent()) == [(source.id, number - 1)]
        assert talk.pass_to_deadline() <= talk.limits.flush_interval_s
        assert talk.frames_sent() == [m.Flush(number)]
        talk.say(m.Flushed(number))
    assert talk.session.window.is_empty


def test_the_progress_of_a_durable_subscription_is_said_by_itself() -> None:
    talk = connected()
    inbox = subscription(durable="audit")
    talk.session.subscribe(inbox, talk.now_s)
    talk.frames_sent()
    talk.say(m.Placed(1, "S", 0, goes_on=False), m.Deliver(1, 2), *[frame(1, bytes(4000))] * 2)
    inbox.take()
    talk.session.credit(inbox, 2)
    talk.pass_to_deadline()
    assert talk.frames_sent() == [m.Credit(1, 0, 2)]


# --- losing and resuming ---


def test_a_lost_connection_is_made_again_and_said(talk: Talk) -> None:
    talk.reconnect()
    assert talk.changes == [
        StateChange("connected", ADDRESS, "the broker answered"),
        StateChange("reconnecting", ADDRESS, "broken pipe"),
        StateChange("connected", ADDRESS, "the broker answered"),
    ]


def test_what_was_to_be_said_on_a_lost_connection_is_not_said(talk: Talk) -> None:
    talk.session.advertise("True")
    talk.say(m.Ping(1))
    assert talk.machine.has_output
    talk.lose()
    assert (talk.life(), talk.machine.has_output) == (ClientLife.WAITING, False)
    assert talk.machine.take_output() == b""


def test_a_broker_that_greets_and_breaks_off_at_once_is_not_dialled_in_a_loop(talk: Talk) -> None:
    waits_s = []
    for _ in range(8):
        talk.lose()
        waits_s.append(talk.pass_to_deadline())
        talk.connect()
    assert waits_s[0] <= FIRST_S
    assert all(wait_s >= KEPT_S / TRIES_WHILE_KEPT / 2 for wait_s in waits_s[-3:])


def test_after_a_connection_that_lasted_the_first_wait_is_short_again(talk: Talk) -> None:
    for _ in range(8):
        talk.reconnect()
    talk.pass_s(LONGEST_S * 1.01)
    talk.lose()
    assert talk.pass_to_deadline() <= FIRST_S * 1.001


def test_a_broker_is_dialled_often_as_long_as_it_keeps_the_session(talk: Talk) -> None:
    talk.lose()
    counts = []
    for _ in range(2):
        count, end_s = 0, talk.now_s + KEPT_S
        while talk.machine.next_deadline() < end_s:
            talk.pass_to_deadline()
            talk.refuse()
            count += 1
        talk.pass_s(end_s - talk.now_s)
        counts.append(count)
    often, seldom = counts
    assert often >= TRIES_WHILE_KEPT
    assert seldom < TRIES_WHILE_KEPT / 2


def test_a_client_with_a_time_limit_gives_up_in_time() -> None:
    talk = connected(Limits(reconnect_timeout_s=30))
    talk.lose()
    lost_s = talk.now_s
    while talk.life() is not ClientLife.CLOSED:
        talk.pass_to_deadline()
        if talk.wants() is Wants.DIAL:
            talk.refuse()
    assert talk.now_s == lost_s + 30
    assert str(talk.machine.failure) == f"no connection to {ADDRESS} for 30 s; gave up"
    assert talk.states == ["connected", "reconnecting", "closed"]
    with pytest.raises(ConnectionLostError, match="gave up"):
        talk.machine.check()


def test_the_time_to_give_up_begins_anew_with_each_loss() -> None:
    talk = connected(Limits(reconnect_timeout_s=30))
    for _ in range(5):
        talk.lose()
        talk.pass_to_deadline()
        talk.refuse()
        talk.pass_s(20)
        talk.connect()
    assert talk.machine.failure is None


def test_a_first_connection_is_waited_for_however_long_it_takes() -> None:
    talk = Talk(Limits(reconnect_timeout_s=30), retry=True)
    while talk.now_s < BEGUN_S + 100:
        talk.refuse()
        talk.pass_to_deadline()
    assert talk.machine.failure is None


def test_a_broker_that_shuts_down_is_waited_for(talk: Talk) -> None:
    talk.say(m.Fault("closing", "the broker is shutting down"))
    assert "shutting down" in talk.changes[1].reason
    assert talk.wants() is Wants.CLOSE
    talk.close()
    talk.connect()
    assert talk.machine.state == "connected"


def test_a_fault_that_waiting_does_not_heal_is_raised_with_its_cause(talk: Talk) -> None:
    talk.say(m.Fault("sequence", "a jump"))
    assert talk.states == ["connected", "closed"]
    for _ in range(2):
        with pytest.raises(BrokerFaultError, match="a jump") as caught:
            talk.machine.check()
        assert caught.value.code == "sequence"
        assert caught.value.__cause__ is talk.machine.failure


def test_an_error_of_the_shell_closes_the_client_and_the_first_one_counts(talk: Talk) -> None:
    talk.machine.fail(KeyError("mine"), talk.now_s)
    talk.machine.fail(ValueError("later"), talk.now_s)
    assert talk.wants() is Wants.CLOSE
    with pytest.raises(ConnectionLostError, match="KeyError") as caught:
        talk.machine.check()
    assert isinstance(caught.value.__cause__, KeyError)
    assert talk.states == ["connected", "closed"]


def test_what_comes_after_the_end_is_not_read(talk: Talk) -> None:
    inbox = talk.subscription()
    talk.machine.fail(KeyError("mine"), talk.now_s)
    talk.say(m.Deliver(1, 1), frame(1), m.Ping(1))
    assert inbox.take() is None
    assert not talk.machine.has_output
    talk.close()


def test_publishers_come_by_when_the_state_has_changed(talk: Talk) -> None:
    window = talk.session.window
    for change in (talk.lose, talk.connect, lambda: talk.machine.fail(KeyError(), talk.now_s)):
        window.refill()
        assert window.quota_bytes
        change()
        assert not window.quota_bytes


# --- leaving ---


def test_a_client_that_leaves_waits_until_everything_is_taken_over_and_sends_goodbye_last(talk: Talk) -> None:
    source = talk.publisher()
    talk.publish(source, 3)
    talk.machine.leave(talk.now_s)
    assert talk.machine.state == "connected"
    *publications, flush = talk.frames_sent()
    assert len(sequences(publications)) == 3
    assert flush == m.Flush(2)
    talk.say(m.Ping(7))
    assert talk.frames_sent() == [m.Pong(7)]
    assert talk.life() is ClientLife.DRAINING
    talk.say(m.Flushed(2))
    (goodbye,) = talk.frames_sent()
    assert isinstance(goodbye, m.Fault)
    assert goodbye.code == "left"
    assert (talk.life(), talk.wants()) == (ClientLife.LEAVING, Wants.NOTHING)
    talk.machine.lost(None, talk.now_s)
    assert (talk.life(), talk.wants()) == (ClientLife.CLOSED, Wants.NOTHING)
    assert talk.machine.failure is None
    assert talk.states == ["connected"]


def test_the_goodbye_waits_for_what_is_being_written(talk: Talk) -> None:
    talk.session.advertise("True")
    talk.machine.take_output()
    talk.machine.leave(talk.now_s)
    assert talk.life() is ClientLife.DRAINING
    assert not talk.machine.has_output
    talk.machine.written(talk.now_s)
    assert talk.life() is ClientLife.LEAVING
    (goodbye,) = talk.frames_sent()
    assert isinstance(goodbye, m.Fault)


def test_nothing_follows_the_goodbye() -> None:
    talk = connected(Limits(credit_first=2, credit_max=2, flush_interval_s=0.1, close_timeout_s=100))
    inbox = talk.subscription()
    talk.say(m.Deliver(1, 2), frame(1), frame(2))
    inbox.take()
    talk.machine.leave(talk.now_s)
    talk.machine.take_output()
    assert talk.life() is ClientLife.LEAVING
    talk.session.credit(inbox, 2)
    talk.session.unsubscribe(inbox)
    talk.say(m.Ping(1))
    talk.pass_s(FAREWELL_S / 2)
    talk.machine.tick(talk.now_s)
    assert talk.machine.take_output() == b""


def test_a_client_that_has_left_can_request_nothing_more(talk: Talk) -> None:
    talk.machine.check()
    talk.machine.close(talk.now_s)
    with pytest.raises(ClosedError, match="'alice' was used after its connect block"):
        talk.machine.check()


def test_a_client_that_leaves_without_a_connection_is_closed_at_once(talk: Talk) -> None:
    talk.publish(talk.publisher())
    talk.lose()
    talk.machine.leave(talk.now_s)
    assert talk.life() is ClientLife.CLOSED
    assert talk.machine.take_output() == b""


def test_leaving_takes_only_so_long_and_ends_with_a_goodbye(talk: Talk) -> None:
    talk.publish(talk.publisher())
    talk.machine.leave(talk.now_s)
    talk.frames_sent()
    assert talk.pass_to_deadline() == QUIET.close_timeout_s
    (goodbye,) = talk.frames_sent()
    assert isinstance(goodbye, m.Fault)
    assert talk.frames_sent() == []
    assert talk.wants() is Wants.CLOSE


@pytest.mark.parametrize("close_timeout_s", [0.25, 10])
def test_a_broker_that_does_not_hang_up_after_the_goodbye_is_not_waited_for(close_timeout_s: float) -> None:
    talk = connected(Limits(close_timeout_s=close_timeout_s))
    talk.machine.leave(talk.now_s)
    talk.frames_sent()
    assert talk.pass_to_deadline() == min(close_timeout_s, FAREWELL_S)
    assert (talk.life(), talk.wants()) == (ClientLife.CLOSED, Wants.CLOSE)
    assert talk.machine.take_output() == b""


def test_a_goodbye_is_not_said_in_the_middle_of_what_is_being_written(talk: Talk) -> None:
    talk.publish(talk.publisher())
    talk.machine.take_output()
    talk.machine.close(talk.now_s)
    assert talk.machine.take_output() == b""


def test_a_client_that_closes_at_once_sends_what_it_can_and_a_goodbye(talk: Talk) -> None:
    talk.publish(talk.publisher())
    talk.machine.close(talk.now_s)
    assert talk.machine.has_output
    publication, goodbye = talk.frames_sent()
    assert isinstance(publication, m.Publication)
    assert isinstance(goodbye, m.Fault)
    assert not talk.machine.has_output


def test_a_connection_lost_while_leaving_is_not_made_again(talk: Talk) -> None:
    talk.publish(talk.publisher())
    talk.machine.leave(talk.now_s)
    talk.lose()
    assert talk.life() is ClientLife.CLOSED
    assert talk.changes[1:] == [StateChange("closed", ADDRESS, "broken pipe")]
    assert talk.machine.failure is None


def test_a_connection_that_breaks_after_the_goodbye_is_no_loss(talk: Talk) -> None:
    talk.machine.leave(talk.now_s)
    talk.machine.take_output()
    talk.lose()
    assert talk.life() is ClientLife.CLOSED
    assert talk.states == ["connected"]


def test_leaving_goes_on_while_the_broker_is_asked_whether_it_is_there() -> None:
    talk = connected(Limits(close_timeout_s=100, flush_interval_s=1e9))
    talk.publish(talk.publisher())
    talk.machine.leave(talk.now_s)
    talk.frames_sent()
    talk.pass_to_deadline()
    assert talk.frames_sent() == [m.Ping(1)]
    talk.pass_s(HEARTBEAT_S * 1.2)
    assert talk.life() is ClientLife.CLOSED
