"""Concord for PySpark: durable subscriptions as streams of rows, and rows as events.

    spark.dataSource.register(ConcordSource)
    events = spark.readStream.format("concord").option("broker", "127.0.0.1:7411")...

Needs the extra `spark`: pip install 'concord-pubsub[spark]'.
"""

from broker.spark import ConcordSource

__all__ = ["ConcordSource"]
