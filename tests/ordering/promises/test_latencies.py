"""Steps between asking and having."""

from hypothesis import given, settings

from ordering.promises import (
    Trace,
    acknowledge,
    advertise,
    latencies,
    notify,
    publish,
    rest,
    subscribe,
)
from tests.ordering.promises.traces import lawful_traces, matches


def test_latencies_count_the_steps_between() -> None:
    operations = [
        subscribe("Y", "all"),
        advertise("X", "all"),
        acknowledge("Y", "all"),
        publish(("X", 1)),
        publish(("X", 2)),
        notify("Y", ("X", 1)),
        notify("Y", ("X", 2)),
        rest(),
    ]
    found = latencies(Trace(operations, matches))
    assert found.acknowledgements == (2,)
    assert found.notifications == (2, 2)


def test_what_belongs_to_nothing_has_no_latency() -> None:
    found = latencies(Trace([acknowledge("Y", "all"), notify("Y", ("X", 1))], matches))
    assert found.acknowledgements == found.notifications == ()


@settings(deadline=None)
@given(lawful_traces())
def test_every_acknowledgement_and_notification_of_a_lawful_trace_is_measured(trace: Trace) -> None:
    found = latencies(trace)
    verbs = [each.verb for each in trace.operations]
    assert len(found.acknowledgements) == verbs.count("ack")
    assert len(found.notifications) == verbs.count("notify")
    assert all(steps > 0 for steps in (*found.acknowledgements, *found.notifications))
