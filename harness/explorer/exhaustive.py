"""Small worlds, exhaustively: every interleaving, up to equal states, with at most one change at any point.

Theory of operation: a core is deterministic, so its state follows from its inputs. States of a core are
interned by fingerprint; the reaction of a state to an input is computed once, by feeding a new core all
inputs again, and cached. The state of a world is then a small tuple, and most steps are a lookup.

Checked at every delivery: no two subscriptions disagree, none delivers twice, each publisher's order is kept.
Checked in every state without a next step: nothing waits, and no subscription lacks an event.
"""

from collections.abc import Hashable, Iterator
from itertools import product
from typing import Final

from attrs import Factory, define, evolve, frozen

from broker.core import BrokerCore, CoreEffects, Hop
from broker.messages import LinkMessage, Publication
from broker.routing import SIMPLE
from harness.explorer.fingerprint import fingerprint
from harness.simulator.interests import attributes_of, filter_of
from ordering.interface import OrderingFactory

Input = tuple[Hashable, ...]
"""An input of a core: a verb and its arguments."""

Message = Hashable
"""A message as a value; publications become tuples."""

END: Final = "end"
"""The loss of a link, as the last of its messages."""

LEFT_TO_DO: Final = (
    "waiting",
    "closed_gates",
    "open_barriers",
    "open_floods",
    "joining",
    "steps",
    "crossing",
)


@frozen
class Reaction:
    """The reaction of a core to an input: its next state, messages, deliveries, publishers that may begin.

    `closed` are the neighbours whose links it closes.
    """

    state: int
    sent: tuple[tuple[str, tuple[Message, ...]], ...]
    delivered: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
    advertised: tuple[str, ...]
    closed: tuple[str, ...]


@define(eq=False)
class Cores:
    """All states that cores have been in, with their reactions."""

    ordering: OrderingFactory
    _ids: dict[Hashable, int] = Factory(dict)
    _ways: list[tuple[Input, ...]] = Factory(list)
    _quiet: list[bool] = Factory(list)
    _reactions: dict[tuple[int, Input], Reaction] = Factory(dict)

    def new(self, name: str) -> int:
        """Return the state of a core that has had no input."""
        return self._intern(BrokerCore(name, self.ordering, routing=SIMPLE), (("name", name),))

    def is_quiet(self, state: int) -> bool:
        """Return whether nothing is left to do in this state."""
        return self._quiet[state]

    def react(self, state: int, given: Input) -> Reaction:
        """Return the reaction of a state to an input."""
        reaction = self._reactions.get((state, given))
        if reaction is None:
            reaction = self._reactions[state, given] = self._work_out(state, given)
        return reaction

    def _work_out(self, state: int, given: Input) -> Reaction:
        way = self._ways[state]
        core = BrokerCore(str(way[0][1]), self.ordering, routing=SIMPLE)
        links: dict[str, Hop] = {}
        for each in way[1:]:
            _feed(core, links, each)
            _taken(core, links)
        _feed(core, links, given)
        effects = _taken(core, links)
        sent: list[tuple[str, tuple[Message, ...]]] = []
        delivered: list[tuple[str, tuple[tuple[str, int], ...]]] = []
        for hop, messages in effects.outgoing:
            if hop.is_link:
                sent.append((hop.name, tuple(map(_as_value, messages))))
            else:
                got = (m for m in messages if isinstance(m, Publication))
                delivered.append((hop.name, tuple((p.publisher, p.sequence) for p in got)))
        state = self._intern(core, (*way, given))
        closed = tuple(hop.name for hop, _ in effects.rejected)
        return Reaction(state, tuple(sent), tuple(delivered), tuple(effects.advertised), closed)

    def _intern(self, core: BrokerCore, way: tuple[Input, ...]) -> int:
        key = fingerprint(core)
        state = self._ids.setdefault(key, len(self._ids))
        if state == len(self._ways):
            self._ways.append(way)
            counts = core.counts()
            self._quiet.append(not any(counts[name] for name in LEFT_TO_DO))
        return state


def _taken(core: BrokerCore, links: dict[str, Hop]) -> CoreEffects:
    """Take the effects of a core; let links change their hops."""
    effects = core.take()
    for hops in effects.switched:
        links.update((hop.name, hop) for hop in hops)
    return effects


def _as_value(message: LinkMessage) -> Message:
    if isinstance(message, Publication):
        kind = message.attributes["kind"]
        return "publication", message.publisher, message.sequence, kind, message.mark
    return message


