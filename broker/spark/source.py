"""The data source that users register: `spark.dataSource.register(ConcordSource)`."""

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, DataSourceStreamWriter
from pyspark.sql.types import StructType

from broker.spark.columns import DEFAULT
from broker.spark.reader import ConcordStreamReader
from broker.spark.writer import ConcordStreamWriter


class ConcordSource(DataSource):
    """Reads and writes streams of events, as `format("concord")`."""

    @classmethod
    def name(cls) -> str:
        """Return what `format` calls it."""
        return "concord"

    def schema(self) -> str:
        """Return the columns of a stream for which the user gives no schema."""
        return DEFAULT

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Return what reads a stream."""
        return ConcordStreamReader(schema, self.options)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: FBT001, N802 - Spark's
        """Return what writes a stream."""
        return ConcordStreamWriter(schema, self.options, overwrite=overwrite)
