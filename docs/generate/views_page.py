"""docs/views.md, from audit/views.py: the tables of `faultline sql`."""

from pathlib import Path

from audit.views import VIEWS
from docs.generate.markdown_tables import code, notice, table

_HEAD = """# Tables of `faultline sql`

`faultline sql RUN... QUERY` asks one or many runs in Spark's SQL; without a query it gives a prompt. Every event with
all its fields is in `events` ([events.md](events.md) has the columns). The others are made from it. `run` is the run's
directory, with as much of the path before it as tells several apart.

```
faultline sql runs/SOME-RUN "SELECT value, acks, outcome, offset FROM operations ORDER BY invoked_ms"
```

The last argument is the query if it holds a blank and is no directory. On a terminal the rows are a table; in a pipe
they are separated by tabs below a line of names. `--csv` and `--json` print them for programs, `--rows N` more than the
first 1,000. Queries are also read from a pipe, each up to a `;` at the end of a line. At the prompt Tab completes the
names of tables and columns, and what was asked comes back with the arrow keys, the next time, too. Tables are as the
files are when they are asked. What many runs leave has tables of its own: [campaigns](campaigns.md).
"""


def page(root: Path) -> str:
    del root
    rows = [(code(view.name), view.holds) for view in VIEWS]
    parts = [notice("audit/views.py"), _HEAD, table(("table", "a row is"), rows)]
    for view in VIEWS:
        parts.append(f"## {view.name}\n")
        parts.append(f"```sql\n{tidied(view.query)}\n```\n")
    return "\n".join(parts)


def tidied(query: str) -> str:
    """Without the indentation it has in the module."""
    lines = [line.strip() for line in query.strip().splitlines()]
    return "\n".join([lines[0], *(f"  {line}" for line in lines[1:])])
