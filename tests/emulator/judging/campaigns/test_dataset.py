"""A campaign on disk: what is written is read again.
A kill loses the last part alone, and what is no campaign is one line.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.judging.campaigns import dataset
from emulator.judging.campaigns.columns import arrow_schema, sql_columns
from emulator.judging.campaigns.dataset import (
    About,
    UnusableCampaign,
    about,
    files_of,
    is_campaign,
    numbers_of,
    rows_of,
    writing,
)
from emulator.judging.campaigns.row import CheckRow, Row
from emulator.judging.campaigns.space import Space
from emulator.runs.directory import NotEmpty, prepare

ABOUT = About(command="sweep", space=Space(scenario="s", seeds=10), scenario_digest="1")


def row(number: int, version: str = "2.8", **more: object) -> Row:
    about = {"scenario": "s", "kafka_version": version, "number": number, "cell": 0, "seed": number}
    rest = {"settings": {"a": "1"}, "parameters": {}, "faults": ("cut az-0",), "valid": "true", "code": 0}
    return msgspec.convert({**about, **rest, **more}, Row)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
ROWS = st.builds(
    Row, scenario=st.sampled_from(["a", "b.c", "50% = d/é"]), kafka_version=st.sampled_from(["0.10.2", "2.8"]),
    number=st.integers(0, 9_999_999), cell=st.integers(0, 99), seed=st.integers(0, 2**63 - 1),
    settings=st.dictionaries(TEXTS, TEXTS, max_size=2), parameters=st.dictionaries(TEXTS, TEXTS, max_size=2),
    faults=st.lists(TEXTS, max_size=2).map(tuple), valid=TEXTS, code=st.integers(0, 255), error=TEXTS,
    broken=st.lists(TEXTS, max_size=2).map(tuple), lost=st.none() | st.integers(0, 9),
    checks=st.just((CheckRow("duplicate", "violated", False, 2, 9),)) | st.just(()),
    unavailable_ms=st.dictionaries(TEXTS, st.none() | st.floats(0, 1e9), max_size=2),
    time_to_new_leader_ms=st.none() | st.floats(0, 1e9), replay=TEXTS,
)  # fmt: skip


@settings(max_examples=25)
@given(st.lists(ROWS, max_size=4, unique_by=lambda one: one.number))
def test_rows_are_read_as_they_were_written(tmp_path_factory: pytest.TempPathFactory, rows: list[Row]) -> None:
    directory = tmp_path_factory.mktemp("campaign") / "c"
    with writing(directory, ABOUT) as campaign:
        for one in rows:
            campaign.add(one)
    by_number = {one.number: one for one in rows}
    assert {one.number: one for one in rows_of(directory)} == by_number
    assert sorted(numbers_of(directory)) == sorted(by_number)


def test_it_is_partitioned_by_scenario_and_version_and_has_its_format(tmp_path: Path) -> None:
    with writing(tmp_path / "c", ABOUT) as campaign:
        campaign.add(row(1))
        campaign.add(row(0, "0.10.2"))
    parts = sorted(path.relative_to(tmp_path / "c").as_posix() for path in (tmp_path / "c").rglob("*.parquet"))
    assert parts == [
        "runs/scenario=s/kafka_version=0.10.2/part-000000000.parquet",
        "runs/scenario=s/kafka_version=2.8/part-000000001.parquet",
    ]
    found = pq.read_schema(tmp_path / "c" / parts[0])
    assert found.names == arrow_schema().names and found.metadata[b"faultline.format"] == b"1"
    assert is_campaign(tmp_path / "c") and about(tmp_path / "c") == ABOUT


def test_every_field_is_a_column_in_sql_too() -> None:
    reported = sql_columns()
    assert all(f"`{name}` " in reported for name in Row.__struct_fields__)
    assert "`unavailable_ms` MAP<STRING, DOUBLE>" in reported and "`lost` BIGINT" in reported
    assert "`checks` ARRAY<STRUCT<check: STRING, verdict: STRING" in reported


class Killed(BaseException):
    """As by SIGKILL: nothing is cleaned up."""


def killed_at(directory: Path, rows: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Numbers of the runs played before the kill."""
    with monkeypatch.context() as patch:
        patch.setattr(dataset, "PART_ROWS", 3)
        with pytest.raises(Killed), writing(directory, ABOUT) as campaign:
            for number in range(10):
                if number in campaign.done:
                    continue
                yield number
                campaign.add(row(number))
                if number == rows:
                    patch.setattr(dataset.Campaign, "write_part", lambda self: None)
                    raise Killed


