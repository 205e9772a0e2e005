"""A Spark data source: the events of runs as tables and streams.

docs/spark-data-source.md describes it.

    spark.dataSource.register(FaultlineDataSource)
    spark.read.format("faultline").option("group", "appends").load("runs/*")

Spark finds `DefaultSource` of installed packages whose name begins with `pyspark_`, so registering is optional.

Reading order: `source_groups` (groups of events and their schemas), `source_options` (options and paths),
`row_selection` (rows of some runs, nodes or events), `range_partitions` (partitions), `record_batches` (lines of a
partition as Arrow record batches), `batch_reader`, `stream_offsets` (bytes that a stream has read), `stream_reader`,
and `data_source`.
"""

from pyspark_faultline.data_source import FaultlineDataSource

DefaultSource = FaultlineDataSource

__all__ = ["DefaultSource", "FaultlineDataSource"]
