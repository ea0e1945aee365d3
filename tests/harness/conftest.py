from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from harness.analysis.session import session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One for all tests: starting Java takes longer than any of them."""
    with session("local[2]") as started:
        yield started