def test_a_kill_loses_the_last_part_and_the_same_request_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without loss or repetition."""
    directory = tmp_path / "c"
    assert list(killed_at(directory, 7, monkeypatch)) == list(range(8))
    assert sorted(numbers_of(directory)) == list(range(6)), "two parts of three; 6 and 7 were in the third"
    (directory / "runs/scenario=s/kafka_version=2.8/.part-000000006.parquet").write_bytes(b"half a part")
    with writing(directory, ABOUT) as campaign:
        assert campaign.done == set(range(6))
        for number in range(6, 10):
            campaign.add(row(number))
    assert sorted(numbers_of(directory)) == list(range(10))
    assert not list(directory.rglob(".part-*"))


def test_time_ends_a_part_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset, "PART_S", 0.0)
    with writing(tmp_path / "c", ABOUT) as campaign:
        for number in range(2):
            campaign.add(row(number))
        assert sorted(numbers_of(tmp_path / "c")) == [0, 1]


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (About(command="sim", space=ABOUT.space, scenario_digest="1"), "begun by another command"),
        (About(command="sweep", space=Space(scenario="s"), scenario_digest="1"), "is of other runs"),
        (About(command="sweep", space=ABOUT.space, scenario_digest="1", only=5), "is of other runs"),
        (About(command="sweep", space=ABOUT.space, scenario_digest="2"), "when the scenario was another"),
        (About(command="sweep", space=ABOUT.space, scenario_digest="1", faultline="9"), "another version"),
    ],
)
def test_another_campaign_is_not_mixed_with_it(tmp_path: Path, wanted: About, message: str) -> None:
    with writing(tmp_path / "c", ABOUT):
        pass
    with pytest.raises(UnusableCampaign, match=f"{message}.*--out another"), writing(tmp_path / "c", wanted):
        pass


def test_only_one_writes_at_a_time(tmp_path: Path) -> None:
    with writing(tmp_path, ABOUT), pytest.raises(UnusableCampaign, match="another command"), writing(tmp_path, ABOUT):
        pass


def test_of_two_that_begin_at_one_moment_one_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second finds no campaign there, and a lock, before the first has written anything."""
    refused: list[str] = []

    def meanwhile(made: Path) -> None:
        with pytest.raises(UnusableCampaign, match="another command is writing") as error, writing(made, ABOUT):
            pass
        refused.append(str(error.value))
        prepare(made)

    monkeypatch.setattr("emulator.runs.directory.prepare", meanwhile)
    with writing(tmp_path / "c", ABOUT) as campaign:
        campaign.add(row(0))
    assert len(refused) == 1 and [*numbers_of(tmp_path / "c")] == [0]


def test_a_campaign_killed_before_its_header_begins_anew(tmp_path: Path) -> None:
    (tmp_path / "campaign.json").touch()
    with writing(tmp_path, ABOUT) as campaign:
        assert campaign.done == frozenset() and about(tmp_path) == ABOUT


def test_what_is_no_campaign_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("x")
    with pytest.raises(NotEmpty), writing(tmp_path, ABOUT):
        pass
    (tmp_path / "campaign.json").write_text("{")
    with pytest.raises(UnusableCampaign, match="is no campaign's"):
        about(tmp_path)
    (tmp_path / "campaign.json").write_bytes(msgspec.json.encode(msgspec.structs.replace(ABOUT, format=2)))
    with pytest.raises(UnusableCampaign, match="is of format 2; this faultline reads 1"):
        about(tmp_path)


@pytest.mark.parametrize("harm", ["cut", "foreign", "link"])
def test_a_damaged_part_is_named(tmp_path: Path, harm: str) -> None:
    with writing(tmp_path, ABOUT) as campaign:
        campaign.add(row(0))
    [part] = tmp_path.rglob("*.parquet")
    if harm == "cut":
        part.write_bytes(part.read_bytes()[:-20])
    elif harm == "foreign":
        pq.write_table(pq.read_table(part, columns=["seed"]), part)
    else:
        part.rename(tmp_path / "elsewhere")
        part.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UnusableCampaign, match=str(part)) as error:
        list(rows_of(tmp_path))
    assert "\n" not in str(error.value)
    if harm == "link":
        with pytest.raises(UnusableCampaign, match="is no regular file"):
            files_of(tmp_path)
