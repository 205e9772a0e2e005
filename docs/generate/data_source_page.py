"""docs/spark-data-source.md: the groups, columns and options of the Spark data source."""

from pathlib import Path

from docs.generate.markdown_tables import code, notice, table
from protocol.events import FIELDS
from protocol.events.event_parsing import LINE_BYTES_MAX
from pyspark_faultline.source_groups import EVENTS, GROUPS, QUARANTINE, QUARANTINE_COLUMNS
from pyspark_faultline.source_options import OPTIONS

_SOURCE = "pyspark_faultline/source_groups.py and source_options.py"
_TYPES = {int: "bigint", float: "double", str: "string", bool: "boolean"}

_HEAD = """# The Spark data source

`spark.read.format("faultline")` reads the events of runs as tables. It needs neither our command line nor knowledge of
our files. A run is a directory that faultline has written; its processes write what they do as *events*.
[events.md](events.md) describes each event and field.

The session and Spark's Python workers need faultline's wheel: `pip install kafka-faultline`
([install](install.md)).

```python
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
appends = spark.read.format("faultline").option("group", "appends").load("/data/runs/*")
appends.groupBy("run", "node").count().show()
```

Spark finds the data source in the installed package `pyspark_faultline`. Where it does not, register the class:

```python
from pyspark_faultline import FaultlineDataSource

spark.dataSource.register(FaultlineDataSource)
```

SQL reads the same tables:

```sql
CREATE TEMPORARY VIEW roles USING faultline OPTIONS (group 'rest', event 'role_changed', path '/data/runs/*');
SELECT run, node, at_ms, role FROM roles ORDER BY run, at_ms
```

It needs PySpark 4.3 with PyArrow, and runs in classic sessions and through Spark Connect. With Connect the paths are
the server's, and relative paths start at its working directory. On a cluster each executor opens the files by the same
path, so the runs are on a shared file system.

## Options
"""

_GROUPS = """
## Groups

A table has the events of one group. The columns of a group never change within a version; select the wanted ones.
Python data sources have no column pruning: Spark receives every column of the group, so `appends` is cheaper
than `events`.

"""

_ROWS = f"""
`run` is the name of the run's directory, with as many parent directories as make it unique. Events of frames (level
`wire`) are in `{EVENTS}` alone. Every line of a file is in its group or in `{QUARANTINE}`, never in both. The parser is
the audit's. A line is no event if

- it is no JSON, or larger than {LINE_BYTES_MAX >> 20} MiB;
- a field is missing, of another type, or out of range;
- it belongs to another run, or to another incarnation than its file.

A run is refused, with a sentence that names the place, if

- it has no folder of events;
- a symbolic link, a pipe or a folder has the name of an event file;
- one of its files becomes shorter while it is read.

A run that is still written can be read; its last lines may be torn. Lines of event format 1 have no `topic_id`.

## Columns

"""

_SELECTED = """
## Filters

The options `run`, `node`, `incarnation` and `event` select rows. Files without selected rows are not read. Filters of
a query work as ever; Spark evaluates them on all rows that it receives. The data source takes no pushed filters: Spark
4.3 mixes up the filters of two queries of one loaded table, and rows are then missing.

A table is cut into partitions of 4 MiB. Small files share a partition. Each task holds one partition's lines. The rows
of a partition come in the order of files and of `seq`.

## Streams

`spark.readStream` follows runs that are still being written:

```python
growing = spark.readStream.format("faultline").option("group", "operations").load("/data/runs/live")
query = growing.writeStream.format("parquet").option("checkpointLocation", "/data/check").start("/data/operations")
```

- A micro-batch has the new whole lines of all files, at most `maxBytesPerBatch` and one line more.
- New files are found: a node that starts again has a new one. In a directory of runs, new runs are found as well.
- A last line without an end is not read until its end is written. So the torn line of a killed process stays unread;
  `spark.read` shows it in the group `quarantine`.
- A file that vanishes, becomes shorter or is replaced ends the query with its path. So does a new run that makes
  another run's name ambiguous.
- `Trigger.AvailableNow` and restarts from a checkpoint work. The offset is the number of read bytes of each file.

## Cost

[Figures](figures.md#data-source-throughput) has the last measurement, beside Spark's reader of JSON. A line that is no
event costs more than a good one: the 64 KiB around it are parsed once more, line by line.
"""


def page(root: Path) -> str:
    del root
    groups = [(code(group.name), group.holds, len(group.columns)) for group in GROUPS.values()]
    lines = [
        notice(_SOURCE),
        _HEAD,
        table(("option", "meaning"), [(code(name), meaning) for name, meaning in OPTIONS.items()]),
        _GROUPS.strip("\n") + "\n",
        table(("group", "a row is", "columns"), groups),
        _ROWS.strip("\n") + "\n",
        table(("group", "columns"), [(code(name), _columns(name)) for name in GROUPS if name != QUARANTINE]),
        f"`{QUARANTINE}`:\n",
        table(
            ("column", "type", "meaning"),
            [(code(name), _TYPES[kind], meaning) for name, (kind, meaning) in QUARANTINE_COLUMNS.items()],
        ),
        _SELECTED.strip("\n") + "\n",
    ]
    return "\n".join(lines)


def _columns(group: str) -> str:
    """The columns of a group with their types."""
    return ", ".join(f"`{name}` {_TYPES[FIELDS[name]]}" for name in GROUPS[group].columns)
