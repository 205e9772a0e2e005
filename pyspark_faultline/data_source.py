"""The data source `faultline`: Spark makes its tables and streams from this class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

from audit.input import AuditInputError
from pyspark_faultline.batch_reader import BatchReader
from pyspark_faultline.source_options import SourceOptions, options_of
from pyspark_faultline.stream_reader import StreamReader

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class FaultlineDataSource(DataSource):
    """Events of runs.

    Options: see `pyspark_faultline.source_options`. Spark sends the class to its workers by name, so the package must
    be installed there, too.
    """

    @classmethod
    def name(cls) -> str:
        return "faultline"

    def schema(self) -> StructType:
        """The group's columns. Raises AuditInputError for unusable options."""
        return options_of(self.options).group.schema()

    def reader(self, schema: StructType) -> BatchReader:
        return BatchReader(self._options_for(schema))

    def streamReader(self, schema: StructType) -> StreamReader:
        return StreamReader(self._options_for(schema))

    def _options_for(self, schema: StructType) -> SourceOptions:
        options = options_of(self.options)
        if schema != options.group.schema():
            raise AuditInputError(
                f"group {options.group.name}: its schema is fixed; leave out schema(...), and select the wanted columns"
            )
        return options