def _feed(core: BrokerCore, links: dict[str, Hop], given: Input) -> None:
    """Feed an input to a core whose links are known by their names."""
    match given:
        case ("open", str(name), bool(uplink)):
            links[name] = core.open_link(name, uplink=uplink)
        case ("close", str(name)):
            core.close_link(links.pop(name))
        case ("receive", str(name), ("publication", str(publisher), int(sequence), str(kind), int(mark))):
            event = Publication(publisher, sequence, attributes_of(kind), ordered=True, frame=b"", mark=mark)
            core.receive(links[name], (event,))
        case ("receive", str(name), message):
            core.receive(links[name], (message,))  # type: ignore[arg-type]  # it was sent as one
        case ("advertise", str(name), str(kinds)):
            core.advertise(name, filter_of(kinds))
        case ("unadvertise", str(name)):
            core.unadvertise(name)
        case ("subscribe", str(name), str(kinds), *unordered):
            core.subscribe(name, filter_of(kinds), ordered=not unordered)
        case ("unsubscribe", str(name)):
            core.unsubscribe(name)
        case ("publish", str(name), int(sequence), str(kind)):
            core.publish(name, [Publication(name, sequence, attributes_of(kind), ordered=True, frame=b"")])
        case _:
            raise AssertionError(f"{given} is no input")


@frozen
class SmallWorld:
    """A small world before anything happens, and the one thing that may change at any point.

    `uplinks` names each broker's uplink ("" for the root). A publisher is its broker, what it advertises, and
    the kinds it publishes; a subscription its broker and kinds. `change` is an input for a broker, a crash, a
    `dial` by which a root becomes a child elsewhere, a `move`: the connection to the uplink is lost, then the
    broker dials another, or a `step` to the broker above the uplink or to
    another child of it.
    """

    uplinks: tuple[tuple[str, str], ...]
    publishers: tuple[tuple[str, str, str], ...]
    subscriptions: tuple[tuple[str, str], ...]
    change: tuple[str, Input] | None = None
    unordered: frozenset[str] = frozenset()
    """Subscriptions that take no part in pairwise order."""
    is_read: bool = False
    """Whether publishers read all deliveries at their broker before they publish."""

    def __str__(self) -> str:
        tree = ", ".join(f"{name} under {up}" if up else name for name, up in self.uplinks)
        published = ", ".join(f"P{n} at {b} ({a}): {k}" for n, (b, a, k) in enumerate(self.publishers, 1))
        wanted = ", ".join(f"S{n} at {b}: {k}" for n, (b, k) in enumerate(self.subscriptions, 1))
        flags = f"; unordered: {sorted(self.unordered)}; read: {self.is_read}" if self.is_read else ""
        return f"{tree}; {published}; {wanted}; change: {self.change}{flags}"


UNCHANGED: Final = 0
MOVING: Final = 1
CHANGED: Final = 2
"""Phases of a world: before the change, between the two parts of a move, and when no change is left."""


@frozen
class _State:
    """One state of a world. `cores` and `links` are sorted; a core that has crashed is in neither."""

    cores: tuple[tuple[str, int], ...]
    links: tuple[tuple[tuple[str, str], tuple[Message, ...]], ...]
    delivered: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
    published: tuple[int, ...]
    ready: frozenset[str]
    phase: int
    pasts: tuple[tuple[tuple[str, int], frozenset[tuple[str, int]]], ...] = ()
    """The causes of each publication, where publishers read."""


@frozen
class WorldFinding:
    """The number of states of a world, and what is wrong with the first state that breaks a promise."""

    states: int
    wrong: str = ""


