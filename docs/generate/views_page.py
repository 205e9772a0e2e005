"""docs/views.md, from audit/views.py: the tables of `faultline sql`."""

import textwrap
from pathlib import Path

from audit.views import OLD_NAMES, VIEWS, View
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

Names and syntax are checked before Spark starts. A query with an unknown table or column is refused with its place and
the nearest name. Statements other than queries, and what the check does not know, are left to Spark.

Where a table has `error`, a number of Kafka's protocol, `error_name` beside it is Kafka's name, such as
`NOT_LEADER_OR_FOLLOWER`; `NO_ANSWER` for -2. A column without a type here has that of the event's field.

The checks read [tables of their own](checks.md#tables-that-checks-read). `appends` is the same there. Other tables of
one name differ:

| table | here | for checks |
|---|---|---|
| `operations` | every operation that began | operations that ended; `node` is `client`, `at_ms` is `ended_ms` |
| `attempts` | every attempt that was sent | attempts that ended, without `requests`, which were sent |
| `reads` | `client`, and the value | `node`, and `gone`: the topic was deleted |
| `watermarks` | with `previous` | without it |
| `logs` | batches | batches, and log ends that were seen (`bound`) |
| `lost` | `client`, the value and `cut_by` | `at_ms` is `acknowledged_ms` |

There a topic that was created again has another name in each incarnation, such as `t#1`.
"""


def page(root: Path) -> str:
    del root
    rows = [(code(view.name), view.holds) for view in VIEWS]
    parts = [notice("audit/views.py"), _HEAD, table(("table", "a row is"), rows)]
    parts += [f"`{old}` is the old name of `{name}`; it is accepted.\n" for old, name in OLD_NAMES.items()]
    for view in VIEWS:
        parts.append(f"## {view.name}\n")
        parts.append(columns(view))
        parts.append(f"```sql\n{tidied(view.query)}\n```\n")
    return "\n".join(parts)


def columns(view: View) -> str:
    """The columns of a table; those with a type of their own have it in brackets."""
    pairs = [column.partition(" ") for column in view.columns]
    names = [code(name) + (f" ({kind})" if kind else "") for name, _, kind in pairs]
    text = f"Columns: {', '.join(names)}."
    return textwrap.fill(text, 118, break_long_words=False, break_on_hyphens=False) + "\n"


def tidied(query: str) -> str:
    """A query without the indentation of its module."""
    lines = [line.strip() for line in query.strip().splitlines()]
    return "\n".join([lines[0], *(f"  {line}" for line in lines[1:])])
