"""The quick verdict on a record."""

import pytest

from broker.messages import Publication
from harness.simulator.record import Record, Stream
from harness.simulator.verdict import faults_in


def delivered(record: Record, subscription: str, publisher: str) -> None:
    record.deliver(subscription, Publication(publisher, 1, {"kind": "a"}, ordered=True, frame=b""))


@pytest.mark.parametrize("ordered", [True, False])
def test_causal_order_binds_every_subscription(*, ordered: bool) -> None:
    record = Record()
    record.streams = {"S1": Stream(ordered, "a", "B1"), "S2": Stream(ordered, "a", "B2")}
    record.publish("P1", "B1", "a", (True, None), ())
    delivered(record, "S1", "P1")
    record.publish("P2", "B1", "a", (True, "S1"), ())
    delivered(record, "S2", "P2")
    delivered(record, "S2", "P1")
    assert faults_in(record) == [("causal", "S2 got P2:1 before P1:1, which came before it")]


def test_pairwise_order_binds_ordered_subscriptions_alone() -> None:
    for flags, kinds in (((True, True), ["pairwise"]), ((True, False), []), ((False, False), [])):
        record = Record()
        record.streams = {
            name: Stream(flag, "a", "B1") for name, flag in zip(("S1", "S2"), flags, strict=True)
        }
        for publisher in ("P1", "P2"):
            record.publish(publisher, "B1", "a", (True, None), ())
        for subscription, publisher in (("S1", "P1"), ("S1", "P2"), ("S2", "P2"), ("S2", "P1")):
            delivered(record, subscription, publisher)
        assert [kind for kind, _ in faults_in(record)] == kinds
