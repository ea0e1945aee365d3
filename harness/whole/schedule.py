"""The events of a schedule: programs begin, publish, come and go; connections break; brokers die."""

from functools import partial
from typing import Final

from broker.client.client import ignore_progress
from broker.client.questions import Moving
from harness.whole.programs import Program, ProgramReading
from harness.whole.quiet import settle
from harness.whole.sites import WholeSite
from harness.whole.world import WholeWorld

START_S: Final = 0.2
"""The time within which all brokers and programs of a schedule begin."""

QUICK_S: Final = 0.02
"""The longest pause of a reader once everything is to come to rest."""


def run_schedule(world: WholeWorld) -> list[tuple[str, str]]:
    """Run a schedule up to the end of publishing; return faults if it did not come to rest at its start."""
    knobs, random, clock = world.knobs, world.random, world.clock
    names = list(world.sites)
    if random.random() < 0.3:  # noqa: PLR2004 - sometimes children are there first
        random.shuffle(names)
    for place, name in enumerate(names):
        wait_s = START_S * place / len(names) * random.random()
        clock.after(wait_s, partial(_restart, world, world.sites[name]))
    clock.run(START_S if knobs.settles_first else START_S * random.random())
    if knobs.settles_first and (wrong := settle(world)):
        return wrong
    _begin_programs(world)
    if knobs.settles_first and (wrong := settle(world)):
        return wrong
    _plan(world)
    clock.run(clock.now_s + knobs.span_s)
    return []


def _begin_programs(world: WholeWorld) -> None:
    knobs, random = world.knobs, world.random
    programs = [world.begin_program() for _ in range(knobs.programs)]
    for _ in range(knobs.subscriptions):
        world.subscribe(random.choice(programs))
    for _ in range(knobs.publishers):
        world.advertise(random.choice(programs))


def _plan(world: WholeWorld) -> None:
    """Set the times of all events."""
    knobs, random, clock = world.knobs, world.random, world.clock
    moments = [random.random() * knobs.span_s for _ in range(knobs.bursts)]
    for _ in range(knobs.publications):
        at_s = random.random() * knobs.span_s if knobs.bursts == 1 else random.choice(moments)
        clock.after(at_s, world.publish_somewhere)
    if knobs.hostile:
        from harness.whole.hostile import Adversary  # noqa: PLC0415 - it needs a world

        for _ in range(knobs.hostile):
            clock.after(random.random() * knobs.span_s, Adversary(world).begin)
    plans = (
        (knobs.joins, _join),
        (knobs.leaves, _leave),
        (knobs.returns, _replace),
        (knobs.moves, _move),
        (knobs.cuts, _cut),
        (knobs.absences, _isolate),
        (knobs.freezes, _freeze),
        (knobs.kills, _kill),
        (knobs.losses, _lose),
        (knobs.snapshots, _snapshot),
        (knobs.relocations, _relocate),
    )
    for count, happen in plans:
        for _ in range(count):
            clock.after(random.random() * knobs.span_s, partial(happen, world))


# --- clients ---


def _program(world: WholeWorld) -> Program | None:
    programs = world.live_programs()
    return world.random.choice(programs) if programs else None


def _join(world: WholeWorld) -> None:
    """Let a program subscribe or advertise, sometimes a new one."""
    program = _program(world)
    if program is None or world.random.random() < 0.4:  # noqa: PLR2004 - a fair share
        program = world.begin_program()
    if world.random.random() < 0.6:  # noqa: PLR2004 - as above
        world.subscribe(program)
    else:
        world.advertise(program)


def _leave(world: WholeWorld) -> None:
    """Let a program end a subscription, a publisher or its process."""
    program, random = _program(world), world.random
    if program is None:
        return
    chance = random.random()
    if chance < 0.15:  # noqa: PLR2004 - processes end more rarely
        program.leave()
    elif chance < 0.3:  # noqa: PLR2004 - as above
        program.vanish()
    elif chance < 0.65 and program.reading:  # noqa: PLR2004 - as above
        reading = random.choice(program.reading)
        if not reading.is_closed:
            program.unsubscribe(reading)
    else:
        usable = [each for each in program.publishing if each.is_usable]
        if usable:
            program.unadvertise(random.choice(usable))


def _replace(world: WholeWorld) -> None:
    """Kill a process; another one of its name resumes its durable subscriptions."""
    program = _program(world)
    if program is None:
        return
    # What another process of its name has taken over is read there.
    wanted = [reading for reading in program.reading if not reading.is_closed]
    program.vanish()
    world.clock.after(world.random.random() * 0.5, partial(_begin_successor, world, program, wanted))


def _begin_successor(world: WholeWorld, before: Program, wanted: list[ProgramReading]) -> None:
    if world.is_calm:
        return
    site = world.sites[before.site]
    again = world.begin_program(before.name, "" if site.is_gone else before.site)
    for reading in wanted:
        if reading.history.durable and not reading.history.is_ended and not reading.is_ended:
            interest = world.events.interest(reading.inbox.filter)
            world.subscribe(again, reading.history.durable, interest)
    world.advertise(again)


