"""After a restart: whoever the station remembers is away, and waited for as after a broken connection.

Law: nothing is decided here. Whoever does not come in time is given up as at any other time, and the time
that was waited for it before the restart counts.
"""

from broker.shell.greeting import House, link_of
from broker.shell.publishers import LocalPublisher
from broker.shell.subscriptions import Subscription

__all__ = ["wait_for_everybody"]


def wait_for_everybody(house: House) -> None:
    """Give the shell its part of what the station has recovered, all of it without a connection."""
    exchange, station = house.exchange, house.exchange.station
    patience_s = house.link_timeout_s
    exchange.absences.started(patience_s)
    for place in list(station.links.values()):
        link = link_of(house, place)
        exchange.absences.left(link, patience_s)
        if place.verdict:
            link.close(f"the other tree refused the attachment: {place.verdict}")
    for publisher in list(station.publishers.values()):
        LocalPublisher(publisher, exchange, patience_s).detach()
    for subscription in list(station.subscriptions.values()):
        Subscription(subscription, exchange, patience_s).detach()
