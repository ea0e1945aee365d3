"""Makes runs' directories out of chance: for tests, and to measure how long an analysis takes.

What is made looks like a run of an overlay: publishers publish in turn, every subscription wants its part,
and delivers in the order of one common sequence, or `disorder` steps away from it.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from harness.datasets import RUN

BROKERS: Final = 8
GAP_NS: Final = 100_000
"""Between two publications."""

LATENCY_NS: Final = 400_000
FILE_SUBSCRIPTIONS: Final = 10
"""Subscriptions whose client writes one file."""

SCHEMAS: Final[Mapping[str, pa.Schema]] = {
    name: pa.schema({column: getattr(pa, kind)() for column, kind in columns.items()})
    for name, columns in RUN.items()
}


@attrs.frozen
class SyntheticShape:
    """How large, and how far from one common order.

    Every subscription wants `share` of all publications, so that there are about `deliveries` altogether.
    """

    subscribers: int = 200
    publishers: int = 240
    deliveries: int = 1_000_000
    share: float = 1.0
    disorder: float = 0.0
    seed: int = 0

    @property
    def publications(self) -> int:
        """Return the expected number."""
        return max(round(self.deliveries / self.subscribers / self.share), self.publishers)


def make(path: Path, shape: SyntheticShape) -> Path:
    """Write a run's directory."""
    chance = np.random.default_rng(shape.seed)
    many = shape.publications
    of_publisher = chance.integers(0, shape.publishers, many)
    sequences = _sequences(of_publisher)
    start_ns = 1_700_000_000_000_000_000
    published_ns = start_ns + np.arange(many) * GAP_NS
    publishers = pa.array([f"publisher-{index:04}@B{index % BROKERS}/1" for index in range(shape.publishers)])
    names = pa.DictionaryArray.from_arrays(pa.array(of_publisher, pa.int32()), publishers).cast(pa.string())
    brokers = pa.array([f"B{index}" for index in range(BROKERS)])
    origins = pa.DictionaryArray.from_arrays(pa.array(of_publisher % BROKERS, pa.int32()), brokers).cast(
        pa.string()
    )
    columns = {
        "publisher": names,
        "sequence": sequences,
        "broker": origins,
        "ordered": np.ones(many, np.bool_),
        "published_ns": published_ns,
    }
    write_dataset(path, "publications", pa.table(columns, schema=SCHEMAS["publications"]))
    for first in range(0, shape.subscribers, FILE_SUBSCRIPTIONS):
        some = range(first, min(first + FILE_SUBSCRIPTIONS, shape.subscribers))
        tables = [_delivered(index, shape, chance, names, sequences, published_ns) for index in some]
        write_dataset(path, "deliveries", pa.concat_tables(tables), f"part-{first:05}")
    uplinks = {f"B{index}": f"B{(index - 1) // 2}" if index else "" for index in range(BROKERS)}
    about = {"ordering": "pairwise", "scenario": "synthetic", "seed": shape.seed, "uplinks": uplinks}
    (path / "run.json").write_text(json.dumps(about), encoding="utf-8")
    return path


def write_dataset(path: Path, name: str, table: pa.Table, part: str = "part-00000") -> None:
    """Write one file of a dataset."""
    folder = path / name
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, folder / f"{part}.parquet", compression="zstd", compression_level=1)


def _sequences(of_publisher: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number each publisher's publications from 1."""
    order = np.argsort(of_publisher, kind="stable")
    counts = np.bincount(of_publisher)
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    sequences = np.empty(len(of_publisher), np.int64)
    sequences[order] = np.arange(len(of_publisher)) - starts + 1
    return sequences


def _delivered(  # noqa: PLR0913, PLR0917 - the columns of publications
    index: int,
    shape: SyntheticShape,
    chance: np.random.Generator,
    names: pa.Array,
    sequences: NDArray[np.int64],
    published_ns: NDArray[np.int64],
) -> pa.Table:
    many = len(sequences)
    wanted = np.flatnonzero(chance.random(many) < shape.share) if shape.share < 1 else np.arange(many)
    if shape.disorder:
        wanted = wanted[np.argsort(np.arange(len(wanted)) + chance.uniform(0, shape.disorder, len(wanted)))]
    late_ns = (LATENCY_NS * chance.lognormal(0.0, 0.5, len(wanted))).astype(np.int64)
    times = np.maximum.accumulate(published_ns[wanted] + late_ns)
    columns = {
        "subscriber": pa.array([f"subscriber-{index:05}@B{index % BROKERS}/1"] * len(wanted)),
        "broker": pa.array([f"B{index % BROKERS}"] * len(wanted)),
        "position": np.arange(len(wanted)),
        "publisher": names.take(pa.array(wanted)),
        "sequence": sequences[wanted],
        "delivered_ns": times,
    }
    return pa.table(columns, schema=SCHEMAS["deliveries"])


def rows(name: str, values: Sequence[Mapping[str, object]]) -> pa.Table:
    """A dataset's rows as a table."""
    return pa.Table.from_pylist([dict(each) for each in values], schema=SCHEMAS[name])
