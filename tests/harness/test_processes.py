import re

import pytest
import trio

from harness.processes import ProcessError, ServerProcess, start, start_server


async def test_a_server_is_ready_when_its_address_is_known() -> None:
    async with trio.open_nursery() as nursery:
        server = await start_server(nursery, "relay", "harness.benchmarks.relay", [])
        async with await trio.open_tcp_stream(server.host, server.port):
            server.program.check_alive()
        nursery.cancel_scope.cancel()
    assert server.program.process.returncode is not None


async def test_a_failure_beside_a_server_leaves_no_process_behind() -> None:
    servers: list[ServerProcess] = []
    with pytest.RaisesGroup(ValueError):
        async with trio.open_nursery() as nursery:
            servers.append(await start_server(nursery, "relay", "harness.benchmarks.relay", []))
            raise ValueError
    assert servers[0].program.process.returncode is not None


async def test_a_server_that_fails_to_start_shows_why() -> None:
    with pytest.RaisesGroup(
        pytest.RaisesExc(ProcessError, match=re.escape("relay ended too early"))
    ) as raised:
        async with trio.open_nursery() as nursery:
            await start_server(nursery, "relay", "harness.benchmarks.relay", ["--nonsense"])
    assert "--nonsense" in str(raised.value.exceptions[0])


async def test_something_else_than_an_address_is_an_error() -> None:
    with pytest.RaisesGroup(pytest.RaisesExc(ProcessError, match="instead of listening on HOST:PORT")):
        async with trio.open_nursery() as nursery:
            await start_server(nursery, "version", "broker", ["--version"])


async def test_lines_go_in_and_out() -> None:
    async with trio.open_nursery() as nursery:
        program = await start(nursery, "echo", "tests.harness.echo", [])
        await program.write_line("one")
        await program.write_line("two")
        assert [await program.read_line(), await program.read_line()] == ["one", "two"]
        await program.close_input()
        assert await program.process.wait() == 0