def _move(world: WholeWorld) -> None:
    """Let a second process of a name take over the durable subscriptions of the first."""
    programs = [
        each
        for each in world.live_programs()
        if any(reading.history.durable and not reading.is_closed for reading in each.reading)
    ]
    if not programs:
        return
    program = world.random.choice(programs)
    again = world.begin_program(program.name, program.site)
    for reading in program.reading:
        if reading.history.durable and not reading.history.is_ended and not reading.is_closed:
            reading.is_closed = True  # Its program stops reading; its client learns of the takeover later.
            reading.history.is_contested = True
            world.subscribe(again, reading.history.durable, world.events.interest(reading.inbox.filter))


# --- connections and brokers ---


def _cut(world: WholeWorld) -> None:
    """Break a connection."""
    random = world.random
    ends = [end for end in world.ends() if end.cable.is_alive]
    if not ends:
        return
    cable = random.choice(ends).cable
    if random.random() < world.knobs.half_open:
        cable.half_open(knows=random.choice((None, 0, 1)))
    else:
        cable.reset()


def _isolate(world: WholeWorld) -> None:
    """Leave a process without a connection for longer than its broker waits for it."""
    program = _program(world)
    if program is None:
        return
    program.isolated_until_s = world.clock.now_s + world.knobs.link_timeout_s * (0.5 + world.random.random())
    if program.end is not None:
        program.end.cable.reset()


def _site(world: WholeWorld) -> WholeSite | None:
    sites = [site for site in world.sites.values() if site.is_up]
    return world.random.choice(sites) if sites else None


def _site_at_work(world: WholeWorld) -> WholeSite | None:
    """Return a broker; mostly one whose disk is behind."""
    behind = [each for each in world.sites.values() if each.is_up and each.disk and each.disk.unsynced]
    if behind and world.random.random() < 0.7:  # noqa: PLR2004 - mostly
        return world.random.choice(behind)
    return _site(world)


def _freeze(world: WholeWorld) -> None:
    """Freeze a broker's process for a while."""
    site = _site(world)
    if site is not None:
        site.freeze()
        world.clock.after(world.random.choice((0.1, 1.0, 3.0)), partial(_thaw, site, site.run))


def _thaw(site: WholeSite, run: int) -> None:
    if site.run == run:
        site.thaw()


def _kill(world: WholeWorld) -> None:
    """Kill a broker, or shut it down, and start it again."""
    site, knobs, random = _site_at_work(world), world.knobs, world.random
    if site is None:
        return
    if random.random() < knobs.stops and not site.is_frozen:
        site.stop()
    else:
        site.kill(silently=random.random() < knobs.silent_kills)
    world.clock.after(knobs.down_s * (0.5 + random.random()), partial(_restart, world, site))


def _restart(world: WholeWorld, site: WholeSite) -> None:
    if site.is_gone or site.is_refused:
        return
    if not site.is_up:
        site.start()
    elif site.is_stopping:
        world.clock.after(1.0, partial(_restart, world, site))


def _snapshot(world: WholeWorld) -> None:
    """Let a broker write a snapshot."""
    site = _site(world)
    if site is not None:
        site.take_snapshot()


def _lose(world: WholeWorld) -> None:
    """Lose a broker for good, unless it is the last; its programs move to others."""
    random, live = world.random, world.live_sites()
    if len(live) < 2:  # noqa: PLR2004 - the last one stays
        return
    site = random.choice(live)
    site.is_gone = True
    site.kill(silently=random.random() < world.knobs.silent_kills)
    for program in world.live_programs():
        if program.site == site.name and not program.others:
            program.site = random.choice(world.live_sites()).name


OPERATOR: Final = "operator"
"""What the programs are called that let brokers move."""

OPERATOR_S: Final = 5.0
"""How long an operator waits for the outcome of a move."""


def _relocate(world: WholeWorld) -> None:
    """Let an operator, at any broker, ask a broker to move below another one."""
    random, names = world.random, list(world.sites)
    operator = world.begin_program(f"{OPERATOR} {len(world.programs)}")
    moved, method = random.choice(names), random.choice(world.knobs.methods)
    moving = Moving(moved, random.choice(names), method, ignore_progress)
    operator.session.ask(moving)
    world.clock.after(OPERATOR_S, operator.leave)


# --- the end ---


def calm(world: WholeWorld) -> None:
    """End all faults: brokers that are down start, frozen ones thaw, and readers are quick."""
    world.is_calm = True
    for adversary in world.adversaries:
        adversary.leave()
    for program in world.live_programs():
        if program.name.startswith(OPERATOR):
            program.leave()
    for site in world.sites.values():
        if site.is_frozen:
            site.thaw()
        if not site.is_up and not site.is_gone and not site.is_refused:
            site.start()
    for program in world.live_programs():
        for reading in program.reading:
            reading.pause_s = min(reading.pause_s, QUICK_S)
