"""Feeds damaged frames to the decoder: `python -m harness.fuzz.frames --frames 1000000 --seed 1`.

Every case is a short stream of frames from one of the four peers, one of them damaged, cut anywhere and fed
to a fresh decoder. It has to be decoded or refused with a `WireError`; anything else is a crash. What was
decoded has to be the same when the stream comes in one piece, and a publication has to be the same when its
frame comes alone. What a client reads is also fed to a client's machine, which has to take it or to end.

A case follows from the seed and its number alone: `--case NUMBER` shows one again. A case that hangs ends the
process with all stacks; memory is watched from the end of the warm-up.
"""

import faulthandler
import gc
import resource
import sys
import time
from itertools import pairwise
from math import inf
from random import Random
from typing import Final

import click
from attrs import define, frozen

from broker.backoff import Backoff
from broker.client.delivery import Delivery, Gap
from broker.client.inbox import Inbox
from broker.client.life import Wants
from broker.client.limits import Limits as ClientLimits
from broker.client.machine import ClientMachine
from broker.client.session import Session
from broker.errors import BrokerFaultError
from broker.messages import Publication
from broker.wire import (
    DEFAULT_LIMITS,
    Decoder,
    DeliveredBatch,
    Peer,
    WireError,
    decode_delivery,
)
from harness.fuzz.mutations import mutated
from harness.fuzz.samples import PLACEMENTS, SAMPLES, Sample

HANG_LIMIT_S: Final = 30.0
"""No case takes a millisecond; if `WATCHED_CASES` take this long, one of them never ends."""

WATCHED_CASES: Final = 256
"""The watch is wound up once for so many cases: it starts a thread each time."""

GROWTH_LIMIT_BYTES: Final = 16 * 1024 * 1024
"""Of the peak after the warm-up: caches fill up further, but a leak of 20 bytes a frame goes beyond."""

_WARM_UP: Final = 20
"""The first of so many parts of a run fills caches and allocator; it is not counted as growth."""

_KIB: Final = 1024
_STANDARD_ERROR: Final = 2


@frozen
class Case:
    """A stream for a decoder, and where it is cut."""

    sample: Sample
    stream: bytes
    cuts: tuple[int, ...]


@define
class Tally:
    """What became of the cases."""

    accepted: int = 0
    refused: int = 0
    waiting: int = 0


class Crash(Exception):  # noqa: N818 - it is what this program looks for
    """A case that was neither decoded nor refused, or differently at different times."""


def case_of(seed: int, number: int) -> Case:
    """The case of a number; the same for ever."""
    random = Random(f"{seed}/{number}")  # noqa: S311 - it has to be repeatable, not secret
    sample = random.choice(SAMPLES)
    frames = [random.choice(sample.neighbours) for _ in range(random.choice((0, 0, 1, 1, 2, 5)))]
    frames.insert(random.randint(0, len(frames)), mutated(random, random.choice(sample.frames)))
    stream = b"".join(frames)
    cuts = sorted(random.randint(0, len(stream)) for _ in range(random.choice((0, 1, 1, 2, 6))))
    return Case(sample, stream, tuple(cuts))


def run_case(case: Case, tally: Tally) -> None:
    """Judge one case.

    Raises:
        Crash: the decoder did what it must never do.
    """
    try:
        bounds = (0, *case.cuts, len(case.stream))
        pieces = [case.stream[first:last] for first, last in pairwise(bounds)]
        decoder, seen, error = _fed(case.sample, pieces)
        _, whole, whole_error = _fed(case.sample, [case.stream])
        changed = _changed_when_alone(seen)
        if case.sample.peer is Peer.SERVER:
            _drive_client(case.sample, pieces, error)
    except Exception as unexpected:
        raise Crash(f"{type(unexpected).__name__}: {unexpected}") from unexpected
    if _comparable(seen) != _comparable(whole) or _code(error) != _code(whole_error):
        raise Crash(f"cut it gives {seen} and {error}, whole it gives {whole} and {whole_error}")
    if changed:
        raise Crash(f"read alone these are other publications: {changed}")
    if error is not None:
        tally.refused += 1
    elif decoder.is_within_frame:
        tally.waiting += 1
    else:
        tally.accepted += 1


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
    """Publications that are not the same for whoever gets their frame next, and reads it alone."""
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
    """Deliveries are decoded when somebody looks; that too ends in one of two ways."""
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
    """Whatever was taken in can be looked at; that too ends in one of two ways."""
    while (arrived := inbox.take()) is not None:
        for delivery in map(Delivery, [] if isinstance(arrived, Gap) else arrived):
            try:
                delivery.attributes  # noqa: B018 - that decodes it
            except BrokerFaultError:
                continue


