"""Spark mixes up the filters that it pushes down to a Python data source.

The reason why the data source takes none (`pyspark_faultline.row_selection`). A Spark that fails this test has mended
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.datasource import DataSource, DataSourceReader, EqualTo, Filter, InputPartition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def test_a_table_with_two_filters_lacks_rows_of_one(spark: SparkSession) -> None:
    class Reader(DataSourceReader):
        permitted: tuple[Any, ...] = (1, 2)

        def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
            for one in filters:
                if isinstance(one, EqualTo):
                    self.permitted = (one.value,)
            return filters

        def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
            return iter([(number,) for number in self.permitted])

    class Numbers(DataSource):
        @classmethod
        def name(cls) -> str:
            return "numbers"

        def schema(self) -> str:
            return "number BIGINT"

        def reader(self, schema: object) -> DataSourceReader:
            return Reader()

    spark.dataSource.register(Numbers)
    spark.conf.set(PUSHDOWN, "true")
    try:
        numbers = spark.read.format("numbers").load()
        both = numbers.where("number = 1").union(numbers.where("number = 2"))
        assert [row.number for row in both.collect()] == [2]
        assert [row.number for row in numbers.collect()] == [2]
    finally:
        spark.conf.unset(PUSHDOWN)
