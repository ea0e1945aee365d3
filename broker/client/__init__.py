"""The client: publishes and subscribes at one broker, and reconnects when the connection is lost.

`machine` is all of it without I/O: `session`, `window` and `inbox` are its protocol, `life` and `silence` its
states and timers, `outbox` and `reading` its side of publishers and subscribers. `client`, `publisher` and
`deliveries` are the objects of users. They wait in a `driver`, and a shell keeps it going: `trio_shell`,
`asyncio_shell` or `thread_shell`; `blocking` has the objects for users of the last one.

Names are imported when they are first asked for: a program that drives the machine itself does not load Trio.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from broker.client.client import Client
    from broker.client.deliveries import Deliveries
    from broker.client.delivery import Delivery, Gap
    from broker.client.discovering import AdvertisementWatch
    from broker.client.interest_changes import InterestChange
    from broker.client.life import StateChange
    from broker.client.limits import Limits
    from broker.client.offers import AdvertisementChange
    from broker.client.publisher import Publisher
    from broker.client.replay import Replay
    from broker.client.trio_shell import connect

__all__ = [
    "AdvertisementChange",
    "AdvertisementWatch",
    "Client",
    "Deliveries",
    "Delivery",
    "Gap",
    "InterestChange",
    "Limits",
    "Publisher",
    "Replay",
    "StateChange",
    "connect",
]

_PLACES: Final = {
    "AdvertisementChange": "offers",
    "AdvertisementWatch": "discovering",
    "Client": "client",
    "Deliveries": "deliveries",
    "Delivery": "delivery",
    "Gap": "delivery",
    "InterestChange": "interest_changes",
    "Limits": "limits",
    "Publisher": "publisher",
    "Replay": "replay",
    "StateChange": "life",
    "connect": "trio_shell",
}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module 'broker.client' has no attribute {name!r}")
    found: object = getattr(import_module(f"broker.client.{_PLACES[name]}"), name)
    globals()[name] = found
    return found
