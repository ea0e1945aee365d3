"""A Spark driver, to be killed: events of a broker into Parquet files, once each.

A task that comes to the event whose `n` is `HELD` says so: it connects to the port that the driver was given,
sends the number of its process, and goes on when that connection ends. Without a port it just goes on.
"""

import json
import os
import socket
import sys
from pathlib import Path
from typing import Final

from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it
from pyspark.sql.types import IntegerType

from broker.spark import ConcordSource
from harness.analysis.session import session

HELD: Final = 50


def main(master: str, broker: str, folder: Path, port: int) -> None:
    """Run the query until it has all that is there, and print the rows."""

    @F.udf(returnType=IntegerType())
    def held(n: int) -> int:
        if n == HELD and port:
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.sendall(b"%d\n" % os.getpid())
                connection.recv(1)
        return n

    with session(master) as spark:
        spark.dataSource.register(ConcordSource)
        source = spark.readStream.format("concord").schema("n INT, _position BIGINT")
        source = source.option("broker", broker).option("filters", '["side == 0", "side == 1"]')
        events = source.option("durable", "killed").option("max_events", "20").load()
        target = events.select(held("n").alias("n"), "_position").writeStream.format("parquet")
        target = target.option("checkpointLocation", str(folder / "checkpoint"))
        query = target.trigger(availableNow=True).start(str(folder / "rows"))
        query.awaitTermination()
        rows = spark.read.parquet(str(folder / "rows")).collect()
        sys.stdout.write(json.dumps([[row["n"], row["_position"]] for row in rows]))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]))
