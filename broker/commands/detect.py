"""`concord detect`: prints the matches of a pattern, one a line."""

import sys
from functools import partial

import click

from broker.client import Delivery, Gap, Replay
from broker.commands.connecting import Connecting, connecting_options, notice
from broker.commands.lines import to_json
from broker.commands.options import one_word
from broker.commands.signals import run_until_interrupted
from broker.commands.subscribe import as_json
from broker.patterns.detecting import Found, detect
from broker.patterns.language import parse_pattern
from broker.patterns.machine import PARTIALS_LIMIT, Evicted, PatternMatch
from broker.patterns.pattern import Pattern


@click.command(
    name="detect",
    epilog="Example: concord detect --broker 127.0.0.1:7411 "
    "\"kind == 'order' as a then kind == 'paid' as b where a.id == b.id within 5s\"",
)
@connecting_options
@click.option("--count", type=click.IntRange(min=1), help="End after so many matches.")
@click.option(
    "--replay",
    metavar="AGE|COUNT",
    help="Begin with the past: not older than 5m (90s, 1h30m, now), or the newest 1000.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=PARTIALS_LIMIT,
    show_default=True,
    help="How many partial matches are kept; the oldest are dropped beyond.",
)
@click.option("--json", "json_", is_flag=True, help="Print an object a line, also for what is missing.")
@click.argument("words", metavar="PATTERN", nargs=-1)
def command(  # noqa: PLR0913 - one per option
    *,
    connecting: Connecting,
    words: tuple[str, ...],
    count: int | None,
    replay: str | None,
    limit: int,
    json_: bool,
) -> None:
    """Print the events that match PATTERN together, as soon as the last one is there.

    With --json a line is {"match": {NAME: EVENT}}, a list of events for a step with times; {"gap": COUNT}
    where deliveries are missing (null if nobody knows how many), {"evicted": COUNT} where partial matches
    were dropped. Without it, attributes are printed, and what is missing is reported on standard error.
    """
    text = one_word(words, "PATTERN")
    if text is None:
        raise click.UsageError("give a PATTERN to detect")
    pattern = parse_pattern(text)
    past = None if replay is None else _past_of(replay)
    run_until_interrupted(partial(_print_all, connecting, pattern, past, limit, count, json_))


def _past_of(text: str) -> Replay:
    try:
        return Replay.of(text)
    except ValueError as error:
        raise click.UsageError(f"--{error}") from None


async def _print_all(  # noqa: PLR0913, PLR0917 - what the options say
    connecting: Connecting,
    pattern: Pattern,
    past: Replay | None,
    limit: int,
    count: int | None,
    json_: bool,  # noqa: FBT001 - likewise
) -> None:
    """Print until so many have been printed, or for ever."""
    printed_count = 0
    async with connecting.open() as client, detect(client, pattern, replay=past, limit=limit) as matches:
        notice(f"subscribed to {pattern.filter} at {client.broker}")
        async for found in matches:
            if json_:
                _print(to_json(_as_json(found, pattern)))
            elif isinstance(found, PatternMatch):
                _print(_as_text(found))
            else:
                notice(str(found))
            printed_count += isinstance(found, PatternMatch)
            if printed_count == count:
                return


def _print(line: str) -> None:
    """Print one line and flush it: its reader may be waiting for it."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _as_json(found: Found, pattern: Pattern) -> dict[str, object]:
    match found:
        case Gap():
            return {"gap": found.count, "reason": found.reason}
        case Evicted():
            return {"evicted": found.count}
    times = {each.name: each.times for each in pattern.filters}
    return {
        "match": {
            name: [as_json(each) for each in events] if times[name] > 1 else as_json(events[0])
            for name, events in found.events.items()
        }
    }


def _as_text(found: PatternMatch[Delivery]) -> str:
    return "  ".join(
        f"{name}: {to_json(event.attributes)}" for name, events in found.events.items() for event in events
    )
