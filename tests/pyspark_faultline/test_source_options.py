"""Options and filters of the data source, without Spark's virtual machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql.types import LongType, StringType, StructType

from audit.event_lines import spark_schema
from audit.input import AuditInputError
from pyspark_faultline import DefaultSource, FaultlineDataSource
from pyspark_faultline.batch_reader import BatchReader
from pyspark_faultline.row_selection import Selection
from pyspark_faultline.source_groups import GROUPS, QUARANTINE
from pyspark_faultline.source_options import MAX_BYTES_DEFAULT, options_of


def test_the_source_has_a_name_and_is_found_by_spark() -> None:
    assert DefaultSource is FaultlineDataSource
    assert FaultlineDataSource.name() == "faultline"


@pytest.mark.parametrize("group", GROUPS)
def test_every_group_has_its_columns(group: str) -> None:
    schema = FaultlineDataSource({"group": group, "path": "r"}).schema()
    assert schema.names == [*GROUPS[group].columns]
    if group != QUARANTINE:
        assert schema == spark_schema(GROUPS[group].columns)


def test_without_options_all_events_are_read() -> None:
    options = options_of({"path": "r"})
    assert (options.group.name, options.given, options.selection, options.max_bytes) == (
        "events", ("r",), Selection(), MAX_BYTES_DEFAULT,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"group": "apends", "path": "r"}, "group apends: unknown; nearest: appends; all: events, "),
        ({"group": "", "path": "r"}, "group : unknown; nearest: "),
        ({"grup": "appends", "path": "r"}, "option grup: unknown; nearest: group; all: group, path, "),
        ({}, "no run given: load a run's directory"),
        ({"path": " , "}, "no run given"),
        ({"path": "r", "event": "role_chnged"}, "option event: role_chnged: no such event; nearest: role_changed"),
        ({"path": "r", "group": "appends", "event": "x"}, "option event: group appends has no column event"),
        ({"path": "r", "incarnation": "1,x"}, "option incarnation: x is no number"),
        ({"path": "r", "maxBytesPerBatch": "0"}, "option maxBytesPerBatch: 0 is no number of bytes"),
        ({"path": "r", "maxBytesPerBatch": "-1m"}, "option maxBytesPerBatch: -1m is no number of bytes"),
        ({"path": "r", "maxBytesPerBatch": "1 t"}, "option maxBytesPerBatch: 1 t is no number of bytes"),
    ],
)
def test_an_unusable_option_is_named_with_the_nearest(options: dict[str, str], message: str) -> None:
    with pytest.raises(AuditInputError) as error:
        FaultlineDataSource(options).schema()
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(("text", "size"), [("1", 1), ("64m", 64 << 20), ("2kb", 2048), ("1G", 1 << 30)])
def test_a_size_may_have_a_unit(text: str, size: int) -> None:
    assert options_of({"path": "r", "maxBytesPerBatch": text}).max_bytes == size


def test_runs_are_given_as_paths_lists_and_between_commas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a,b").mkdir()
    assert options_of({"path": "a,b"}).given == ("a,b",)
    assert options_of({"path": "c, d"}).given == ("c", "d")
    assert options_of({"paths": '["x,1", "y"]'}).given == ("x,1", "y")
    assert options_of({"path": "[ab]*", "paths": "z"}).given == ("[ab]*", "z")


def test_a_schema_of_ones_own_is_refused() -> None:
    source = FaultlineDataSource({"group": "appends", "path": "r"})
    assert isinstance(source.reader(source.schema()), BatchReader)
    for schema in (StructType().add("run", StringType()), StructType().add("seq", LongType())):
        with pytest.raises(AuditInputError, match="group appends: its schema is fixed"):
            source.reader(schema)
        with pytest.raises(AuditInputError, match="group appends: its schema is fixed"):
            source.streamReader(schema)


def test_rows_are_selected_by_names_between_commas() -> None:
    options = {"path": "r", "RUN": "a, b", "node": "broker-0", "incarnation": "1,2", "event": "role_changed"}
    assert options_of(options).selection == Selection(
        frozenset(("a", "b")), frozenset(("broker-0",)), frozenset((1, 2)), frozenset(("role_changed",))
    )


@pytest.mark.parametrize(
    ("name", "has"),
    [
        ("broker-0.1.jsonl", True), ("broker-0.1.wire.jsonl", True), ("broker-0.2.jsonl", False),
        ("broker-1.1.jsonl", False), ("broker-0.1.jsonl.x", True), ("a.b.1.jsonl", True), ("broker-0.01.jsonl", True),
    ],
)  # fmt: skip
def test_a_file_is_left_out_by_its_name(name: str, has: bool) -> None:
    assert Selection(node=frozenset(("broker-0",)), incarnation=frozenset((1,))).has_file(name) == has
    assert Selection().has_file(name)
