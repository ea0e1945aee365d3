"""The datasets of a run, the same as of any run of the harness: `harness.analysis` judges them alike.

Numbers and times come as arrays, millions of them, and become columns without a loop over rows.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.peers.turns import PublisherTurn, SubscriberTurn
from harness.peers.workload import SEQUENCE_BITS, SEQUENCE_MASK
from harness.traces import DELIVERIES, MATCHES, PUBLICATIONS, SEEN, SUBSCRIPTIONS, Dataset, merge

if TYPE_CHECKING:
    from array import array

    import pyarrow as pa


def server_name(place: int, servers: int) -> str:
    """Return what the server of a client is called."""
    return f"S{place % servers + 1}"


def write_publications(folder: Path, turns: Sequence[PublisherTurn], servers: int) -> None:
    """Write a file for each publisher."""
    import pyarrow as pa  # noqa: PLC0415 - heavy, and loaded when nothing is measured any more

    for turn in turns:
        count = len(turn.times_ns)
        columns = {
            "publisher": pa.repeat(f"publish-{turn.place}", count),
            "sequence": pa.array(range(1, count + 1), pa.int64()),
            "broker": pa.repeat(server_name(turn.place, servers), count),
            "ordered": pa.repeat(pa.scalar(value=True), count),
            "published_ns": _column(turn.times_ns),
        }
        _write(PUBLICATIONS, folder, turn.place, columns)


def write_deliveries(folder: Path, turns: Sequence[SubscriberTurn], publishers: int, servers: int) -> None:
    """Write a file for each subscriber."""
    import pyarrow as pa  # noqa: PLC0415 - heavy, and loaded when nothing is measured any more
    import pyarrow.compute as pc  # noqa: PLC0415 - likewise

    names = pa.array([f"publish-{place}" for place in range(publishers)])
    for turn in turns:
        numbers = _column(turn.numbers)
        columns = {
            "subscriber": pa.repeat(f"subscribe-{turn.place}", len(numbers)),
            "broker": pa.repeat(server_name(turn.place, servers), len(numbers)),
            "position": pa.array(range(len(numbers)), pa.int64()),
            "publisher": names.take(pc.shift_right(numbers, SEQUENCE_BITS)),
            "sequence": pc.bit_wise_and(numbers, SEQUENCE_MASK),
            "delivered_ns": _column(turn.times_ns),
        }
        _write(DELIVERIES, folder, turn.place, columns)


def complete(folder: Path, subscribers: int, servers: int) -> None:
    """Write what follows from the rest: everybody wants everything in order, and publishers read nothing."""
    import pyarrow as pa  # noqa: PLC0415 - heavy, and only who has measured pays for it
    import pyarrow.parquet as pq  # noqa: PLC0415 - likewise

    published = pq.read_table(PUBLICATIONS.folder(folder), columns=["publisher", "sequence"])
    for place in range(subscribers):
        name = pa.repeat(f"subscribe-{place}", len(published))
        _write(
            MATCHES,
            folder,
            place,
            {"subscriber": name, **dict(zip(published.column_names, published.columns, strict=True))},
        )
    places = range(subscribers)
    subscriptions = {
        "subscriber": pa.array([f"subscribe-{place}" for place in places]),
        "broker": pa.array([server_name(place, servers) for place in places]),
        "ordered": pa.repeat(pa.scalar(value=True), subscribers),
    }
    _write(SUBSCRIPTIONS, folder, 0, subscriptions)
    merge(SEEN, folder)


def ages_ms(folder: Path, since_ns: int, until_ns: int) -> tuple[float, float]:
    """Return p50 and p99 of how old deliveries were, over all that was published between two moments."""
    import pyarrow.compute as pc  # noqa: PLC0415 - heavy, and only who has measured pays for it
    import pyarrow.parquet as pq  # noqa: PLC0415 - likewise

    during = [("published_ns", ">=", since_ns), ("published_ns", "<", until_ns)]
    key = ["publisher", "sequence"]
    published = pq.read_table(PUBLICATIONS.folder(folder), columns=[*key, "published_ns"], filters=during)
    later = [("delivered_ns", ">=", since_ns)]
    delivered = pq.read_table(DELIVERIES.folder(folder), columns=[*key, "delivered_ns"], filters=later)
    both = delivered.join(published, key, join_type="inner")
    ages_ns = pc.subtract(both["delivered_ns"], both["published_ns"])
    p50, p99 = pc.quantile(ages_ns, [0.5, 0.99]).to_pylist()
    return (p50 or 0.0) / 1e6, (p99 or 0.0) / 1e6


def _column(values: "array[int]") -> "pa.Array":
    """Return the values as a column, in the memory in which they are."""
    import pyarrow as pa  # noqa: PLC0415 - heavy, and loaded when nothing is measured any more

    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(values)])


def _write(dataset: Dataset, folder: Path, number: int, columns: "Mapping[str, pa.Array]") -> None:
    import pyarrow as pa  # noqa: PLC0415 - heavy, and loaded when nothing is measured any more
    import pyarrow.parquet as pq  # noqa: PLC0415 - likewise

    dataset.folder(folder).mkdir(parents=True, exist_ok=True)
    table = pa.table(dict(columns), schema=dataset.schema())
    pq.write_table(table, dataset.folder(folder) / f"part-{number}.parquet", compression="zstd")
