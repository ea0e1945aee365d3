"""Dialogues drawn from a seed: a broker that says what it may, a program that does what it likes, and time.

They have what the Python client's machine says: another client that performs a dialogue says the same.
"""

from random import Random
from typing import Any, Final

from attrs import define, field

from broker.client.delivery import Delivery, Gap
from broker.client.inbox import Inbox
from broker.client.life import CLOSED, ClientLife, Phase, Wants
from broker.client.reading import Reading
from broker.client.window import Source
from broker.errors import SubscriptionEndedError
from broker.wire import VERSION
from tests.broker.client.dialogue import Dialogue, messages_in

Json = Any

LENGTHS: Final = (20, 60, 150)
CREDIT_BYTES: Final = (30, 100, 262_144)

WHILE: Final[dict[ClientLife, dict[str, float]]] = {
    ClientLife.GREETING: {"welcome": 4, "lost": 1},
    ClientLife.WAITING: {"pause": 1},
    ClientLife.CONNECTED: {
        "answer": 8, "deliver": 8, "gap": 1, "grant": 2, "ping": 1, "pause": 2,
        "lost": 1, "ended": 0.3, "fault": 0.2, "leave": 0.1,
    },
    ClientLife.DRAINING: {"answer": 6, "grant": 1, "lost": 1},
    ClientLife.LEAVING: {"lost": 1},
}  # fmt: skip
"""What may happen in each state of the client, and how often."""

PROGRAM: Final = {
    "advertise": 1,
    "subscribe": 1,
    "publish": 3,
    "flush": 1,
    "take": 3,
    "acknowledge": 2,
    "end": 0.5,
}
"""What the program may do while it has not left."""


@define
class _Asked:
    """A request of the present connection, as the broker sees it. What it has answered is `answers_count`."""

    kind: str
    fields: list[Json]
    credit: int = 0
    answers_count: int = 0


