"""The filters that overlap a publisher's advertisement, as its broker lists them. No I/O.

Laws:

* `filters` is always a whole list: a change is taken when its last page has come, and after a reconnection
  the old list stands until the new one is there.
* A publisher is followed until it ends, once the program has asked.
"""

from attrs import define, field

from broker import messages as m
from broker.client.window import Source
from broker.errors import RefusedError
from broker.interest_messages import FollowInterest, InterestListed


@define(eq=False)
class FollowedInterest:
    """The interest in one publisher, over all connections; `version` counts the lists, and 0 is none."""

    source: Source
    number: int = 0
    filters: tuple[str, ...] = ()
    version: int = 0
    failure: RefusedError | None = None
    _listed: dict[str, None] = field(factory=dict)

    def ask(self, number: int) -> FollowInterest:
        """Make the message that asks under this number; the broker lists everything anew."""
        self.number = number
        self.failure = None
        self._listed = {}
        return FollowInterest(number, self.source.number)

    def put(self, page: InterestListed) -> bool:
        """Take a page of a change; return whether the list is another now."""
        for each in page.removed:
            self._listed.pop(each, None)
        self._listed.update(dict.fromkeys(page.added))
        if page.more:
            return False
        self.filters = tuple(self._listed)
        self.version += 1
        return True

    def refused(self, refusal: m.Refused) -> None:
        """Take a refusal."""
        self.failure = RefusedError(
            f"the broker does not list who is interested: {refusal.text}", refusal.code
        )
