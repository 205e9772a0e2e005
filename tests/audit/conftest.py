"""One Spark session for all tests of the audit: it takes seconds to start and queries leave nothing in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from audit.session import Gateway, find_java, spark_session, start_gateway

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    directory = tmp_path_factory.mktemp("spark")
    with start_gateway(find_java(os.environ), directory, master="local[2]", nice=1) as started:
        yield started


@pytest.fixture(scope="session")
def spark(gateway: Gateway) -> SparkSession:
    return spark_session(gateway)
