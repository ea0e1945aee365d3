import signal

import trio

from harness.processes import ServerProcess, start, start_server


async def is_listening(port: int) -> bool:
    try:
        stream = await trio.open_tcp_stream("127.0.0.1", port)
    except OSError:
        return False
    await stream.aclose()
    return True


async def test_a_server_ends_when_its_starter_is_killed() -> None:
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            starter = await start(nursery, "starter", "tests.harness.starter", [])
            port = int(await starter.read_line())
            assert await is_listening(port)
            starter.process.kill()
            while await is_listening(port):
                await trio.lowlevel.checkpoint()


async def test_a_server_on_a_leash_is_the_process_its_starter_knows() -> None:
    servers: list[ServerProcess] = []
    async with trio.open_nursery() as nursery:
        servers.append(await start_server(nursery, "relay", "harness.benchmarks.relay", []))
        servers[0].program.process.send_signal(signal.SIGKILL)
        assert await servers[0].program.process.wait() == -signal.SIGKILL
    assert not await is_listening(servers[0].port)