@define
class Drawing:
    """One dialogue while it is drawn."""

    random: Random
    client: dict[str, Json]
    dialogue: Dialogue
    steps: list[dict[str, Json]] = field(factory=list)
    _asked: dict[int, _Asked] = field(factory=dict)
    _sent: dict[str, int] = field(factory=dict)
    _names_count: int = 0
    _ids_count: int = 0
    _published_count: int = 0

    @classmethod
    def of(cls, seed: int) -> "Drawing":
        random = Random(seed)
        first, most = random.choice([(1, 4), (4, 4), (4, 8), (1024, 1024)])
        client = {
            "addresses": random.choice([["b1:7411"], ["b1:7411", "b2:7411"]]),
            "name": "alice",
            "incarnation": "c7d2",
            "token": "",
            "limits": {"credit_first": first, "credit_min": 1, "credit_max": most},
        }
        return cls(random, client, Dialogue.of(client))

    def draw(self) -> None:
        """Draw steps until there are enough, or the client has closed."""
        machine = self.dialogue.machine
        for _ in range(self.random.choice(LENGTHS)):
            if machine.life is ClientLife.CLOSED:
                return
            if machine.wants is Wants.DIAL:
                self._asked.clear()
                self._do(dial=machine.address)
            else:
                self._draw_one()
            if machine.state != CLOSED:
                self._write_down()
            self.steps.append({"is": {"state": machine.state}})

    def _draw_one(self) -> None:
        life = self.dialogue.machine.life
        may = WHILE[life] if life in {ClientLife.DRAINING, ClientLife.LEAVING} else WHILE[life] | PROGRAM
        (chosen,) = self.random.choices(list(may), list(may.values()))
        getattr(self, f"_{chosen}")()

    def _do(self, **step: Json) -> None:
        self.steps.append(step)
        self.dialogue.perform(step)

    def _write_down(self) -> None:
        """Record what the client says now, and take it as its broker."""
        machine, said = self.dialogue.machine, list[list[Json]]()
        while output := machine.take_output():
            said += messages_in(output)
            machine.written(self.dialogue.now_s)
        while machine.wants is Wants.CLOSE:
            machine.lost(None, self.dialogue.now_s)
        self.steps.append({"send": said})
        for kind, *fields in said:
            match kind:
                case "Advertise" | "Flush":
                    self._asked[fields[0]] = _Asked(kind, fields)
                case "Subscribe":
                    self._asked[fields[0]] = _Asked(kind, fields, fields[3])
                case "Credit":
                    self._asked[fields[0]].credit += fields[1]
                case "Publication":
                    self._sent[fields[0]] = max(self._sent.get(fields[0], 0), fields[1])

    def _name(self) -> str:
        self._names_count += 1
        return f"n{self._names_count}"

    def _id(self) -> str:
        self._ids_count += 1
        return f"a@B1/{self._ids_count}"

    # --- the broker ---

    def _welcome(self) -> None:
        credit = self.random.choice(CREDIT_BYTES)
        self._do(receive=[["Welcome", VERSION, "B1", "k", "pairwise", credit, 5000, "", 0]])

    def _answer(self) -> None:
        """Answer a request; flushes in their order, and a refusal now and then."""
        open_ = [n for n, each in self._asked.items() if each.answers_count < 1 + (each.kind == "Subscribe")]
        flushes = [n for n in open_ if self._asked[n].kind == "Flush"]
        open_ = [n for n in open_ if n not in flushes[1:]]
        if not open_:
            return
        number = self.random.choice(open_)
        asked = self._asked[number]
        if asked.kind != "Flush" and not asked.answers_count and self.random.random() < 0.05:
            del self._asked[number]
            self._do(receive=[["Refused", number, self.random.choice(["no", "closing"]), "x"]])
            return
        asked.answers_count += 1
        self._do(receive=[self._answer_to(number, asked)])

    def _answer_to(self, number: int, asked: _Asked) -> list[Json]:
        knows = self.random.random() < 0.65
        if asked.kind == "Flush":
            return ["Flushed", number]
        if asked.kind == "Advertise":
            resumed, is_wanted = asked.fields[2], self.random.random() < 0.5
            if resumed and knows:
                taken = self.random.randint(0, self._sent.get(resumed, 0))
                return ["Advertised", number, resumed, taken, is_wanted]
            return ["Advertised", number, self._id(), 0, is_wanted]
        if asked.answers_count > 1:
            return ["Subscribed", number]
        durable, resumed, after = asked.fields[6], asked.fields[8], asked.fields[9]
        if (durable or resumed) and knows:
            return ["Placed", number, resumed or "s", *(after or [self.random.choice([0, 3])]), True]
        return ["Placed", number, self._id(), self.random.choice([0, 2]), False]

    def _placed(self) -> list[int]:
        return [n for n, each in self._asked.items() if each.kind == "Subscribe" and each.answers_count]

    def _deliver(self) -> None:
        """Deliver one event; some come again, as from another broker."""
        ready = [n for n in self._placed() if self._asked[n].credit > 0]
        if not ready:
            return
        number = self.random.choice(ready)
        self._asked[number].credit -= 1
        self._published_count += 1
        sequence = self.random.choice(
            [self._published_count] * 4 + [self.random.randint(1, self._published_count)]
        )
        event = [self.random.choice(["x/1", "x/2"]), sequence, {"x": {"int": "1"}}, "", True]
        self._do(receive=[["Deliver", number, 1], ["Publication", *event]])

    def _gap(self) -> None:
        if placed := self._placed():
            gap = [
                self.random.choice(placed),
                self.random.choice([0, 1, 4]),
                self.random.choice(["bound", "lost"]),
            ]
            self._do(receive=[["Gap", *gap]])

    def _grant(self) -> None:
        self._do(receive=[["Grant", self.random.choice([1, 40, 100, 10_000])]])

    def _ping(self) -> None:
        self._do(receive=[["Ping", self.random.randrange(300)]])

    def _ended(self) -> None:
        if ending := [n for n, each in self._asked.items() if each.kind != "Flush"]:
            number = self.random.choice(ending)
            del self._asked[number]
            self._do(receive=[["Ended", number, self.random.choice(["slow", "taken-over"]), "x"]])

    def _fault(self) -> None:
        self._do(receive=[["Fault", self.random.choice(["closing", "restarting", "busy", "auth"]), "x"]])

    # --- the time and the network ---

    def _lost(self) -> None:
        self._do(lost=self.random.choice([None, "reset"]))

    def _pause(self) -> None:
        self._do(pass_s=self.random.choice([0.05, 0.3, 1, 6]))

    # --- the program ---

    def _advertise(self) -> None:
        resumed = {"resume": self._id()} if self.random.random() < 0.2 else {}
        self._do(advertise={"as": self._name(), "filter": "True", **resumed})

    def _subscribe(self) -> None:
        options: dict[str, Json] = {}
        if self.random.random() < 0.5:
            options["durable"] = "d"
            if self.random.random() < 0.6:
                options |= {"ack": "manual", "max_open": self.random.choice([1, 3, 10])}
            if self.random.random() < 0.3:
                options["after"] = self.random.choice([0, 5])
                if self.random.random() < 0.5:
                    options["resume"] = self._id()
        elif self.random.random() < 0.3:
            options["replay"] = self.random.choice(["5m", "now", "7"])
        self._do(subscribe={"as": self._name(), "filter": "True", **options})

    def _publish(self) -> None:
        open_ = [n for n, each in self._named(Source) if each.phase is Phase.OPEN]
        if open_:
            value = {"int": str(self.random.randrange(1000))}
            self._do(publish={"by": self.random.choice(open_), "attributes": {"x": value}})

    def _flush(self) -> None:
        name = self._name()
        self._do(flush={"as": name})
        self.steps.append({"is": {"done" if self.dialogue._named[name].is_done else "pending": name}})

    def _take(self) -> None:
        """The program asks for one more item of a subscription where something has arrived."""
        waiting = [n for n, each in self._named(Inbox) if each.phase is not Phase.ENDED and each._entries]
        if not waiting:
            return
        name = self.random.choice(waiting)
        try:
            item = _next_of(self.dialogue._readings[name])
        except SubscriptionEndedError:
            return
        match item:
            case None:
                self.steps.append({"wait_for": name})
            case Gap():
                self.steps.append(
                    {"yield": {"of": name, "items": [{"gap": item.count, "reason": item.reason}]}}
                )
            case _:
                at = {"publisher": item.publisher, "sequence": item.sequence, "position": item.position}
                self.steps.append({"yield": {"of": name, "items": [at]}})

    def _acknowledge(self) -> None:
        manual = [
            (n, each)
            for n, each in self._named(Inbox)
            if each.max_open and each.yielded and each.phase is not Phase.ENDED
        ]
        if manual:
            name, inbox = self.random.choice(manual)
            position = self.random.randint(max(inbox.had - 1, 0), inbox.yielded)
            self._do(ack={"of": name, "position": position})

    def _end(self) -> None:
        living = {Phase.OPENING, Phase.OPEN}
        if ending := [n for kind in (Source, Inbox) for n, each in self._named(kind) if each.phase in living]:
            self._do(close=self.random.choice(ending))

    def _leave(self) -> None:
        self._do(leave=True)

    def _named(self, kind: type[Json]) -> list[tuple[str, Json]]:
        return [(name, each) for name, each in self.dialogue._named.items() if isinstance(each, kind)]


def _next_of(reading: Reading) -> Delivery | Gap | None:
    if (delivery := next(reading.batch, None)) is not None:
        return delivery
    arrived = reading.advance()
    if isinstance(arrived, Gap):
        return arrived
    return next(reading.batch) if arrived else None


def drawn(seed: int) -> dict[str, Json]:
    """The dialogue of a seed, as a file of cases has it."""
    drawing = Drawing.of(seed)
    drawing.draw()
    return {"name": f"seed {seed}", "client": drawing.client, "steps": drawing.steps}
