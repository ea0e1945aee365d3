"""A live peer sends signs of life, and a peer that sends them is not declared lost."""

from broker.messages import Ping, Pong
from broker.node import Received, Synced
from broker.wire import encode, encode_publication, publication_prefix
from tests.broker.node.driven import driven
from tests.broker.node.test_attacks import publishing


def test_a_peer_that_sends_one_large_frame_slowly_gets_a_pong_each_beat() -> None:
    """A silent broker would count as lost: the peer would connect and send the same frame again, for ever."""
    broker = driven(link_timeout_s=8)
    publisher = publishing(broker)
    prefix = publication_prefix(publisher.id)
    frame = encode_publication(prefix, 1, 0, {"x": 1}, bytes(1000), ordered=True)
    broker.frames_sent(publisher.wire, Pong)
    for place in range(20):
        broker.at(broker.now_s + 1)
        broker.step(Received(publisher.wire.number, frame[place * 10 : place * 10 + 10]))
        assert place == 0 or broker.frames_sent(publisher.wire, Pong), "nothing was said since the last beat"
    assert not publisher.wire.is_ended


def test_a_silent_peer_is_asked_although_the_disk_is_slow() -> None:
    broker = driven(link_timeout_s=8, has_journal=True, syncs=False)
    idle = broker.client("idle")
    busy = broker.client("busy")
    broker.say(busy, encode(Ping(1)))
    broker.step(Synced(0))
    broker.at(broker.now_s + 3)
    assert broker.frames_sent(idle, Ping)
    broker.at(broker.now_s + 6)
    assert idle.is_ended
