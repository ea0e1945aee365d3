"""What a client says on its connections and what the answers mean, seen through its machine."""

import pytest
from attrs import AttrsInstance

from broker import messages as m
from broker.client import questions
from broker.client.delivery import Gap
from broker.client.life import ClientLife, Wants
from broker.client.limits import Limits
from broker.client.questions import Forgetting, Question
from broker.errors import (
    BrokerFaultError,
    ConcordError,
    PublisherEndedError,
    RefusedError,
    SlowSubscriberError,
    SubscriptionEndedError,
)
from broker.wire import VERSION
from tests.broker.client.scripted import frame
from tests.broker.client.talk import Talk, connected, sequences, subscription


@pytest.fixture
def talk() -> Talk:
    return connected()


def failure_of(talk: Talk) -> BrokerFaultError:
    """The fault that closed the client."""
    assert talk.life() is ClientLife.CLOSED
    assert isinstance(talk.machine.failure, BrokerFaultError)
    return talk.machine.failure


def test_hello_names_the_client_and_nothing_else_is_sent_before_the_welcome() -> None:
    talk = Talk()
    talk.session.advertise("True")
    talk.open()
    assert talk.frames_sent() == [m.Hello(VERSION, "client", "alice", "i0", "", "secret")]
    assert talk.frames_sent() == []


def test_requests_of_all_kinds_are_numbered_together(talk: Talk) -> None:
    source = talk.publisher()
    talk.subscription()
    talk.publish(source)
    talk.session.window.flush()
    assert m.Flush(3) in talk.frames_sent()


def test_after_a_reconnection_only_what_was_not_taken_is_sent_again(talk: Talk) -> None:
    source = talk.publisher()
    talk.publish(source, 5)
    talk.frames_sent()
    talk.lose()
    talk.publish(source)
    talk.connect()
    (asked,) = talk.frames_sent()
    assert asked == m.Advertise(1, "True", "alice@B1/1")
    talk.publish(source)
    assert talk.frames_sent() == []
    talk.say(m.Advertised(1, "alice@B1/1", 3))
    assert sequences(talk.frames_sent()) == [("alice@B1/1", number) for number in (4, 5, 6, 7)]


def test_nothing_leaves_before_every_publisher_has_been_answered(talk: Talk) -> None:
    one, two = talk.publisher("one"), talk.publisher("two")
    talk.lose()
    talk.publish(one)
    talk.publish(two)
    talk.connect()
    assert len(talk.frames_sent()) == 2
    talk.say(m.Advertised(2, "two", 0))
    assert talk.frames_sent() == []
    talk.say(m.Advertised(1, "one", 0))
    assert sequences(talk.frames_sent()) == [("one", 1), ("two", 1)]


def test_what_is_published_while_a_publisher_resumes_waits_for_the_answer(talk: Talk) -> None:
    source = talk.publisher()
    talk.reconnect()
    talk.frames_sent()
    talk.publish(source)
    assert talk.frames_sent() == []
    talk.say(m.Advertised(1, "alice@B1/1", 0))
    assert sequences(talk.frames_sent()) == [("alice@B1/1", 1)]


def test_a_publisher_that_the_broker_has_forgotten_starts_anew(talk: Talk) -> None:
    source = talk.publisher()
    talk.publish(source, 2)
    talk.frames_sent()
    talk.reconnect()
    talk.frames_sent()
    talk.say(m.Advertised(1, "alice@B2/9", 0))
    assert sequences(talk.frames_sent()) == [("alice@B2/9", 1), ("alice@B2/9", 2)]
    assert (source.id, source.sequence) == ("alice@B2/9", 2)


def test_a_publisher_of_an_earlier_client_goes_on_behind_what_the_broker_took_of_it(talk: Talk) -> None:
    source = talk.session.advertise("True", "alice@B1/7")
    assert talk.frames_sent() == [m.Advertise(1, "True", "alice@B1/7")]
    talk.say(m.Advertised(1, "alice@B1/7", 40))
    assert (source.id, source.sequence) == ("alice@B1/7", 40)
    talk.publish(source)
    assert sequences(talk.frames_sent()) == [("alice@B1/7", 41)]


