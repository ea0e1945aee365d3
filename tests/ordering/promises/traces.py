"""Traces drawn at random: of a service that keeps every promise, and of anything at all."""

from collections.abc import Callable, Iterator, Sequence
from random import Random

from hypothesis import strategies as st

from ordering.promises import (
    Operation,
    Trace,
    acknowledge,
    advertise,
    notify,
    publish,
    rest,
    subscribe,
    torn,
    unadvertise,
    unsubscribe,
)
from ordering.verdicts import Key

CLIENTS = ("X", "Y", "Z")
FILTERS = ("all", "even", "odd", "none")


def matches(content: str, key: Key) -> bool:
    """The filters of these traces look at the number alone."""
    return content == "all" or content == ("odd" if key[1] % 2 else "even")


def clients() -> st.SearchStrategy[str]:
    return st.sampled_from(CLIENTS)


def filters() -> st.SearchStrategy[str]:
    return st.sampled_from(FILTERS)


def keys() -> st.SearchStrategy[Key]:
    return st.tuples(clients(), st.integers(1, 3))


@st.composite
def any_traces(draw: st.DrawFn) -> Trace:
    """Any trace in which no notification is published twice."""
    about_filters = st.sampled_from((subscribe, unsubscribe, acknowledge, advertise, unadvertise))
    about_filter = st.builds(lambda make, c, f: make(c, f), about_filters, clients(), filters())
    operation = st.one_of(
        about_filter,
        about_filter,
        st.builds(publish, keys()),
        st.builds(notify, clients(), keys()),
        st.sampled_from((rest(), rest(), torn())),
    )
    operations: list[Operation] = []
    for each in draw(st.lists(operation, max_size=25)):
        if each.verb != "pub" or each not in operations:
            operations.append(each)
    return Trace(operations, matches, draw(st.booleans()), draw(st.booleans()))


class Service:
    """A service that keeps every promise: what is published waits at every client that wants it."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.subscribed: dict[tuple[str, str], bool] = {}
        self.advertised: set[tuple[str, str]] = set()
        self.waiting: list[tuple[str, Key]] = []
        self.published: dict[str, int] = {}

    def say(self, operation: Operation) -> None:
        self.operations.append(operation)

    def subscribe(self, client: str, content: str) -> None:
        """It may be the second time; then the client waits for an acknowledgement again."""
        self.subscribed[client, content] = False
        self.say(subscribe(client, content))

    def unsubscribe(self, client: str, content: str) -> None:
        self.subscribed.pop((client, content), None)
        self.say(unsubscribe(client, content))
        self.waiting = [(c, key) for c, key in self.waiting if c != client or self.wants(c, key)]

    def advertise(self, client: str, content: str) -> None:
        self.advertised.add((client, content))
        self.say(advertise(client, content))

    def unadvertise(self, client: str, content: str) -> None:
        self.advertised.discard((client, content))
        self.say(unadvertise(client, content))

    def publish(self, client: str, _: str) -> None:
        number = self.published[client] = self.published.get(client, 0) + 1
        key = (client, number)
        self.say(publish(key))
        if any(matches(content, key) for c, content in self.advertised if c == client):
            self.waiting += [(c, key) for c in CLIENTS if self.wants(c, key)]

    def wants(self, client: str, key: Key) -> bool:
        return any(c == client and matches(content, key) for c, content in self.subscribed)

    def go_on(self, client: str, _: str) -> None:
        """The next event for a client, or else an acknowledgement."""
        for place, (waits, key) in enumerate(self.waiting):
            if waits == client:
                del self.waiting[place]
                self.say(notify(client, key))
                return
        for (waits, content), is_acknowledged in self.subscribed.items():
            if waits == client and not is_acknowledged:
                self.subscribed[waits, content] = True
                self.say(acknowledge(waits, content))
                return

    def rest(self, *_: str) -> None:
        for client in CLIENTS:
            before = -1
            while before != len(self.operations):
                before = len(self.operations)
                self.go_on(client, "")
        self.say(rest())


Step = tuple[int, str, str]

VERBS: tuple[Callable[[Service, str, str], None], ...] = (
    Service.subscribe,
    Service.unsubscribe,
    Service.advertise,
    Service.advertise,
    Service.unadvertise,
    Service.rest,
    *([Service.publish] * 5),
    *([Service.go_on] * 5),
)

MOST_STEPS = 40


def served(steps: Sequence[Step], *, drained: bool = True) -> Trace:
    """What such a service shows of itself."""
    service = Service()
    for verb, client, content in steps:
        VERBS[verb](service, client, content)
    if drained:
        service.rest()
    return Trace(service.operations, matches)


def lawful_traces(*, drained: bool = True) -> st.SearchStrategy[Trace]:
    """The traces of such a service."""
    steps = st.tuples(st.integers(0, len(VERBS) - 1), clients(), filters())
    return st.builds(lambda chosen: served(chosen, drained=drained), st.lists(steps, max_size=MOST_STEPS))


def lawful_trace(random: Random) -> Trace:
    """One of them, by chance."""
    return served(
        [
            (random.randrange(len(VERBS)), random.choice(CLIENTS), random.choice(FILTERS))
            for _ in range(MOST_STEPS)
        ]
    )


def places(trace: Trace, verb: str) -> Iterator[tuple[int, Operation]]:
    """Where such an operation is."""
    return ((step, each) for step, each in enumerate(trace.operations) if each.verb == verb)
