from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from harness.analysis.session import session


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    """One for each module: commands that are run within other modules end the one of the process."""
    with session("local[2]") as started:
        yield started