def _code(error: WireError | None) -> str | None:
    return None if error is None else error.code


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB


def run(seed: int, frames: int, seconds: float = inf) -> tuple[Tally, int]:
    """Judge so many cases, or as many as there is time for.

    Returns what became of them, and by how many bytes the peak of memory grew.
    """
    tally = Tally()
    warm = max(1, frames // _WARM_UP)
    started_s, before_bytes = time.monotonic(), 0
    for number in range(frames):
        elapsed_s = time.monotonic() - started_s
        if elapsed_s >= seconds:
            break
        if not before_bytes and (number >= warm or elapsed_s >= seconds / _WARM_UP):
            gc.collect()
            before_bytes = _peak_bytes()
        if number % WATCHED_CASES == 0:
            faulthandler.dump_traceback_later(HANG_LIMIT_S, exit=True, file=_STANDARD_ERROR)
        case = case_of(seed, number)
        try:
            run_case(case, tally)
        except Crash as crash:
            faulthandler.cancel_dump_traceback_later()
            raise Crash(f"case {number} of seed {seed}: {crash}\n{case.stream.hex()}") from crash
    faulthandler.cancel_dump_traceback_later()
    return tally, _peak_bytes() - before_bytes if before_bytes else 0


@click.command()
@click.option("--frames", default=1_000_000, show_default=True, help="How many damaged frames to try.")
@click.option("--seconds", type=click.FloatRange(min=0), help="For how long instead, however many they are.")
@click.option("--seed", default=1, show_default=True, help="The cases follow from it.")
@click.option("--case", "number", type=int, help="Try only the case of this number, and show it.")
def main(frames: int, seconds: float | None, seed: int, number: int | None) -> None:
    """Feed damaged frames to the decoder.

    Example: python -m harness.fuzz.frames --frames 1000000 --seed 1
    """
    started_s = time.perf_counter()
    try:
        if number is not None:
            show(seed, number)
            return
        tally, growth_bytes = run(seed, frames) if seconds is None else run(seed, sys.maxsize, seconds)
    except Crash as crash:
        click.echo(f"crash: {crash}", err=True)
        sys.exit(1)
    elapsed_s = time.perf_counter() - started_s
    count = tally.refused + tally.accepted + tally.waiting
    click.echo(
        f"{count} damaged frames, {count / elapsed_s:,.0f} a second: {tally.refused} refused, "
        f"{tally.accepted} accepted, {tally.waiting} waiting for more; "
        f"peak memory grew by {growth_bytes / _KIB:,.0f} KiB"
    )
    if growth_bytes > GROWTH_LIMIT_BYTES:
        click.echo(f"memory grew by more than {GROWTH_LIMIT_BYTES // _KIB} KiB: something is kept", err=True)
        sys.exit(1)


def show(seed: int, number: int) -> None:
    """Print one case and what becomes of it."""
    case = case_of(seed, number)
    click.echo(f"{case.sample.peer}, cut at {list(case.cuts)}: {case.stream.hex()}")
    _, seen, error = _fed(case.sample, [case.stream])
    for message in seen:
        click.echo(repr(message))
    click.echo(f"refused: {error}" if error is not None else "not refused")
    run_case(case, Tally())


if __name__ == "__main__":
    main()
