"""docs/campaigns.md: data of many runs and their queries, from audit/campaign_views.py."""

from pathlib import Path

from audit.campaign_views import CAMPAIGN_VIEWS, ROWS_TABLE, RUNS_HOLDS
from docs.generate.markdown_tables import code, notice, table
from docs.generate.views_page import tidied
from emulator.judging.campaigns.columns import sql_type
from emulator.judging.campaigns.dataset import PART_ROWS, PART_S
from emulator.judging.campaigns.row import FORMAT, PARTITIONED_BY, CheckRow, Row, described

_HEAD = f"""# Campaigns

Many runs with one question leave one data set: a row per run. `faultline sim SCENARIO --seeds 1..1000 --out DIR` and
`faultline sweep SCENARIO --set ... --out DIR` write one. It is asked like a run, and has a page:

```
faultline sql DIR "SELECT check, share, settings, replay FROM broken ORDER BY share DESC"
faultline report DIR
```

`broken` says what breaks, how often, in which version and settings, and the command that plays it again.

## The directory

```
DIR/campaign.json                                       what was asked for, and the format
DIR/runs/scenario=ID/kafka_version=V/part-N.parquet     rows
DIR/report.html                                         written by `faultline report DIR`
```

Rows are Parquet, so anything reads them; Java is needed by `faultline sql` alone. Of the folders' names `scenario` and
`kafka_version` are texts, which a reader has to be told:

```
duckdb -c "FROM read_parquet('DIR/runs/*/*/*.parquet', hive_partitioning = true, hive_types_autocast = false)"
```

A part is written under another name, synced and renamed, at the latest after {PART_ROWS:,} rows or {PART_S:g} seconds.
A campaign that is interrupted has lost nothing, one that is killed the runs of its last part. The same command goes on
with the runs that are missing; other settings (also where a settings file says something else now), seeds, recordings,
another scenario or another faultline are refused. Two commands cannot write to one campaign.

## Columns

Format {FORMAT}. Counts and measures are null where they were not measured: nothing could be judged, or no client wrote
from that AZ. `valid`, `code` and `broken` are about what the scenario expects with its own settings; what was lost is
in the counts whatever was expected. A run with an `error` or an `unknown_because` says nothing of Kafka: leave it out
of shares, as `cells` and `broken` do.
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
        "Several campaigns may be opened together: `campaign` tells them apart.\n",
        table(("table", "a row is"), views),
    ]
    for view in CAMPAIGN_VIEWS:
        parts += [f"### {view.name}\n", f"```sql\n{tidied(view.query)}\n```\n"]
    return "\n".join(parts)