def test_a_publisher_of_an_earlier_client_that_was_forgotten_gets_another_id(talk: Talk) -> None:
    source = talk.session.advertise("True", "alice@B1/7")
    talk.frames_sent()
    talk.say(m.Advertised(1, "alice@B1/9", 0))
    assert (source.id, source.sequence) == ("alice@B1/9", 0)


def test_a_publisher_that_leaves_is_withdrawn_after_its_last_publication_was_taken(talk: Talk) -> None:
    source = talk.publisher()
    talk.publish(source)
    talk.session.unadvertise(source)
    _, flush = talk.frames_sent()
    assert flush == m.Flush(2)
    talk.say(m.Flushed(2))
    assert talk.frames_sent() == [m.Unadvertise(1)]


def test_a_publisher_that_left_while_the_connection_was_lost_resumes_to_finish(talk: Talk) -> None:
    source = talk.publisher()
    talk.lose()
    talk.publish(source)
    talk.session.unadvertise(source)
    talk.connect()
    assert talk.frames_sent() == [m.Advertise(1, "True", "alice@B1/1")]
    talk.say(m.Advertised(1, "alice@B1/1", 1))
    assert m.Unadvertise(1) in talk.frames_sent()


def test_a_publisher_that_left_is_not_advertised_again(talk: Talk) -> None:
    source = talk.publisher()
    talk.session.unadvertise(source)
    assert talk.frames_sent() == [m.Unadvertise(1)]
    talk.reconnect()
    assert talk.frames_sent() == []


def test_deliveries_go_to_the_subscription_they_were_announced_for(talk: Talk) -> None:
    one, two = talk.subscription(), talk.subscription()
    frames = [frame(number) for number in (1, 2, 3)]
    talk.say(m.Deliver(1, 1), frames[0], m.Deliver(2, 2), frames[1])
    talk.say(frames[2], m.Gap(1, 7))
    assert [one.take(), one.take(), one.take()] == [[frames[0]], Gap(7), None]
    assert [two.take(), two.take(), two.take()] == [[frames[1]], [frames[2]], None]


def test_what_still_comes_for_a_subscription_that_was_left_is_dropped(talk: Talk) -> None:
    left, stays = talk.subscription(), talk.subscription()
    talk.say(m.Deliver(1, 2), frame(1))
    talk.session.unsubscribe(left)
    assert talk.frames_sent() == [m.Unsubscribe(1)]
    talk.say(
        frame(2), m.Deliver(1, 1), frame(3), m.Gap(1, 1), m.Ended(1, "slow", ""), m.Deliver(2, 1), frame(4)
    )
    assert stays.take() == [frame(4)]
    assert left.take() == [frame(1)]
    assert left.take() is None


def test_credit_is_given_when_half_an_allowance_has_been_consumed() -> None:
    talk = connected(Limits(inbox_bytes=40_000))
    inbox = talk.subscription()
    large = frame(1, bytes(1000))
    talk.say(m.Deliver(1, 30), *[large] * 30)
    assert inbox.take() == [large] * 30
    talk.session.credit(inbox, 30)
    assert talk.frames_sent() == []
    talk.say(m.Deliver(1, 990), *[large] * 990)
    inbox.take()
    talk.session.credit(inbox, 990)
    (credit,) = talk.frames_sent()
    assert credit == m.Credit(1, inbox.allowance_count - 4, 1020)


def test_subscriptions_go_on_after_a_reconnection_behind_what_had_arrived(talk: Talk) -> None:
    inbox = talk.subscription()
    talk.say(m.Deliver(1, 2), frame(1))
    talk.reconnect()
    (asked,) = talk.frames_sent()
    assert isinstance(asked, m.Subscribe)
    assert (asked.resume, asked.after) == ("alice@B1/1", (1,))
    talk.say(m.Placed(1, "alice@B1/1", 1, goes_on=True), m.Deliver(1, 1), frame(2))
    assert [inbox.take(), inbox.take(), inbox.take()] == [[frame(1)], [frame(2)], None]


