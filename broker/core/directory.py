"""Who is told where brokers are. What is known is kept by `broker.healing`; here it goes over links.

Laws.

1. Whoever dialled is told all that is known before anything else, so that it knows even if it is never
   attached, or loses the link in the same moment.
2. Whoever dialled tells nothing before it is attached: the names of a broker that is refused stay unknown.
   Then it tells all that it knows.
3. What is new goes at once to everybody who has been told the rest; it waits behind nothing, for it changes
   nothing that is ordered.
"""

from collections.abc import Callable

from attrs import Factory, define

from broker.core.hops import Hop
from broker.healing import Place, Roster
from broker.messages import Control, Whereabouts


@define(eq=False)
class Directory:
    """The roster of one broker, and the links over which news of it go."""

    roster: Roster
    _send_now: Callable[[Hop, Control], None]
    _told: dict[Hop, None] = Factory(dict)

    def reached_at(self, address: str) -> None:
        """This broker can be dialled there."""
        self._tell(self.roster.reached_at(address))

    def dialled(self, link: Hop) -> None:
        """Somebody dialled us (law 1)."""
        self._tell_all(link)

    def attached(self, uplink: Hop) -> None:
        """We are a child of that broker (law 2)."""
        self._tell(self.roster.attached_to(uplink.name))
        self._tell_all(uplink)

    def learn(self, message: Whereabouts, link: Hop) -> None:
        """A neighbour tells; tell on what is new, and everybody if it is wrong about us."""
        self._tell(self.roster.learn(message.places), but=link)
        self._tell(self.roster.contradict(message.places))

    def link_lost(self, link: Hop) -> None:
        """Nothing more can be told there."""
        self._told.pop(link, None)

    def _tell_all(self, link: Hop) -> None:
        self._told[link] = None
        everything = self.roster.everything()
        if everything:
            self._send_now(link, Whereabouts(everything))

    def _tell(self, news: tuple[Place, ...], but: Hop | None = None) -> None:
        if news:
            for link in self._told:
                if link is not but:
                    self._send_now(link, Whereabouts(news))
