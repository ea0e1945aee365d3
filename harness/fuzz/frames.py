"""Feeds damaged frames to the decoder: `python -m harness.fuzz.frames --seconds 60 --seed 1`.

Every case is a short stream of frames from one of the four peers, one of them damaged, cut anywhere and fed
to a fresh decoder. It has to be decoded or refused with a `WireError`; anything else is a crash. What was
decoded has to be the same when the stream comes in one piece, and a publication has to be the same when its
frame comes alone. What a client reads is also fed to a client's machine, which has to take it or to end.
"""

from itertools import pairwise
from random import Random
from typing import Final

from attrs import frozen

from broker.backoff import Backoff
from broker.client.delivery import Delivery, Gap
from broker.client.inbox import Inbox
from broker.client.life import Wants
from broker.client.limits import Limits as ClientLimits
from broker.client.machine import ClientMachine
from broker.client.session import Session
from broker.errors import BrokerFaultError
from broker.messages import Publication
from broker.wire import DEFAULT_LIMITS, Decoder, DeliveredBatch, Peer, WireError, decode_delivery
from harness.fuzz.campaigns import Campaign, Crash, FuzzTally, command_for
from harness.fuzz.mutations import mutated
from harness.fuzz.samples import PLACEMENTS, SAMPLES, Sample

GROWTH_LIMIT_BYTES: Final = 16 * 1024 * 1024
"""Of the peak after the warm-up: caches fill up further, but a leak of 20 bytes a frame goes beyond."""


@frozen
class FrameCase:
    """A stream for a decoder, and where it is cut."""

    sample: Sample
    stream: bytes
    cuts: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.sample.peer}, cut at {list(self.cuts)}: {self.stream.hex()}"


def _make(random: Random) -> FrameCase:
    sample = random.choice(SAMPLES)
    frames = [random.choice(sample.neighbours) for _ in range(random.choice((0, 0, 1, 1, 2, 5)))]
    frames.insert(random.randint(0, len(frames)), mutated(random, random.choice(sample.frames)))
    stream = b"".join(frames)
    cuts = sorted(random.randint(0, len(stream)) for _ in range(random.choice((0, 1, 1, 2, 6))))
    return FrameCase(sample, stream, tuple(cuts))


def _judge(case: FrameCase, _tally: FuzzTally) -> str:
    pieces = [case.stream[first:last] for first, last in pairwise((0, *case.cuts, len(case.stream)))]
    decoder, seen, error = _fed(case.sample, pieces)
    _, whole, whole_error = _fed(case.sample, [case.stream])
    if _comparable(seen) != _comparable(whole) or _code(error) != _code(whole_error):
        raise Crash(f"cut it gives {seen} and {error}, whole it gives {whole} and {whole_error}")
    if changed := _changed_when_alone(seen):
        raise Crash(f"read alone these are other publications: {changed}")
    if case.sample.peer is Peer.SERVER:
        _drive_client(case.sample, pieces, error)
    if error is not None:
        return "refused"
    return "waiting for more" if decoder.is_within_frame else "accepted"


def _fed(sample: Sample, pieces: list[bytes]) -> tuple[Decoder, list[object], WireError | None]:
    decoder = Decoder(DEFAULT_LIMITS, sample.peer)
    for frame in sample.greeting:
        decoder.feed(frame)
    if sample.peer is Peer.DIALLER and sample.greeting:
        decoder.welcomed()
    seen: list[object] = []
    for piece in pieces:
        try:
            seen += decoder.feed(piece)
        except WireError as error:
            return decoder, seen + error.messages, error
    return decoder, seen, None


def _comparable(seen: list[object]) -> list[object]:
    flat: list[object] = []
    for message in seen:
        if isinstance(message, Publication):
            flat.append((message.frame, message.mark, repr(message)))
        elif isinstance(message, DeliveredBatch):
            flat += [(message.number, frame) for frame in message.frames]
        else:
            flat.append(message)
    return flat


def _changed_when_alone(seen: list[object]) -> list[Publication]:
    """Return the publications that differ for a receiver that reads their frame alone."""
    changed = []
    for message in seen:
        if isinstance(message, Publication):
            publisher, sequence, published_ns, attributes, _, ordered = decode_delivery(message.frame)
            alone = Publication(
                publisher, sequence, attributes, ordered, message.frame, message.mark, published_ns
            )
            if repr(alone) != repr(message):
                changed.append(message)
        elif isinstance(message, DeliveredBatch):
            _check_readable(message.frames)
    return changed


def _check_readable(frames: list[bytes]) -> None:
    """Decode every delivery, which happens lazily; that too ends in one of two ways."""
    for frame in frames:
        try:
            decode_delivery(frame)
        except WireError:
            continue


def _drive_client(sample: Sample, pieces: list[bytes], error: WireError | None) -> None:
    """Let a client with some subscriptions read the same; what its decoder refuses ends it."""
    limits = ClientLimits()
    session = Session("fuzz", "1", "", limits)
    machine = ClientMachine(session, "", Backoff(Random(0)))  # noqa: S311 - it has to be repeatable
    inboxes = [Inbox("True", ordered=True, bound_bytes=1, policy="drop", limits=limits) for _ in PLACEMENTS]
    for inbox in inboxes:
        session.subscribe(inbox, 0)
    machine.start(0, retry=False)
    machine.dialling(0)
    machine.connected(0)
    for piece in (*sample.greeting, *PLACEMENTS, *pieces):
        machine.received(piece, 0)
        machine.take_output()
    if error is not None and machine.wants is not Wants.CLOSE:
        raise Crash(f"the decoder refuses it with {error}, and the client goes on")
    for inbox in inboxes:
        _look_at(inbox)


def _look_at(inbox: Inbox) -> None:
    """Read whatever was accepted; that ends in one of two ways as well."""
    while (arrived := inbox.take()) is not None:
        for delivery in map(Delivery, [] if isinstance(arrived, Gap) else arrived):
            try:
                delivery.attributes  # noqa: B018 - that decodes it
            except BrokerFaultError:
                continue


def _code(error: WireError | None) -> str | None:
    return None if error is None else error.code


def _show(case: FrameCase) -> str:
    """Write a case, and what becomes of it."""
    _, seen, error = _fed(case.sample, [case.stream])
    end = "not refused" if error is None else f"refused: {error}"
    return "\n".join((str(case), *map(repr, seen), end))


CAMPAIGN: Final = Campaign("damaged frames", _make, _judge, _show, str, growth_limit_bytes=GROWTH_LIMIT_BYTES)
main: Final = command_for(CAMPAIGN, "Feed damaged frames to the decoder.")

if __name__ == "__main__":
    main()
