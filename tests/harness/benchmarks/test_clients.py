"""Every Python client is measured by what it has read and published."""

from harness.benchmarks.clients import KINDS, run


async def test_every_client_reads_and_publishes() -> None:
    rows = await run(events=300, rounds=1)
    assert tuple(row.client for row in rows) == KINDS
    assert all(row.read_per_s > 0 and row.published_per_s > 0 for row in rows)
    assert (rows[0].read_part, rows[0].published_part) == (1, 1)
