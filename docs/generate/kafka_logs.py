"""docs/kafka-logs.md, from emulator/runs/kafka_log: Kafka's log lines of `log --as-kafka`."""

from collections.abc import Iterator
from pathlib import Path

from docs.generate.markdown_tables import code, notice, table
from emulator.runs.kafka_log.pattern import FILES, Pattern, file_of
from emulator.runs.kafka_log.rendering import PATTERNS
from protocol.versions import in_force, rank

_SOURCE = "emulator/runs/kafka_log"

_HEAD = """# Kafka's log lines

`faultline log --as-kafka NODE [--run DIR]` prints a node's events as log lines of its version of Kafka, for readers and
tools of Kafka's logs. A node is a broker, or a controller of KRaft:

```
$ faultline log --as-kafka broker-0 --run runs/sim26 | grep Truncating
[2020-09-13 12:27:16,899] INFO [Log partition=t-0, dir=data/broker-0] Truncating to offset 2 (kafka.log.Log)
```

The layout is that of Kafka's `config/log4j.properties`: `[%d] %p %m (%c)`. `--file` chooses server.log,
controller.log (`kafka.controller.*`, `org.apache.kafka.controller.*`) or state-change.log. Without it the lines of all
three are merged by time. Levels are those that Kafka writes by default: from INFO, state changes from TRACE up to 2.5
and from INFO later.

Differences from a real log:

- The clock is UTC; in a simulated run it begins in 2020. `dir` is relative to the run's directory.
- A line of Kafka's that lists all partitions of a request is one line per partition here.
- A broker's host is its node's name, its port 9092. There is one fetcher (0) for each source broker.
- Only the lines below exist, at these levels. There are no lines about requests or configuration, and of a start or a
  shutdown only the first.
- Lines of connections need the run's events of level wire, which `run` writes.
- Texts from 3.0 on were compared with the releases 3.0 to 3.9, and with logs of 3.9.2 and 4.4.0. A text that changed
  between 3.9 and 4.4 has the version of its release only where that is known.
- Lines of 3.9 on about a shrinking ISR have no `lastCaughtUpTimeMs`. Unknown topic ids are empty.

In the tables a text is valid from its version until the next row; *none* ends it. Names in braces are fields of
[events](events.md), or the broker's own: `{tp}` is `t-0`, `{old_tp}` is `[t,0]`.
"""

_COLUMNS = ("line", "since", "level", "text", "logger")


def page(root: Path) -> str:
    del root
    parts = [notice(_SOURCE), _HEAD]
    for file in FILES:
        parts.append(f"## {file}.log\n")
        parts.append(table(_COLUMNS, [row for name in PATTERNS for row in _rows(name, PATTERNS[name], file)]))
    return "\n".join(parts)


def _rows(name: str, found: Pattern, file: str) -> Iterator[tuple[str, ...]]:
    """One for each version in which the line changes."""
    before = ""
    tables = (found.logger, found.level, found.prefix, found.text)
    versions = sorted({version for steps in tables for version, _ in steps}, key=rank)
    title = code(name)
    for version in versions:
        text, logger = in_force(version, found.text), in_force(version, found.logger)
        level = in_force(version, found.level)
        shown = in_force(version, found.prefix) + text if text else ""
        line = f"{level} {shown} {logger}" if text else ""
        here = file_of(logger) == file
        if not here and before:
            text, line = "", ""
        elif line == before or not here:
            continue
        before = line
        plain = code(shown.replace("{{", "{").replace("}}", "}"))
        none = "none" if here else f"goes to {file_of(logger)}.log"
        yield (title, version, *((level, plain, logger) if text else ("", none, "")))
        title = ""
