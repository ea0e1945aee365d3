"""Several brokers of one machine, started by one command."""

import os
import signal
import sys
from pathlib import Path

import click
import pytest
import trio

from broker import StateChange, connect
from broker.addresses import Address
from broker.commands import concord
from broker.commands.workers import worker_settings
from broker.server.settings import Settings, SettingsError
from tests.broker.commands.test_broker import rest_of, started

FRONT = Address("127.0.0.1", 7411)


def test_the_first_worker_has_the_uplinks_and_is_the_uplink_of_the_others() -> None:
    settings = Settings(
        name="B",
        listen=FRONT,
        uplinks=(Address("hub", 7411),),
        journal=Path("kept"),
        metrics=Address("127.0.0.1", 9411),
    )
    first, third = worker_settings(settings, 1), worker_settings(settings, 3)
    assert (first.name, third.name) == ("B", "B-3")
    assert (first.uplinks, third.uplinks) == (settings.uplinks, (Address("127.0.0.1", 7412),))
    assert (first.listen.port, third.listen.port) == (7412, 7414)
    assert first.listen_shared == third.listen_shared == FRONT
    assert (first.journal, third.journal) == (Path("kept/1"), Path("kept/3"))
    assert (first.metrics, third.metrics) == (Address("127.0.0.1", 9411), Address("127.0.0.1", 9413))


def test_more_workers_than_a_machine_has_cores_for_are_refused() -> None:
    options = ["broker", "--name", "B", "--listen", "127.0.0.1:0", "--workers", "1000000"]
    with pytest.raises(click.BadParameter, match="1000000 is not in the range 1<=x<=256"):
        concord.main(options, standalone_mode=False)


def test_workers_that_listen_everywhere_dial_each_other_here_unless_an_address_is_advertised() -> None:
    everywhere = Settings(name="B", listen=Address("0.0.0.0", 7411), is_insecure=True)  # noqa: S104 - the point
    assert worker_settings(everywhere, 2).uplinks == (Address("127.0.0.1", 7412),)
    known = Settings(
        name="B", listen=everywhere.listen, advertise_address=Address("hub", 7411), is_insecure=True
    )
    assert worker_settings(known, 2).uplinks == (Address("hub", 7412),)
    assert worker_settings(known, 2).advertise_address == Address("hub", 7413)


def test_there_must_be_ports_behind_the_shared_one() -> None:
    with pytest.raises(SettingsError, match="no ports are left"):
        worker_settings(Settings(name="B", listen=Address("127.0.0.1", 65535)), 1)


def workers_of(process: trio.Process) -> list[int]:
    """The numbers of the workers' processes."""
    threads = Path(f"/proc/{process.pid}/task").glob("*/children")
    return [int(number) for thread in threads for number in thread.read_text(encoding="ascii").split()]


async def test_clients_are_dealt_out_and_return_to_the_worker_that_they_got(tmp_path: Path) -> None:
    options = ("--name", "B", "--listen", "127.0.0.1:0", "--workers", "2", "--journal", str(tmp_path))
    async with started(*options) as (process, address):
        front = int(address.rpartition(":")[2])
        changes: list[StateChange] = []
        reconnected = trio.Event()

        def note(change: StateChange) -> None:
            changes.append(change)
            if len(changes) > 1 and change.state == "connected":
                reconnected.set()

        async with (
            connect(address, on_state=note) as subscriber,
            connect(address) as publisher,
            subscriber.subscribe("x > 0", durable="kept") as deliveries,
            publisher.advertise("x > 0") as events,
        ):
            await events.publish({"x": 1})
            assert (await anext(aiter(deliveries))).attributes == {"x": 1}
            for worker in workers_of(process):
                os.kill(worker, signal.SIGKILL)
            await events.publish({"x": 2})
            await events.flush()
            assert (await anext(aiter(deliveries))).attributes == {"x": 2}
            await reconnected.wait()
        assert int(changes[2].address.rpartition(":")[2]) in {front + 1, front + 2}
        process.terminate()
        log = await rest_of(process.stderr)
    assert process.returncode == 0
    assert log.count("worker ended, and is started again") == 2


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_workers_end_with_the_process_that_started_them(number: signal.Signals) -> None:
    async with started("--name", "B", "--listen", "127.0.0.1:0", "--workers", "2") as (process, _):
        workers = [os.pidfd_open(worker) for worker in workers_of(process)]
        assert len(workers) == 2
        os.kill(process.pid, number)
        for worker in workers:
            await trio.lowlevel.wait_readable(worker)  # It has ended.
            os.close(worker)


async def test_settings_that_no_worker_can_have_end_all_of_them(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("no directory")
    program = ["-m", "broker", "broker", "--name", "B", "--listen", "127.0.0.1:0", "--workers", "2"]
    program += ["--trace", str(taken)]
    done = await trio.run_process(
        [sys.executable, *program], check=False, capture_stdout=True, capture_stderr=True
    )
    assert done.returncode != 0
    assert b"taken" in done.stderr
