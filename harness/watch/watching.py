"""Watches a running overlay: subscribes through the Spark source, and keeps the verdict up to date."""

import json
import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import reduce
from pathlib import Path
from typing import Final

from attrs import define, field
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from broker.errors import ConcordError
from broker.spark import ConcordSource
from broker.spark.options import BrokerAccess
from harness.watch.verdict import LiveVerdict

NAME: Final = "watch"
"""The name of the watching client at every broker."""

AGE_S: Final = "60"
"""Brokers forget the subscriptions so soon if the watch itself is killed."""

SCHEMA: Final = "_filter STRING, _publisher STRING, _sequence BIGINT, _ordered BOOLEAN, _gap STRING"


REFRESH_S: Final = 0.5
"""How often a watch looks at its verdict."""


class WatchError(ConcordError):
    """The overlay cannot be watched any more; says why."""


@define(eq=False)
class OverlayWatch:
    """A query that reads the subscriptions of every filter at every broker.

    `access` has the options of Spark that say how to connect.
    """

    spark: SparkSession
    brokers: Sequence[str]
    filters: Sequence[str]
    access: Mapping[str, str] = field(factory=dict)
    verdict: LiveVerdict = field(init=False)
    _durable: str = field(factory=lambda: f"{NAME}-{secrets.token_hex(4)}")

    def __attrs_post_init__(self) -> None:
        self.verdict = LiveVerdict([_named(broker, each) for broker in self.brokers for each in self.filters])

    def run(self, until: Callable[[bool], bool], every: str) -> None:
        """Watch until it is so; `until` is asked twice a second.

        It is given whether all is subscribed: what is published from then on is not missed.

        Raises:
            WatchError: the query has failed.
        """
        with tempfile.TemporaryDirectory(prefix="concord-watch-") as scratch, self._forgetting():
            self.spark.dataSource.register(ConcordSource)
            read = reduce(DataFrame.unionAll, map(self._read, self.brokers))
            query = (
                read.writeStream.foreachBatch(self._judge)
                .option("checkpointLocation", str(Path(scratch) / "checkpoint"))
                .trigger(processingTime=every)
                .start()
            )
            try:
                while not query.awaitTermination(REFRESH_S) and not until(query.lastProgress is not None):  # type: ignore[arg-type] # parts of seconds are fine
                    pass
            except StreamingQueryException as error:
                raise WatchError(_reason(error)) from error
            finally:
                query.stop()

    def _options(self, broker: str) -> dict[str, str]:
        return {**self.access, "broker": broker, "name": NAME, "durable": self._durable}

    def _read(self, broker: str) -> DataFrame:
        own = {"filters": json.dumps(list(self.filters)), "gaps": "rows", "age_s": AGE_S}
        source = self.spark.readStream.format("concord").schema(SCHEMA)
        return source.options(**self._options(broker), **own).load().withColumn("broker", F.lit(broker))

    def _judge(self, batch: DataFrame, _: int) -> None:
        """Take the deliveries of a batch, each subscription's in its order."""
        columns = batch.toArrow().to_pydict()
        for broker, text, publisher, sequence, ordered, gap in zip(
            columns["broker"],
            *(columns[name] for name in ("_filter", "_publisher", "_sequence", "_ordered", "_gap")),
            strict=True,
        ):
            if gap is not None:
                self.verdict.miss(_named(broker, text))
            elif ordered:
                self.verdict.deliver(_named(broker, text), (publisher, sequence))
        self.verdict.settle()

    @contextmanager
    def _forgetting(self) -> Iterator[None]:
        """Let the brokers forget the subscriptions in the end."""
        try:
            yield
        finally:
            for broker in self.brokers:
                # One that cannot be reached forgets them by itself, after their age.
                with suppress(ConcordError), BrokerAccess.of(self._options(broker)).open() as client:
                    for each in client.durable_subscriptions():
                        if str(each["durable"]).startswith(self._durable):
                            client.forget(str(each["durable"]))


def _named(broker: str, filter_text: str) -> str:
    return f"{broker} {filter_text}"


def _reason(error: StreamingQueryException) -> str:
    """Return what Python reported last, without where, or else the first line of Spark's report."""
    lines = [line.strip() for line in str(error).splitlines()]
    causes = [cause for line in lines if (cause := line.partition("Error: ")[2])]
    return [lines[0], *causes][-1]
