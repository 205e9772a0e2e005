"""docs/views.md, from audit/views.py: the tables of `faultline sql`."""

from pathlib import Path

from audit.views import VIEWS
from docs.generate.markdown_tables import code, notice, table

_HEAD = """# Tables of `faultline sql`

`faultline sql RUN... QUERY` queries one or many runs in Spark's SQL; without a query it opens a prompt. The table
`events` has every event with all its fields ([events.md](events.md) lists the columns). The other tables are derived
from it. `run` is the name of the run's directory, with as many parent directories as make it unique.

```
faultline sql runs/SOME-RUN "SELECT value, acks, outcome, offset FROM operations ORDER BY invoked_ms"
```

The last argument is the query if it contains a blank and is no directory. On a terminal the rows are a table; in a pipe
a line of names and rows separated by tabs. `--csv` and `--json` print them for programs, `--rows N` more than the
first 1,000. Standard input may contain queries, each up to a `;` at the end of a line. At the prompt Tab completes the
names of tables and columns, and the arrow keys show earlier queries. Each query reads the files anew. Campaigns have
tables of their own: [campaigns](campaigns.md).
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
    """A query without the indentation of its module."""
    lines = [line.strip() for line in query.strip().splitlines()]
    return "\n".join([lines[0], *(f"  {line}" for line in lines[1:])])
