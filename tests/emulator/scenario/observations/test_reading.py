"""Observations have a strict structure.

A message names the file, the place and the right form.
"""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from emulator.scenario.observations import observation_model
from emulator.scenario.observations.recording_comparison import compare
from emulator.scenario.observations.recording_files import load, recording_files, run_file
from emulator.scenario.observations.recording_parsing import Malformed, from_document, parse, plain

GOLDEN = Path(__file__).parents[3] / "golden"


def document() -> dict[str, Any]:
    return {
        "format": 2,
        "scenario": "s",
        "kafka": "2.6",
        "timeline": [
            {"t": 1.0, "do": "start", "broker": 0},
            {
                "t": 2.0,
                "saw": "attempt",
                "broker": 0,
                "value": "a",
                "acks": 1,
                "attempt": 1,
                "error": 0,
                "offset": 0,
            },
            {
                "t": 3.0,
                "saw": "fetch",
                "broker": 0,
                "error": 0,
                "high_watermark": 1,
                "records": [[0, 0, "a"]],
            },
        ],
        "partition_states": [
            {"t": 1.5, "leader": 0, "leader_epoch": 0, "isr": [0], "controller_epoch": 1, "zk_version": 0}
        ],
        "controllers": [{"t": 1.2, "controller": 0, "epoch": 1}],
        "truncations": [],
    }


def without(path: str) -> dict[str, Any]:
    d = document()
    *parts, last = path.split(".")
    inside: Any = d
    for part in parts:
        inside = inside[int(part) if part.isdigit() else part]
    del inside[int(last) if last.isdigit() else last]
    return d


def with_(path: str, value: object) -> dict[str, Any]:
    d = document()
    *parts, last = path.split(".")
    inside: Any = d
    for part in parts:
        inside = inside[int(part) if part.isdigit() else part]
    inside[int(last) if last.isdigit() else last] = value
    return d


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "f: expected an object with the keys of format 2 or 3, got a list of 0"),
        (without("format"), "f: format: expected 2 or 3, got 'nothing'"),
        (with_("format", 1), "f: format: expected 2 or 3, got 1"),
        (without("kafka"), "f: kafka: expected a text, got nothing"),
        (without("timeline"), "f: timeline: expected a list of entries, got nothing"),
        (with_("timeline.1", "x"), "f: timeline[1]: expected an entry, got 'x'"),
        (
            without("timeline.0.do"),
            "f: timeline[0]: expected a key `do` or `saw` with a text, got keys t, broker",
        ),
        (without("timeline.1.error"), "f: timeline[1].error: expected a number or a text, got nothing"),
        (
            with_("timeline.1.error", [7]),
            "f: timeline[1].error: expected a number or a text, got a list of 1",
        ),
        (
            with_("timeline.2.records", 3),
            "f: timeline[2].records: expected a list (a list of 3 each) or null, got 3",
        ),
        (
            with_("timeline.2.records.0", [0, "a"]),
            "f: timeline[2].records[0]: expected a list of 3, got a list of 2",
        ),
        (
            with_("partition_states.0.isr", None),
            "f: partition_states[0].isr: expected a list (a number each), got null",
        ),
        (without("controllers.0.epoch"), "f: controllers[0].epoch: expected a number, got nothing"),
    ],
)
def test_bad_structure_is_named(given: object, message: str) -> None:
    with pytest.raises(Malformed) as raised:
        from_document(given, "f")
    assert str(raised.value) == message


def test_several_faults_are_counted() -> None:
    d = without("kafka")
    del d["scenario"], d["truncations"]
    with pytest.raises(Malformed, match=r"^f: scenario: expected a text, got nothing \(and 2 more\)$"):
        from_document(d, "f")


def test_cut_off_text_is_one_message() -> None:
    with pytest.raises(Malformed, match=r"^f: not JSON: "):
        parse(json.dumps(document())[:-7], "f")


def test_unknown_results_and_wrong_leaves_are_for_compare() -> None:
    odd = with_("timeline.1.error", "x")
    odd["timeline"].append({"t": 4.0, "saw": "something new"})
    differences = compare(from_document(odd, "run"), from_document(document(), "golden"))
    assert [d.where for d in differences] == ["timeline[1].error", "timeline[3]"]


def test_what_a_run_writes_is_read_back() -> None:
    """The classes of `model` and plain entries are the same thing."""
    d = document()
    written = observation_model.Observations(
        format=observation_model.FORMAT,
        scenario="s",
        kafka="2.6",
        timeline=[
            d["timeline"][0],
            observation_model.Attempt(t=2.0, broker=0, value="a", acks=1, attempt=1, error=0, offset=0),
            observation_model.Fetched(t=3.0, broker=0, error=0, high_watermark=1, records=[(0, 0, "a")]),
        ],
        partition_states=[
            observation_model.PartitionState(t=1.5, leader=0, leader_epoch=0, isr=[0], controller_epoch=1, zk_version=0)
        ],
        controllers=[observation_model.ControllerState(t=1.2, controller=0, epoch=1)],
        truncations=[],
    )
    assert msgspec.to_builtins(plain(written)) == msgspec.to_builtins(from_document(d, "f"))


def test_every_recording_has_the_shape_of_the_classes() -> None:
    """Leaves too: each entry of each recording converts strictly to its class."""
    for path in recording_files([GOLDEN]):
        o = load(path)
        for entry in o.timeline:
            if "saw" in entry:
                msgspec.convert(entry, observation_model.SAW[entry["saw"]], strict=True)
        kraft = observation_model.of_kraft(o.format, o.mode)
        others = OTHERS if o.format == observation_model.FORMAT else {}
        lists = observation_model.KRAFT_LISTS if kraft else {**observation_model.LISTS, **others}
        for section, kind in lists.items():
            for entry in getattr(o, section):
                unreachable = section == "views_by_broker" and "reachable" in entry
                msgspec.convert(entry, observation_model.Unreachable if unreachable else kind, strict=True)


OTHERS: dict[str, type[msgspec.Struct]] = {
    "live_brokers": observation_model.LiveBrokers,
    "views_by_broker": observation_model.BrokerView,
    "role_changes": observation_model.RoleChange,
    "isr_changes": observation_model.IsrChange,
}


def test_a_missing_recording_names_the_nearest() -> None:
    with pytest.raises(Malformed) as raised:
        load(GOLDEN / "az-isolated-leader@2.9" / "1.json")
    assert str(raised.value).startswith(f"{GOLDEN}/az-isolated-leader@2.9/1.json: no such file; nearest: {GOLDEN}/az-")


def test_a_folder_without_recordings_is_named(tmp_path: Path) -> None:
    with pytest.raises(Malformed, match=r"no recording \(\*\.json\) in this folder"):
        recording_files([tmp_path])
    with pytest.raises(Malformed, match=r"holds no observations\.json; was the run finished\?"):
        run_file(tmp_path)


def test_a_whole_folder_of_recordings() -> None:
    assert len(recording_files([GOLDEN])) == 201
    assert [p.name for p in recording_files([GOLDEN / "min-insync@2.8"])] == ["1.json", "2.json"]