@define(eq=False)
class Exploration:
    """All states of one world. `script` is what each publisher publishes, the late one's included."""

    world: SmallWorld
    cores: Cores
    _states: set[_State] = Factory(set)

    def run(self) -> WorldFinding:
        """Visit every state; stop at the first that breaks a promise."""
        start = self._settled()
        todo = [start]
        self._states.add(start)
        while todo:
            state = todo.pop()
            steps = list(self._steps(state))
            if all(is_change for is_change, _ in steps):
                wrong = self._unfinished(state)
                if wrong:
                    return WorldFinding(len(self._states), wrong)
            for _, following in steps:
                if following in self._states:
                    continue
                wrong = _disagreement(following, self.world.unordered)
                if wrong:
                    return WorldFinding(len(self._states), wrong)
                self._states.add(following)
                todo.append(following)
        return WorldFinding(len(self._states))

    # --- the beginning ---

    def _settled(self) -> _State:
        """Return the state with all brokers attached, all clients connected, and nothing in flight."""
        cores = tuple(sorted((name, self.cores.new(name)) for name, _ in self.world.uplinks))
        phase = CHANGED if self.world.change is None else UNCHANGED
        state = _State(cores, (), (), (0,) * len(self._scripts()), frozenset(), phase)
        for name, uplink in self.world.uplinks:
            if uplink:
                state = self._fed(state, uplink, ("open", name, False))
                state = self._drained(self._fed(state, name, ("open", uplink, True)))
        for number, (broker, kinds) in enumerate(self.world.subscriptions, 1):
            flag = ("unordered",) if f"S{number}" in self.world.unordered else ()
            state = self._fed(state, broker, ("subscribe", f"S{number}", kinds, *flag))
        for number, (broker, kinds, _) in enumerate(self.world.publishers, 1):
            state = self._fed(state, broker, ("advertise", f"P{number}", kinds))
        return self._drained(state)

    def _drained(self, state: _State) -> _State:
        while state.links:
            state = self._arrived(state, *state.links[0])
        return state

    def _scripts(self) -> list[tuple[str, str, str]]:
        """Return name, broker and kinds of every publisher; one that begins later publishes once."""
        scripts = [(f"P{n}", b, kinds) for n, (b, _, kinds) in enumerate(self.world.publishers, 1)]
        if self.world.change is not None and self.world.change[1][0] == "advertise":
            broker, (_, name, kinds) = self.world.change
            scripts.append((str(name), broker, str(kinds)[:1]))
        return scripts

    # --- steps ---

    def _steps(self, state: _State) -> Iterator[tuple[bool, _State]]:
        """Yield every state that may follow, and whether the change leads there."""
        alive = dict(state.cores)
        for number, (name, broker, kinds) in enumerate(self._scripts()):
            done = state.published[number]
            if name in state.ready and broker in alive and done < len(kinds):
                following = self._fed(state, broker, ("publish", name, done + 1, kinds[done]))
                published = (*state.published[:number], done + 1, *state.published[number + 1 :])
                pasts = self._pasts(state, (name, done + 1), broker)
                yield False, evolve(following, published=published, pasts=pasts)
        for link, messages in state.links:
            yield False, self._arrived(state, link, messages)
        if self.world.change is None:
            return
        broker, given = self.world.change
        if state.phase == UNCHANGED:
            for following in self._changed(state, broker, given):
                yield True, following
        elif state.phase == MOVING and not any(ends[1] == broker for ends, _ in state.links):
            yield False, self._dialled(state, broker, str(given[1]))

    def _pasts(
        self, state: _State, key: tuple[str, int], broker: str
    ) -> tuple[tuple[tuple[str, int], frozenset[tuple[str, int]]], ...]:
        """Return the pasts with that of one more publication: the deliveries at its broker, and theirs."""
        if not self.world.is_read:
            return ()
        known, delivered = dict(state.pasts), dict(state.delivered)
        here = [f"S{n}" for n, (at, _) in enumerate(self.world.subscriptions, 1) if at == broker]
        causes = {cause for name in here for cause in delivered.get(name, ())}
        causes |= {earlier for earlier in known if earlier[0] == key[0]}
        past = causes.union(*(known[cause] for cause in causes))
        return (*state.pasts, (key, frozenset(past)))

    def _changed(self, state: _State, broker: str, given: Input) -> Iterator[_State]:
        match given:
            case ("crash",):
                cores = tuple(each for each in state.cores if each[0] != broker)
                ends = [n for n, up in self.world.uplinks if up == broker] + self._uplinks_of(broker)
                yield from _lost(evolve(state, cores=cores, phase=CHANGED), [(broker, n) for n in ends])
            case ("move", _):
                (uplink,) = self._uplinks_of(broker)
                yield from _lost(evolve(state, phase=MOVING), [(broker, uplink), (uplink, broker)])
            case ("dial" | "step", str(other)):
                yield self._dialled(state, broker, other)
            case _:
                following = self._fed(state, broker, given)
                gone = {given[1]} if given[0] == "unadvertise" else set()
                yield evolve(following, ready=following.ready - gone, phase=CHANGED)

    def _uplinks_of(self, broker: str) -> list[str]:
        return [up for name, up in self.world.uplinks if name == broker and up]

    def _dialled(self, state: _State, broker: str, other: str) -> _State:
        state = self._fed(evolve(state, phase=CHANGED), other, ("open", broker, False))
        return self._fed(state, broker, ("open", other, True))

    def _arrived(self, state: _State, link: tuple[str, str], messages: tuple[Message, ...]) -> _State:
        rest = tuple(
            (ends, left[1:] if ends == link else left)
            for ends, left in state.links
            if ends != link or len(left) > 1
        )
        sender, receiver = link
        given: Input = ("close", sender) if messages[0] == END else ("receive", sender, messages[0])
        return self._fed(evolve(state, links=rest), receiver, given)

    def _fed(self, state: _State, broker: str, given: Input) -> _State:
        """Feed one broker, and send its messages."""
        cores = dict(state.cores)
        reaction = self.cores.react(cores[broker], given)
        cores[broker] = reaction.state
        links = state.links
        sent = [
            (n, messages) for n, messages in reaction.sent if n in cores and not _is_lost(links, broker, n)
        ]
        if sent:
            under_way = dict(links)
            for neighbour, messages in sent:
                under_way[broker, neighbour] = under_way.get((broker, neighbour), ()) + messages
            links = tuple(sorted(under_way.items(), key=_by_ends))
        delivered = state.delivered
        if reaction.delivered:
            got = dict(delivered)
            for subscription, keys in reaction.delivered:
                got[subscription] = got.get(subscription, ()) + keys
            delivered = tuple(sorted(got.items()))
        following = _State(
            tuple(sorted(cores.items())),
            links,
            delivered,
            state.published,
            state.ready.union(reaction.advertised),
            state.phase,
            state.pasts,
        )
        for neighbour in reaction.closed:
            following = self._closed(following, broker, neighbour)
        return following

    def _closed(self, state: _State, broker: str, neighbour: str) -> _State:
        """Let a broker close a link: what it has sent arrives, and what was sent to it does not."""
        state = self._fed(state, broker, ("close", neighbour))
        under_way = {ends: messages for ends, messages in state.links if ends != (neighbour, broker)}
        under_way[broker, neighbour] = (*under_way.get((broker, neighbour), ()), END)
        return evolve(state, links=tuple(sorted(under_way.items(), key=_by_ends)))

    # --- the end ---

    def _unfinished(self, state: _State) -> str:
        """Return what is missing or waits although only the change can still happen."""
        for name, core in state.cores:
            if not self.cores.is_quiet(core):
                return f"{name} still waits for something"
        return "" if self._is_lossy(state) else self._missing(state)

    def _is_lossy(self, state: _State) -> bool:
        """Return whether some publications need not have arrived: trees are apart, or after a fault."""
        if self.world.change is None:
            return False
        verb = self.world.change[1][0]
        return verb == "dial" or (verb in ("crash", "move") and state.phase > UNCHANGED)

    def _missing(self, state: _State) -> str:
        change = self.world.change[1] if self.world.change is not None else ()
        delivered = dict(state.delivered)
        for number, (_, kinds) in enumerate(self.world.subscriptions, 1):
            if ("unsubscribe", f"S{number}") == change:
                continue
            for published, (name, _, script) in zip(state.published, self._scripts(), strict=True):
                owed = {(name, n) for n, kind in enumerate(script[:published], 1) if kind in kinds}
                if not owed <= set(delivered.get(f"S{number}", ())):
                    return f"S{number} misses something of {name}: it has {delivered.get(f'S{number}')}"
        return ""


