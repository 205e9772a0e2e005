"""Tables of the data source in Spark: the rows of the audit's own readers."""

from __future__ import annotations

import copy
import random
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from audit.event_groups import COLUMNS, FAMILY_OF, RARE_ONES
from audit.event_lines import PROBLEM, read_events, read_lines, read_quarantine
from audit.input import find_runs
from audit.line_store import with_family
from emulator.runs.directory import prepare, write_simulated
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.runs.simulated import play
from protocol.chance import Chance
from pyspark_faultline import FaultlineDataSource
from pyspark_faultline.source_groups import EVENTS, GROUPS, QUARANTINE
from tests.audit.strange_lines import NASTY, changed
from tests.audit.trace import dual_leader
from verification.changed_evidence import changes
from verification.changed_lines import torn
from verification.evidence import files_of, write_changed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

CHANGES = 12
SEED = 20_261_130
Rows = Counter[tuple[str, ...]]
OF_EVENTS = [name for name in GROUPS if name != QUARANTINE]


@pytest.fixture(scope="module")
def catalogue_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of `faultline run az-isolated-leader --world sim --audit none`."""
    directory: Path = tmp_path_factory.mktemp("catalogue") / "az-isolated-leader"
    prepare(directory)
    resolved = resolve(find_scenario("az-isolated-leader"))
    played = play(resolved, 1)
    write_simulated(directory, resolved, 1, played.world, played.observations)
    return directory


@pytest.fixture(scope="module")
def damaged_runs(catalogue_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs with one change each, without their wire level."""
    folder: Path = tmp_path_factory.mktemp("damaged")
    files = {name: lines for name, lines in files_of(catalogue_run).items() if not name.endswith(".wire.jsonl")}
    drawn = [*islice(changes(files, SEED), CHANGES - 1), torn(copy.deepcopy(files), Chance(SEED))]
    for number, change in enumerate(drawn):
        write_changed(change, folder).rename(folder / f"changed-{number}")
    return folder


@pytest.fixture(scope="module")
def source(spark: SparkSession) -> SparkSession:
    """The session, with the data source."""
    spark.dataSource.register(FaultlineDataSource)
    return spark


def table(source: SparkSession, group: str, path: Path, **options: str) -> DataFrame:
    return source.read.format("faultline").options(group=group, **options).load(str(path))


def counted(rows: DataFrame) -> Rows:
    return Counter(tuple(map(repr, row)) for row in rows.collect())


def by_group(events: DataFrame) -> dict[str, Rows]:
    """Rows of every group but `quarantine`, from all events with all fields."""
    found: dict[str, Rows] = {name: Counter() for name in OF_EVENTS}
    for row in events.collect():
        fields: dict[str, Any] = row.asDict()
        for name in (EVENTS, *(() if fields["level"] == "wire" else (FAMILY_OF.get(fields["event"], RARE_ONES),))):
            found[name][tuple(repr(fields[column]) for column in GROUPS[name].columns)] += 1
    return found


def test_a_runs_tables_are_the_audits(source: SparkSession, catalogue_run: Path) -> None:
    runs = find_runs([catalogue_run])
    expected = by_group(read_events(source, runs))
    for group in OF_EVENTS:
        assert counted(table(source, group, catalogue_run)) == expected[group], group
    assert all(expected.values())
    audited = with_family(read_lines(source, runs, COLUMNS).where(f"{PROBLEM} IS NULL")).groupBy("family").count()
    assert {row["family"]: row["count"] for row in audited.collect()} == {
        group: expected[group].total() for group in OF_EVENTS if group != EVENTS
    }
    assert table(source, QUARANTINE, catalogue_run).count() == 0


def test_damaged_runs_tables_are_the_audits(source: SparkSession, damaged_runs: Path) -> None:
    runs = find_runs([damaged_runs])
    assert len(runs) == CHANGES
    expected = by_group(read_events(source, runs))
    for group in OF_EVENTS:
        assert counted(table(source, group, damaged_runs)) == expected[group], group
    broken = read_quarantine(source, runs).select("run", "file", "line")
    ours = table(source, QUARANTINE, damaged_runs)
    assert counted(ours.select("run", "file", "line")) == counted(broken)
    ends = sum(file.torn is not None for run in runs for file in run.files)
    assert ours.where("torn").count() == ends > 0
    assert ours.where("NOT torn").count() > 0


def test_a_strange_line_is_read_as_by_the_audit_or_in_quarantine(source: SparkSession, tmp_path: Path) -> None:
    """Every line is in one of the two; the audit reads more of them as events than this source."""
    drawn = random.Random(SEED)
    trace = dual_leader()
    good = [line.rstrip(b"\n") for line in trace.files["broker-0", 1, False]]
    lines = [*(changed(drawn.choice(good), drawn) for _ in range(500)), *NASTY]
    trace.files["broker-0", 1, False].extend(line + b"\n" for line in lines)
    run = trace.write(tmp_path)
    events, broken = counted(table(source, EVENTS, run)), table(source, QUARANTINE, run).collect()
    assert events - by_group(read_events(source, find_runs([run])))[EVENTS] == Counter()
    whole = (run / "events" / "broker-0.1.jsonl").read_bytes()
    written = sum(bool(line.strip(b" ")) for line in whole.replace(b"\r", b"\n").split(b"\n"))
    others = sum(len(of_file) for place, of_file in trace.files.items() if place != ("broker-0", 1, False))
    assert events.total() + len(broken) == written + others
    for row in broken:
        assert whole[row["offset"] :].decode("utf-8", "replace").startswith(row["line"][:50])