def test_a_broker_that_has_forgotten_a_subscription_leaves_a_gap(talk: Talk) -> None:
    inbox = talk.subscription()
    talk.say(m.Deliver(1, 2), frame(1))
    talk.reconnect()
    talk.frames_sent()
    talk.say(m.Placed(1, "alice@B1/5", 0, goes_on=False), m.Deliver(1, 1), frame(2))
    assert [inbox.take(), inbox.take(), inbox.take()] == [[frame(1)], Gap(None), [frame(2)]]


def test_nothing_is_delivered_before_it_is_said_from_where_it_counts(talk: Talk) -> None:
    talk.subscription()
    talk.reconnect()
    talk.say(m.Deliver(1, 1), frame(2))
    assert "from where it counts" in str(failure_of(talk))


def test_progress_of_durable_subscriptions_is_confirmed_without_waiting_for_credit(talk: Talk) -> None:
    durable = subscription(durable="audit")
    for inbox in (durable, subscription()):
        talk.session.subscribe(inbox, talk.now_s)
    talk.frames_sent()
    talk.say(*[m.Placed(number, f"S{number}", 0, goes_on=False) for number in (1, 2)])
    talk.session.confirm_progress()
    assert talk.frames_sent() == [m.Credit(1, 0, 0)]
    usual = bytes(4000)
    talk.say(m.Deliver(1, 2), frame(1, usual), frame(2, usual), m.Deliver(2, 1), frame(1))
    durable.take()
    talk.session.credit(durable, 2)
    talk.session.confirm_progress()
    talk.session.confirm_progress()
    assert talk.frames_sent() == [m.Credit(1, 0, 2)]
    talk.session.unsubscribe(durable)
    assert talk.frames_sent() == [m.Unsubscribe(1)]


def test_a_place_that_the_program_kept_is_asked_for(talk: Talk) -> None:
    inbox = subscription(durable="audit", after=7)
    talk.session.subscribe(inbox, talk.now_s)
    (asked,) = talk.frames_sent()
    assert isinstance(asked, m.Subscribe)
    assert (asked.durable, asked.resume, asked.after) == ("audit", "", (7,))
    talk.say(m.Placed(1, "S", 7, goes_on=True), m.Deliver(1, 1), frame(8))
    assert inbox.take() == [frame(8)]
    assert inbox.first == 8


def test_a_place_of_a_subscription_that_the_broker_has_forgotten_is_a_gap(talk: Talk) -> None:
    inbox = subscription(durable="audit", after=7)
    inbox.resume = "S"
    talk.session.subscribe(inbox, talk.now_s)
    (asked,) = talk.frames_sent()
    assert isinstance(asked, m.Subscribe)
    assert (asked.resume, asked.after) == ("S", (7,))
    talk.say(m.Placed(1, "T", 3, goes_on=False), m.Deliver(1, 1), frame(4))
    assert inbox.take() == Gap(None, "forgotten")
    assert (inbox.read_id, inbox.yielded) == ("T", 3)
    assert inbox.take() == [frame(4)]
    talk.reconnect()
    (again,) = talk.frames_sent()
    assert isinstance(again, m.Subscribe)
    assert (again.resume, again.after) == ("T", (4,))


def test_a_durable_subscription_is_forgotten_once(talk: Talk) -> None:
    lost = Forgetting("audit")
    talk.session.ask(lost)
    assert talk.frames_sent() == [m.Forget(1, "audit")]
    talk.reconnect()
    other = Forgetting("other")
    talk.session.ask(other)
    assert talk.frames_sent() == [m.Forget(1, "audit"), m.Forget(2, "other")]
    talk.say(m.Refused(1, "unknown", "none"), m.Refused(2, "unknown", "none"))
    assert lost.is_answered
    assert lost.failure is None
    assert isinstance(other.failure, RefusedError)
    again = Forgetting("more")
    talk.session.ask(again)
    talk.say(m.Forgotten(3))
    assert again.is_answered
    assert again.failure is None


