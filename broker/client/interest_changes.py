"""Changes of the filters that overlap a publisher's advertisement, for the program that publishes."""

from collections.abc import AsyncIterator

from attrs import define, field, frozen

from broker.client.driver import Driver
from broker.client.interest import FollowedInterest
from broker.client.outbox import Outbox
from broker.filters import Filter, parse


@frozen
class InterestChange:
    """Filters that overlap the advertisement from now on, and those that do no longer."""

    added: tuple[Filter, ...]
    removed: tuple[Filter, ...]


@define(eq=False)
class InterestChanges(AsyncIterator[InterestChange]):
    """The present filters first, which may be none, then each change; what came and went is left out."""

    _outbox: Outbox
    _driver: Driver
    present: dict[str, Filter] = field(factory=dict, init=False)
    """The filters that were yielded and not removed, by their text."""
    _version: int = field(default=0, init=False)

    async def __anext__(self) -> InterestChange:
        self._outbox.check()
        followed = self._driver.machine.session.follow_interest(self._outbox.source)
        while True:
            is_first = not self._version
            await self._newer(followed)
            change = self._look(followed)
            if is_first or change.added or change.removed:
                return change

    async def _newer(self, followed: FollowedInterest) -> None:
        outbox = self._outbox
        await self._driver.shell.pause()
        await self._driver.until(
            lambda: followed.version != self._version or followed.failure is not None or outbox.is_over
        )
        outbox.check()
        if followed.failure is not None:
            raise followed.failure

    def _look(self, followed: FollowedInterest) -> InterestChange:
        before, self._version = self.present, followed.version
        self.present = {each: before.get(each) or parse(each) for each in followed.filters}
        return InterestChange(
            tuple(content for each, content in self.present.items() if each not in before),
            tuple(content for each, content in before.items() if each not in self.present),
        )
