"""A sweep in words, or in a file: its axes, and what cannot be swept."""

import json
from pathlib import Path

import pytest

from emulator.judging.campaigns.campaign_runs import CampaignOptions, CampaignWorker, check_cells
from emulator.judging.campaigns.space import Axis, Space, UnusableSpace
from emulator.judging.campaigns.sweeps import find_sweep, measure_named, shipped, sweep_of, values_in
from emulator.runs.scenario_sources import catalogue
from emulator.scenario.document import ScenarioErrors
from emulator.scenario.parameters import UnusableParameter
from emulator.settings.setting_registry import UnusableSetting
from protocol.versions import UnknownVersion


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ("a,b", ["a", "b"]),
        ("a, b ", ["a", "b"]),
        ("[0, 1],[1, 0]", ["[0, 1]", "[1, 0]"]),
        ("{a: [1, 2]},x", ["{a: [1, 2]}", "x"]),
        ('"d0,d1",d2', ["d0,d1", "d2"]),
        ("", []),
        ("a,", ["a", ""]),
    ],
)
def test_values_are_parted_at_commas_but_not_in_brackets_or_quotes(given: str, values: list[str]) -> None:
    assert list(values_in(given)) == values


def test_one_value_is_no_axis() -> None:
    space = sweep_of(
        "cap-choice",
        sets=["producer.acks=1,all", "min.insync.replicas=2"],
        parameters=["sleep#3=10,30"],
        versions="2.6,2.8",
        seeds=range(1, 4),
    )
    assert [(axis.kind, axis.name, axis.values) for axis in space.axes] == [
        ("version", "kafka_version", ("2.6", "2.8")),
        ("setting", "producer.acks", ("1", "all")),
        ("parameter", "sleep#3", ("10", "30")),
    ]
    assert (space.overrides, space.cells, space.runs) == (("min.insync.replicas=2",), 8, 24)
    assert sweep_of("x", sets=["a=1,2"], versions="2.8", seeds=range(1, 2)).kafka_version == "2.8"


@pytest.mark.parametrize(
    ("word", "message"),
    [("a", "expected NAME=A,B"), ("=1", "expected NAME=A,B"), ("a=", "expected NAME=A,B"), ("a=1,", "a value is empty"),
     ("a=[1,2", "] is missing"), ('a="1', '" is missing'), ("a=1,1", "has 1 twice")],
)  # fmt: skip
def test_what_cannot_be_swept_is_one_line(word: str, message: str) -> None:
    with pytest.raises(UnusableSpace) as error:
        sweep_of("x", sets=[word], seeds=range(1, 2))
    assert message in str(error.value)


def test_one_version_in_two_words_is_given_twice() -> None:
    """Its cells could not be told apart: rows say which version it is."""
    with pytest.raises(UnusableSpace, match=r"^kafka_version: 2\.6 and 2\.6\.3 are one version, 2\.6$"):
        sweep_of("x", versions="2.6,2.8,2.6.3", seeds=range(1, 2))
    with pytest.raises(UnknownVersion, match="unknown Kafka version 'nine'"):
        sweep_of("x", versions="2.6,nine", seeds=range(1, 2))


@pytest.mark.parametrize("value", ['a"b"c', 'a","b', "it's", "{from: \"broker-0\", to: 'session'}", 'x"\'y'])
def test_a_value_in_a_file_is_what_it_is_whatever_its_quotes(tmp_path: Path, value: str) -> None:
    file = tmp_path / "mine.yaml"
    head = "id: mine\ntitle: t\nscenario: az-isolated-leader\n"
    file.write_text(f"{head}set: {{producer.client.id: [{json.dumps(value)}, other]}}\n")
    sweep = find_sweep(str(file))
    assert sweep is not None and sweep.space.axes == (Axis("setting", "producer.client.id", (value, "other")),)


