"""Scenarios of whole brokers: a schedule as text, with its output between the lines.

A line is an action, a comment (`# ...`), `show` or `rest`. The last two are followed by their output, in
lines that begin with `= `. Performing a file returns its text with new output.

    start B1 [journal] [below B2 B3]   a broker starts, with these uplinks in order of preference; `start B1`
                                       starts it again, with the records of its journal
    program C1 B1 [B2 B3]              a program connects to a broker; when that is lost, to one of the others
    advertise C1 ab                    it will publish events of the kinds a and b
    subscribe C1 S1 ab [unordered] [durable]
    publish C1 a [unordered]           an event
    leave C1, vanish C1                the program ends in order, or its process is killed
    cut B2 B1 [5 0]                    the connection of two brokers, or of a program, breaks; in each
                                       direction so many bytes in flight still arrive
    part B2 B1 1.5                     it breaks, and B2 cannot reach B1 for so many seconds
    half-open B2 B1 [B1]               it swallows everything; one of the two learns of it, or none
    kill B2 [1] [silently]             B2 dies; so many unsynced records survive; silently, its peers do not
                                       learn that its connections are over
    lose B2                            B2 dies for good, and with it the programs that know no other
    snapshot B2                        B2 writes a snapshot
    sync 60                            from now on a sync takes so many seconds
    pass 2.5                           so many seconds pass
    settle                             time passes until nothing is pending
    show                               the deliveries and gaps of each subscription; the uplinks of brokers
    rest                               faults end, all publish again, and everything is judged
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from random import Random
from typing import Final

from attrs import define, evolve, field

from broker.client.inbox import Inbox
from broker.client.limits import Limits
from harness.simulator.interests import KINDS, attributes_of, filter_of
from harness.simulator.verdict import Fault
from harness.whole.cables import Cable, CableShape
from harness.whole.history import SubscriptionHistory
from harness.whole.interests import DrawnInterest
from harness.whole.knobs import WholeKnobs, draw
from harness.whole.outcomes import at_rest
from harness.whole.programs import Program
from harness.whole.quiet import settle
from harness.whole.schedule import calm
from harness.whole.sites import SiteTiming, WholeSite
from harness.whole.world import AGE_S, WholeWorld
from ordering.interface import OrderingFactory

OUTPUT: Final = "= "
"""The beginning of a line of output."""

LINK_TIMEOUT_S: Final = 2.0

GOOD: Final = CableShape(0.001, 0.0, 1.0, 0.0, 0.0, 0.0, 1 << 20)
PUNCTUAL: Final = SiteTiming(0.0, 0.0, 0.0, 0.001, 0.001, 0.0, 1000)

BOUND_BYTES: Final = 8 << 20


class WholeScenarioError(ValueError):
    """A line of a scenario that makes no sense where it stands."""


@cache
def _plain() -> WholeKnobs:
    """Return the knobs of scenarios: default clients, good connections, and nothing random."""
    drawn = draw(Random(0), "crash", (1, 1))  # noqa: S311 - what matters of it is replaced
    return evolve(
        drawn,
        brokers=0,
        settles_first=True,
        limits=Limits(),
        replays=0.0,
        hostile=0,
        losses=0,
        shape=GOOD,
        timing=PUNCTUAL,
        link_timeout_s=LINK_TIMEOUT_S,
        lease_s=0.0,
        step_units=4000,
        kills=1,
    )


@define(eq=False)
class Stage:
    """A world in which only the actions of a scenario happen."""

    ordering: OrderingFactory
    seed: str = ""
    shape: CableShape = GOOD
    world: WholeWorld = field(init=False)
    programs: dict[str, Program] = field(factory=dict, init=False)
    lines: list[str] = field(factory=list, init=False)
    _labels: dict[int, str] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        random = Random(self.seed)  # noqa: S311 - chance here is repeatable, not secret
        self.world = WholeWorld(random, evolve(_plain(), shape=self.shape), self.ordering)
        self.world.events.attributes = {kind: attributes_of(kind) for kind in KINDS}

    def do(self, *words: str) -> bool:
        """Carry out an action and keep it; return whether it made sense."""
        verb = VERBS.get(words[0])
        if verb is None:
            raise KeyError(words[0])
        self.lines.append(" ".join(words))
        return verb(self, *words[1:])

    # --- brokers ---

    def start(self, name: str, *rest: str) -> bool:
        """Start a broker, for the first time or again."""
        site = self.world.sites.get(name)
        if site is None:
            uplinks = rest[rest.index("below") + 1 :] if "below" in rest else ()
            site = self.world.add_site(name, uplinks, has_journal="journal" in rest)
        if site.is_up or site.is_gone:
            return False
        site.start()
        return True

    def kill(self, name: str, *rest: str) -> bool:
        """Kill a broker."""
        site = self._up(name)
        if site is None:
            return False
        surviving = next((int(word) for word in rest if word.isdigit()), 0)
        site.kill(silently="silently" in rest, surviving=surviving)
        return True

    def lose(self, name: str) -> bool:
        """Kill a broker for good, and the programs with it that know no other."""
        site = self.world.sites.get(name)
        if site is None or site.is_gone:
            return False
        site.is_gone = True
        site.kill(silently=False)
        for program in self.world.live_programs():
            if program.site == name and not program.others:
                program.vanish()
        return True

    def snapshot(self, name: str) -> bool:
        """Let a broker write a snapshot."""
        site = self._up(name)
        if site is None or site.disk is None:
            return False
        site.take_snapshot()
        return True

    def _up(self, name: str) -> WholeSite | None:
        site = self.world.sites.get(name)
        return site if site is not None and site.is_up else None

    # --- connections ---

    def _cable(self, one: str, other: str = "") -> Cable | None:
        """Return the connection of a program, or the newest one that a broker has dialled to another."""
        if one in self.programs:
            end = self.programs[one].end
            return None if end is None else end.cable
        site, above = self.world.sites.get(one), self.world.sites.get(other)
        if site is None or above is None:
            return None
        cables = [end.cable for end in site.ends.values() if end.peer.owner is above]
        return cables[-1] if cables else None

    def cut(self, one: str, *rest: str) -> bool:
        """Break a connection."""
        other, kept = (rest[0], rest[1:]) if rest and not rest[0].isdigit() else ("", rest)
        cable = self._cable(one, other)
        if cable is None or not cable.is_alive:
            return False
        cable.reset(*(map(int, kept) if kept else (0, 0)))
        return True

    def part(self, one: str, other: str, seconds: str) -> bool:
        """Break a connection, and prevent new ones for so many seconds."""
        world = self.world
        world.parted[one, other] = world.clock.now_s + float(seconds)
        return self.cut(one, other)

    def half_open(self, one: str, other: str = "", knows: str = "") -> bool:
        """Let a connection swallow everything from now on."""
        cable = self._cable(one, other)
        if cable is None or not cable.is_alive:
            return False
        owners = [getattr(end.owner, "name", "") for end in cable.ends]
        cable.half_open(knows=owners.index(knows) if knows else None)
        return True

    # --- programs ---

    def program(self, name: str, site: str, *others: str) -> bool:
        """Start a program; a second one of its name is another process."""
        if not self.world.sites.keys() >= {site, *others}:
            return False
        self.programs[name] = self.world.begin_program(name, site, others)
        return True

    def advertise(self, name: str, kinds: str) -> bool:
        """Let a program advertise."""
        self.programs[name].advertise(self._interest(kinds))
        return True

    def subscribe(self, name: str, subscription: str, kinds: str, *flags: str) -> bool:
        """Let a program subscribe; a durable subscription resumes an earlier one of its name."""
        durable = subscription if "durable" in flags else ""
        interest, ordered = self._interest(kinds), "unordered" not in flags
        policy = "drop" if durable else "disconnect"
        age_s = AGE_S if durable else 0
        inbox = Inbox(interest.text, ordered, BOUND_BYTES, policy, Limits(), durable, age_s)
        self.programs[name].subscribe(interest, inbox, subscription, 0.0, 100)
        return True

    def _interest(self, kinds: str) -> DrawnInterest:
        return DrawnInterest(str(filter_of(kinds)), kinds)

    def publish(self, name: str, kind: str, *flags: str) -> bool:
        """Let a program publish, if it may and its window has room."""
        program = self.programs[name]
        for publishing in program.publishing:
            if publishing.is_usable and kind in publishing.interest.kinds:
                count = sum(len(each.sent) for each in program.publishing) + 1
                self._labels[len(self.world.history.publications) + 1] = f"{name}:{count}"
                return program.publish(publishing, kind, b"", ordered="unordered" not in flags)
        return False

    def leave(self, name: str) -> bool:
        """Let a program leave in order."""
        self.programs[name].leave()
        return True

    def vanish(self, name: str) -> bool:
        """Kill the process of a program."""
        self.programs[name].vanish()
        return True

    # --- time ---

    def sync(self, seconds: str) -> bool:
        """Let syncs that begin from now on take so many seconds."""
        knobs = self.world.knobs
        self.world.knobs = evolve(knobs, timing=evolve(knobs.timing, sync_s=float(seconds)))
        return True

    def pass_(self, seconds: str) -> bool:
        """Let time pass."""
        clock = self.world.clock
        clock.run(clock.now_s + float(seconds))
        return True

    def settle(self) -> bool:
        """Let time pass until nothing is pending."""
        return not settle(self.world)

    # --- output ---

    def seen(self) -> Iterator[str]:
        """Yield the deliveries and gaps of each subscription, and the uplinks of brokers."""
        for each in self.world.history.subscriptions.values():
            yield " ".join([f"{each.name}:", *self._got(each)])
        for site in self.world.sites.values():
            if site.node is None:
                yield f"{site.name} is {'lost' if site.is_gone else 'down'}"
            elif site.uplinks:
                uplink = site.node.exchange.core.uplink
                yield f"{site.name} is {'a root' if uplink is None else f'below {uplink.name}'}"

    def _got(self, subscription: SubscriptionHistory) -> Iterator[str]:
        publications = self.world.history.publications
        for place, number in enumerate((*subscription.delivered, None)):
            yield from (f"gap ({gap.reason})" for at, gap in subscription.gaps if at == place)
            if number is not None:
                sent = publications[number].published_ns
                yield self._labels.get(sent, "at-rest")

    def judged(self) -> list[Fault]:
        """Bring the world to rest and judge it."""
        calm(self.world)
        return list(at_rest(self.world).faults)


VERBS: Final[Mapping[str, Callable[..., bool]]] = {
    "start": Stage.start,
    "program": Stage.program,
    "advertise": Stage.advertise,
    "subscribe": Stage.subscribe,
    "publish": Stage.publish,
    "leave": Stage.leave,
    "vanish": Stage.vanish,
    "cut": Stage.cut,
    "part": Stage.part,
    "half-open": Stage.half_open,
    "kill": Stage.kill,
    "lose": Stage.lose,
    "snapshot": Stage.snapshot,
    "sync": Stage.sync,
    "pass": Stage.pass_,
    "settle": Stage.settle,
}


def perform(text: str, ordering: OrderingFactory) -> str:
    """Carry out a scenario; return its text with new output."""
    stage = Stage(ordering)
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(OUTPUT):
            continue
        lines.append(line)
        if line and not line.startswith("#"):
            lines += [OUTPUT + each for each in _carry_out(stage, line, number)]
    return "\n".join(lines) + "\n"


def _carry_out(stage: Stage, line: str, number: int) -> list[str]:
    if line == "show":
        return list(stage.seen())
    if line == "rest":
        faults = dict.fromkeys(f"{kind}: {text}" for kind, text in stage.judged())
        return [*stage.seen(), *(faults or ["every promise was kept"])]
    try:
        made_sense = stage.do(*line.split())
    except (KeyError, TypeError, ValueError) as error:
        raise WholeScenarioError(f"line {number}: {line!r} is no action: {error}") from error
    if not made_sense:
        raise WholeScenarioError(f"line {number}: {line!r} makes no sense at this point")
    return []
