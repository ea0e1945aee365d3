"""A session between two ends: what each has sent the other, whichever connections carried it.

Laws.

1. Both ends know the session by the same id; each end counts what it received and keeps what it sent.
2. Whoever comes back says how much it received; the other end sends from there on. A count is also an
   acknowledgement.
3. Only the newest connection counts. Before an end says how much it received, it takes nothing more from an
   older connection: what that still delivered would come twice.
"""

from typing import Generic

from attrs import define, field

from broker.sessions.retained import Batch, Frame, Retained


@define(eq=False)
class Session(Generic[Frame]):
    """One end of a session."""

    id: str
    received: int = 0
    outgoing: Retained[Frame] = field(factory=Retained)

    def resume(self, received: int) -> list[Batch[Frame]]:
        """The other end came back and has received so many; return what it gets next.

        Raises:
            SessionError: it cannot have received so many.
        """
        self.outgoing.acknowledge(received)
        return self.outgoing.after(self.outgoing.acknowledged)
