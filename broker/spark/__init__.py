"""Streams of PySpark: events of a durable subscription as rows, and rows as events.

Nothing else of the broker imports this: it needs PySpark, the extra `spark`. `concord.spark` is its door.

    options    what users ask for
    held       what has arrived and is not committed; pure
    columns    events as rows, and rows as events
    reader     what reads subscriptions, in the driver and in tasks
    record     what a writing query knows of its last batch
    writer     what publishes rows, in tasks and in the driver
    source     the class that is registered
"""

from broker.spark.source import ConcordSource

__all__ = ["ConcordSource"]