@pytest.mark.parametrize("name", shipped())
def test_every_sweep_that_comes_with_faultline_can_be_played(name: str) -> None:
    sweep = find_sweep(name)
    assert sweep is not None and sweep.title and sweep.space.scenario in catalogue()
    assert check_cells(CampaignOptions(sweep.space)).scenario.id == sweep.space.scenario


def test_a_sweep_of_ones_own_is_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(
        "id: mine\ntitle: t\nscenario: az-isolated-leader\nkafka: [2.6, 2.8]\n"
        "set: {log.dirs: ['d0,d1', d0]}\nparam: {cut.at_s: [5, 12]}\nseeds: 1..3\nmeasures: [isr_shrinks]\n"
    )
    sweep = find_sweep(str(file))
    assert sweep is not None and sweep.measures == ("isr_shrinks",) and sweep.space.runs == 24
    assert sweep.space.axes[1] == Axis("setting", "log.dirs", ("d0,d1", "d0"))
    other = find_sweep(str(file), range(7, 8))
    assert other is not None and (other.space.first_seed, other.space.seeds) == (7, 1)
    file.write_text("id: mine\ntitle: t\nscenraio: x\n")
    with pytest.raises(ScenarioErrors, match=r"mine.yaml:3:1: unknown key 'scenraio' in a sweep; nearest: scenario"):
        find_sweep(str(file))
    file.write_text("id: mine\ntitle: t\nscenario: az-isolated-leader\nmeasures: [lost, lostt]\n")
    with pytest.raises(ScenarioErrors, match=r"mine.yaml:4:11: measures: lostt: no such measure; nearest: lost$"):
        find_sweep(str(file))
    file.write_text("id: mine\ntitle: t\nsteps: []\n")
    assert find_sweep(str(file)) is None, "a scenario"
    assert find_sweep("az-isolated-leader") is None


def test_a_measure_has_a_name() -> None:
    assert measure_named("isr_shrinks") == "isr_shrinks"
    with pytest.raises(UnusableSpace, match="nearest: isr_shrinks"):
        measure_named("ISR shrink")


AXES = (Axis("version", "kafka_version", ("2.6", "2.8")), Axis("setting", "min.insync.replicas", ("1", "2", "x")))


@pytest.mark.parametrize(
    ("axes", "error", "message"),
    [
        (AXES, UnusableSetting, "min.insync.replicas"),
        ((Axis("setting", "producer.ackz", ("1", "all")),), UnusableSetting, "nearest: producer.acks"),
        ((Axis("setting", "num.replica.fetchers", ("1", "-1")),), UnusableSetting, "num.replica.fetchers"),
        ((Axis("parameter", "slee#1", ("1", "2")),), UnusableParameter, "nearest: sleep"),
        ((Axis("version", "kafka_version", ("2.8", "9.9")),), ValueError, "9.9"),
    ],
)
def test_impossible_settings_are_reported_before_anything_is_played(
    axes: tuple[Axis, ...], error: type[Exception], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where there are too many cells to look at each."""
    for most in (100, 0):
        monkeypatch.setattr("emulator.judging.campaigns.campaign_runs.CELLS_CHECKED_MAX", most)
        with pytest.raises(error, match=message):
            check_cells(CampaignOptions(Space(scenario="az-isolated-leader", axes=axes)))


def test_of_many_cells_each_value_is_looked_at_in_each_version() -> None:
    space = Space(scenario="x", axes=(*AXES, Axis("setting", "b", ("1", "2"))))
    looked = [space.draw(number).chosen for number in space.each_value()]
    for version in AXES[0].values:
        for axis in space.axes[1:]:
            for value in axis.values:
                assert any(one["kafka_version"] == version and one[axis.name] == value for one in looked)


def test_a_rule_of_two_settings_is_a_row() -> None:
    """One that no run stands behind, if it was not found before."""
    row = CampaignWorker(CampaignOptions(Space(scenario="az-isolated-leader", axes=AXES))).play(2)  # 2.6 with x
    assert row.error.startswith("min.insync.replicas") and row.code == 2 and not row.judged
