"""The watch of advertisements that `Client.advertisements` gives: an async iterator of changes."""

from collections.abc import AsyncIterator, Mapping
from types import MappingProxyType

from attrs import define, field

from broker.client.driver import Driver
from broker.client.offers import AdvertisementChange, Offers
from broker.errors import ClosedError


@define(eq=False)
class AdvertisementWatch(AsyncIterator[AdvertisementChange]):
    """The advertisements on offer, for one task at a time. Made by `Client.advertisements`."""

    _offers: Offers
    _driver: Driver
    _is_closed: bool = field(default=False, init=False)

    @property
    def standing(self) -> Mapping[str, str]:
        """What stands now: each publisher's filter. Behind a lost connection it fills anew."""
        return MappingProxyType(self._offers.standing)

    async def __anext__(self) -> AdvertisementChange:
        """The next change: first all that stands, then "complete", then what comes and goes."""
        offers, found = self._offers, list[AdvertisementChange]()

        def has_found() -> bool:
            if (change := offers.take()) is not None:
                found.append(change)
            return bool(found) or self._is_closed or offers.ended is not None

        await self._driver.until(has_found)
        if found:
            return found[0]
        if offers.ended is not None:
            raise offers.ended
        raise ClosedError(f"the watch of {offers.filter!r} was used after its block had been left")

    def close(self) -> None:
        """End the watch."""
        self._is_closed = True
        self._driver.machine.session.undiscover(self._offers)
        self._driver.wake()
        self._driver.announce_change()