def test_a_client_that_leaves_says_so(talk: Talk) -> None:
    talk.session.leave()
    (fault,) = talk.frames_sent()
    assert isinstance(fault, m.Fault)
    assert fault.code == "left"


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (m.Refused(1, "not-allowed", "why"), RefusedError),
        (m.Ended(1, "slow", "why"), SlowSubscriberError),
        (m.Ended(1, "other", "why"), SubscriptionEndedError),
    ],
)
def test_a_subscription_that_ended_says_why_and_is_not_asked_again(
    talk: Talk, answer: AttrsInstance, error: type[ConcordError]
) -> None:
    inbox = talk.subscription()
    talk.say(answer)
    assert type(inbox.ended) is error
    assert "'True': why" in str(inbox.ended)
    talk.session.unsubscribe(inbox)
    talk.reconnect()
    assert talk.frames_sent() == []


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (m.Refused(1, "not-allowed", "why"), RefusedError),
        (m.Ended(1, "not-advertised", "why"), PublisherEndedError),
    ],
)
def test_a_publisher_that_ended_says_why_and_sends_nothing_more(
    talk: Talk, answer: AttrsInstance, error: type[ConcordError]
) -> None:
    source = talk.publisher()
    talk.publish(source, 3)
    talk.say(answer)
    assert type(source.ended) is error
    assert talk.frames_sent() == []
    talk.session.unadvertise(source)
    talk.reconnect()
    assert talk.frames_sent() == []


def test_a_publisher_that_is_refused_at_resumption_blocks_no_other(talk: Talk) -> None:
    one, two = talk.publisher("one"), talk.publisher("two")
    talk.lose()
    talk.publish(one)
    talk.publish(two)
    talk.connect()
    talk.frames_sent()
    talk.say(m.Refused(1, "not-allowed", "why"), m.Advertised(2, "two", 0))
    assert sequences(talk.frames_sent()) == [("two", 1)]


def test_a_publisher_that_left_during_resumption_blocks_no_other(talk: Talk) -> None:
    one, two = talk.publisher("one"), talk.publisher("two")
    talk.reconnect()
    talk.lose()
    talk.session.unadvertise(two)
    talk.publish(one)
    talk.connect()
    assert talk.frames_sent() == [m.Advertise(1, "True", "one")]
    talk.say(m.Advertised(1, "one", 0))
    assert sequences(talk.frames_sent()) == [("one", 1)]


def test_an_answer_to_what_was_asked_on_another_connection_breaks_the_protocol(talk: Talk) -> None:
    talk.publish(talk.publisher())
    talk.session.flush()
    assert m.Flush(2) in talk.frames_sent()
    talk.reconnect()
    talk.frames_sent()
    talk.say(m.Flushed(2))
    assert "a flush 2 nobody asked" in str(failure_of(talk))


def test_a_request_refused_by_a_broker_that_goes_away_is_asked_again(talk: Talk) -> None:
    source = talk.session.advertise("True")
    talk.frames_sent()
    talk.say(m.Refused(1, "closing", "shutting down"))
    assert source.ended is None
    talk.reconnect()
    assert talk.frames_sent() == [m.Advertise(1, "True", "")]


def test_a_ping_is_answered(talk: Talk) -> None:
    talk.say(m.Ping(9))
    assert talk.frames_sent() == [m.Pong(9)]


def test_a_fault_counts_after_what_came_before_it(talk: Talk) -> None:
    inbox = talk.subscription()
    talk.say(m.Deliver(1, 1), frame(1), m.Fault("auth", "bye"))
    assert failure_of(talk).code == "auth"
    assert "bye" in str(failure_of(talk))
    assert inbox.take() == [frame(1)]