def _lost(state: _State, lost: list[tuple[str, str]]) -> Iterator[_State]:
    """Yield every loss of these directions: of each a prefix of the messages arrives, then the end."""
    links = dict(state.links)
    sent = [links.get(ends, ()) for ends in lost]
    gone = {frozenset(ends) for ends in lost}
    rest = {ends: messages for ends, messages in links.items() if frozenset(ends) not in gone}
    for kept in product(*(range(len(messages) + 1) for messages in sent)):
        prefixes = zip(lost, sent, kept, strict=True)
        under_way = rest | {ends: (*messages[:count], END) for ends, messages, count in prefixes}
        yield evolve(state, links=tuple(sorted(under_way.items(), key=_by_ends)))


def _is_lost(links: tuple[tuple[tuple[str, str], tuple[Message, ...]], ...], one: str, other: str) -> bool:
    """Return whether a connection is lost and one end has not noticed: what that one sends is lost too."""
    ends = {(one, other), (other, one)}
    return any(between in ends and messages[-1] == END for between, messages in links)


def _by_ends(item: tuple[tuple[str, str], tuple[Message, ...]]) -> tuple[str, str]:
    return item[0]


def _disagreement(state: _State, unordered: frozenset[str]) -> str:
    """Return how two subscriptions disagree, or what one delivers wrongly; "" if nothing is wrong."""
    pasts = dict(state.pasts)
    for place, (name, keys) in enumerate(state.delivered):
        if len(set(keys)) < len(keys):
            return f"{name} delivers twice: {keys}"
        for publisher in {publisher for publisher, _ in keys}:
            own = [sequence for p, sequence in keys if p == publisher]
            if own != sorted(own):
                return f"{name} breaks the order of {publisher}: {keys}"
        for number, key in enumerate(keys):
            if pasts and not pasts[key].isdisjoint(keys[number + 1 :]):
                return f"{name} delivers {key} before what came before it: {keys}"
        for other, others in state.delivered[:place]:
            if name in unordered or other in unordered:
                continue
            if [key for key in keys if key in others] != [key for key in others if key in keys]:
                return f"{name} delivers {keys}, {other} {others}"
    return ""
