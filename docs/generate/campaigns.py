"""docs/campaigns.md: data of many runs and their queries, from audit/campaign_views.py."""

from pathlib import Path

from audit.campaign_views import CAMPAIGN_VIEWS, ROWS_TABLE, RUNS_HOLDS
from docs.generate.markdown_tables import code, notice, table
from docs.generate.views_page import tidied
from emulator.judging.campaigns.columns import sql_type
from emulator.judging.campaigns.dataset import PART_ROWS, PART_S
from emulator.judging.campaigns.row import FORMAT, PARTITIONED_BY, CheckRow, Row, described

_HEAD = f"""# Campaigns

A campaign is the data set of many runs with one question: a row per run. `faultline sim SCENARIO --seeds 1..1000
--out DIR` and `faultline sweep SCENARIO --set ... --out DIR` write one. SQL reads it like a run; `report` writes its
page:

```
faultline sql DIR "SELECT check, share, settings, replay FROM broken ORDER BY share DESC"
faultline report DIR
```

`broken` has each violated check with its share of runs, the version, the settings, and the command that repeats it.

## The directory

```
DIR/campaign.json                                       the command's options, and the format
DIR/runs/scenario=ID/kafka_version=V/part-N.parquet     rows
DIR/report.html                                         written by `faultline report DIR`
```

Rows are Parquet; only `faultline sql` needs Java. The folders' values `scenario` and `kafka_version` are texts, which
DuckDB would take for numbers without an option:

```
duckdb -c "FROM read_parquet('DIR/runs/*/*/*.parquet', hive_partitioning = true, hive_types_autocast = false)"
```

A part is written under a temporary name, synced and renamed, at the latest after {PART_ROWS:,} rows or {PART_S:g}
seconds. An interrupted campaign has lost nothing, a killed one the runs of its last part. The same command plays the
missing runs. A command with other settings (or another content of a settings file), seeds, recordings, scenario or
faultline version is refused. Two commands cannot write to one campaign at the same time.

## Columns

Format {FORMAT}. Counts and measures are null where nothing was measured: nothing could be judged, or no client wrote
from that AZ. `valid`, `code` and `broken` compare the run with the scenario's expectations, which are for its own
settings. Counts of violations do not depend on expectations. A run with an `error` or an `unknown_because` is no
evidence about Kafka: exclude it from shares, as `cells` and `broken` do.
"""


def page(root: Path) -> str:
    del root
    rows = [(code(name), code(sql_type(kind)), meaning) for name, (kind, meaning) in described(Row).items()]
    checks = [(code(name), code(sql_type(kind)), meaning) for name, (kind, meaning) in described(CheckRow).items()]
    views = [(code(ROWS_TABLE), RUNS_HOLDS), *((code(view.name), view.holds) for view in CAMPAIGN_VIEWS)]
    parts = [
        notice("emulator/judging/campaigns/row.py and audit/campaign_views.py"),
        _HEAD,
        table(("column", "type", "meaning"), rows),
        f"Each of `checks` has:\n\n{table(('field', 'type', 'meaning'), checks)}",
        f"{' and '.join(map(code, PARTITIONED_BY))} are folders and in no file.\n",
        "## Tables of `faultline sql`\n",
        "Several campaigns may be queried together; `campaign` has the name of each.\n",
        table(("table", "a row is"), views),
    ]
    for view in CAMPAIGN_VIEWS:
        parts += [f"### {view.name}\n", f"```sql\n{tidied(view.query)}\n```\n"]
    return "\n".join(parts)