def test_what_came_before_a_frame_that_is_refused_counts(talk: Talk) -> None:
    inbox = talk.subscription()
    talk.say(m.Deliver(1, 1), frame(1), b"\0\0\0\2\x77\0")
    assert failure_of(talk).code == "unknown"
    assert inbox.take() == [frame(1)]


@pytest.mark.parametrize(
    "said",
    [
        [frame(1)],
        [m.Deliver(1, 1), frame(1), frame(2)],
        [m.Deliver(1, 2), frame(1), m.Ping(1)],
        [m.Flushed(7)],
        [b"\0\0\0\2\x77\0"],
        [m.Deliver(1, 1025), *[frame(1)] * 1025],
    ],
)
def test_a_broker_that_breaks_the_protocol_is_found_out(
    talk: Talk, said: list[AttrsInstance | bytes]
) -> None:
    talk.subscription()
    talk.say(*said)
    assert failure_of(talk).code in {"unexpected", "unknown", "credit"}
    assert talk.wants() is Wants.CLOSE


def test_credit_for_what_is_had_before_the_broker_has_answered_is_given_then() -> None:
    talk = connected(Limits(credit_first=4, credit_min=4, credit_max=4))
    inbox = talk.subscription()
    talk.say(m.Deliver(1, 4), *map(frame, range(1, 5)))
    talk.reconnect()
    (asked,) = talk.frames_sent()
    assert isinstance(asked, m.Subscribe)
    assert asked.credit == 1  # Four wait here.
    inbox.take()
    talk.session.credit(inbox, 4)
    assert talk.frames_sent() == []
    talk.say(m.Placed(1, inbox.id, 4, goes_on=True))
    assert talk.frames_sent() == [m.Credit(1, 3, 4)]


def test_a_question_is_answered_by_its_number(talk: Talk) -> None:
    first, second = Question("", 0), Question("bob@B1/1", 7)
    talk.session.ask(first)
    talk.session.ask(second)
    asked = talk.frames_sent()
    assert asked == [m.Explain(1, "", 0), m.Explain(2, "bob@B1/1", 7)]
    talk.say(m.Explained(2, ("a", "b")))
    assert (first.lines, second.lines) == (None, ("a", "b"))


def test_an_answer_comes_in_pages(talk: Talk) -> None:
    question = Question("", 0)
    talk.session.ask(question)
    talk.say(m.Explained(1, ("a", "b"), more=True))
    assert not question.is_answered
    talk.lose()
    talk.reconnect()
    talk.say(m.Explained(1, ("a",), more=True), m.Explained(1, ("b",), more=True), m.Explained(1, ("c",)))
    assert question.lines == ("a", "b", "c")


def test_a_question_that_is_refused_is_an_error(talk: Talk) -> None:
    question = Question("", 0)
    talk.session.ask(question)
    talk.say(m.Refused(1, "not-allowed", "user 'bob' may not ask"))
    assert question.is_answered
    assert isinstance(question.failure, RefusedError)
    assert (str(question.failure)[-22:], question.failure.code) == ("user 'bob' may not ask", "not-allowed")


def test_an_answer_that_is_too_long_is_an_error(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "ANSWER_BYTES_MAX", 5)
    question = Question("", 0)
    talk.session.ask(question)
    talk.say(m.Explained(1, ("abc",), more=True), m.Explained(1, ("def",), more=True))
    assert (question.is_answered, question.lines) == (True, None)
    assert "more than the 5 bytes" in str(question.failure)
    talk.say(m.Explained(1, ("ghi",)))
    assert question.lines is None


def test_a_question_without_an_answer_is_asked_again_after_a_reconnection(talk: Talk) -> None:
    open_, dismissed = Question("bob@B1/1", 7), Question("bob@B1/1", 8)
    talk.session.ask(open_)
    talk.session.ask(dismissed)
    talk.session.dismiss(dismissed)
    talk.reconnect()
    assert talk.frames_sent() == [m.Explain(1, "bob@B1/1", 7)]
    talk.say(m.Explained(1, ()))
    assert open_.lines == ()
