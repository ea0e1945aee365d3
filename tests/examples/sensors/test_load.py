"""Sensors at real brokers: they measure while there is a subscriber, and not otherwise."""

from functools import partial
from itertools import count

import trio

from broker import connect
from examples.sensors.load import sense
from tests.broker.server.overlay import chain, until


class Sensor:
    """The reports and measurements of a sensor."""

    def __init__(self) -> None:
        self.reports: list[str] = []
        self.measured_count = 0
        self._numbers = count()

    def measure(self) -> float:
        self.measured_count += 1
        return float(next(self._numbers))

    @property
    def is_at_work(self) -> bool:
        return bool(self.reports) and "measuring" in self.reports[-1]


async def test_only_the_sensors_with_a_subscriber_measure(nursery: trio.Nursery) -> None:
    async with chain("B1", "B2", "B3") as (one, two, three), connect(three.address) as listener:
        sensors = {"alpha": Sensor(), "beta": Sensor()}
        for broker, (host, sensor) in zip((one, two), sensors.items(), strict=True):
            begin = partial(sense, interval_s=0.001, linger_s=0)
            nursery.start_soon(begin, broker.address, host, sensor.measure, sensor.reports.append)
        for broker in (one, two):
            await until(lambda broker=broker: len(broker.server.exchange.publishers) == 1)  # type: ignore[misc]  # the broker of this turn
        alpha, beta = sensors.values()
        for _ in range(2):
            async with listener.subscribe("kind == 'load' and host.startswith('al')") as deliveries:
                first = await anext(deliveries)
                assert first.attributes["host"] == "alpha"
                assert first.attributes["load"] == (await anext(deliveries)).attributes["load"] - 1  # type: ignore[operator]  # numbers
            await until(lambda: not alpha.is_at_work)
            at_rest_count = alpha.measured_count
            async with listener.subscribe("host == 'gamma'"):
                assert alpha.measured_count == at_rest_count
        assert alpha.reports == ["somebody listens: measuring", "nobody listens: sleeping"] * 2
        assert beta.reports == []
        nursery.cancel_scope.cancel()
