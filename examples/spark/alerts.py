"""Reads trades, and publishes an alert for each large one, once: whatever is killed, and whenever."""

import argparse
import os
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from concord.spark import ConcordSource

LARGE = 100_000


def main() -> None:
    """Run until Ctrl-C; with `--now`, until all that has been published is read."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--broker", default="127.0.0.1:7411")
    arguments.add_argument("--checkpoint", default="checkpoint")
    arguments.add_argument("--now", action="store_true")
    given = arguments.parse_args()

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # Else tasks may run under another Python.
    spark = SparkSession.builder.appName("alerts").master("local[2]").getOrCreate()
    spark.dataSource.register(ConcordSource)
    trades = (
        spark.readStream.format("concord")
        .schema("symbol STRING, price DOUBLE, size BIGINT")
        .option("broker", given.broker)
        .option("filter", "kind == 'trade' and price > 0")
        .option("durable", "alerts")
        .load()
    )
    alerts = trades.withColumn("total", F.col("price") * F.col("size")).where(F.col("total") >= LARGE)
    query = (
        alerts.select(F.lit("alert").alias("kind"), "symbol", "total")
        .writeStream.format("concord")
        .option("broker", given.broker)
        .option("filter", f"kind == 'alert' and exists(symbol) and total >= {LARGE}")
        .option("checkpointLocation", given.checkpoint)
        .trigger(**({"availableNow": True} if given.now else {"processingTime": "1 second"}))
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    main()
