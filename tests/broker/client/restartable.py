"""A real broker that a test may stop and start again."""

import attrs
import trio

from tests.broker.server.overlay import Running, running, settings


class Restartable:
    """A broker that can be stopped and started again at the same address."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self.nursery = nursery
        self.wanted = settings("B1")

    async def start(self) -> str:
        broker: Running = await self.nursery.start(self._serve)
        self.wanted = attrs.evolve(self.wanted, listen=broker.endpoint)
        return broker.address

    async def _serve(self, task_status: trio.TaskStatus[Running]) -> None:
        self.stopping, self.stopped = trio.Event(), trio.Event()
        async with running(self.wanted) as broker:
            task_status.started(broker)
            await self.stopping.wait()
        self.stopped.set()

    async def stop(self) -> None:
        self.stopping.set()
        await self.stopped.wait()
