"""`faultline fuzz`: what it prints, what it leaves, and that it goes on where it was."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from emulator.cli.app import app
from emulator.cli.commands import fuzz as fuzz_module
from emulator.exit_codes import BROKEN, HELD, UNUSABLE
from emulator.judging.fuzzing.fault_generator import SPACE
from emulator.judging.fuzzing.rule_coverage import Closely


def fuzz(*words: str) -> Any:
    return app(["fuzz", *words], result_action="return_value")


@pytest.fixture
def unprofiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search without its replay under the profiler, which costs more than the search."""
    monkeypatch.setattr(fuzz_module, "looked_at", lambda runs: Closely(len(runs)))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--runs", "0"), "--runs 0: from 1 to"),
        (("--for", "soon"), "--for 'soon': expected a time such as"),
        (("--for", "1m", "--runs", "5"), "exclude each other"),
        (("--kafka-version", "9.9"), "unknown Kafka version '9.9'"),
        (("--kafka-version", "4.4", "--metadata", "zookeeper"), "Kafka 4.4: has no ZooKeeper mode"),
        (("--kafka-version", "2.8", "--metadata", "kraft"), "Kafka 2.8: KRaft mode is not emulated before 3.3"),
        (("--set", "min.insync.replica=2"), "min.insync.replicas"),
        (("--seed=-1",), "--seed -1: from 0 to 9223372036854775807"),
        (("--seed", "9223372036854775808"), "--seed 9223372036854775808: from 0 to 9223372036854775807"),
    ],
)
def test_what_it_cannot_use_is_one_line(
    words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fuzz(*words) == UNUSABLE
    reported = capsys.readouterr()
    assert message in reported.err and not reported.out


def test_it_goes_on_where_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--json", "--kafka-version", "2.8", "--out", str(tmp_path / "found"))
    assert fuzz("--runs", "1", *words) == HELD
    first = msgspec.json.decode(capsys.readouterr().out)
    assert fuzz("--runs", "2", *words) == HELD
    second = msgspec.json.decode(capsys.readouterr().out)
    assert (first["runs"], second["runs"]) == (1, 2)
    assert second["simulated_s"] > first["simulated_s"]
    assert set(first["reached"]) <= set(second["reached"])
    assert fuzz("--runs", "2", "--seed", "2", *words) == UNUSABLE
    assert "belongs to a search with other options" in capsys.readouterr().err


@pytest.mark.usefixtures("unprofiled")
@pytest.mark.parametrize(
    ("words", "stored", "played"),
    [
        (("--kafka-version", "4.4"), "", "kraft"),
        (("--kafka-version", "3.9"), "kraft", "kraft"),
        (("--kafka-version", "3.9", "--metadata", "zookeeper"), "", "zookeeper"),
    ],
)
def test_the_version_decides_the_mode_if_no_option_does(
    words: tuple[str, ...], stored: str, played: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A search of 3.9 that began before there was a choice has no mode in its file.
    It is resumed with --metadata zookeeper.
    """
    assert fuzz("--runs", "1", "--json", *words, "--out", str(tmp_path)) == HELD
    reported = msgspec.json.decode(capsys.readouterr().out)
    assert reported["metadata"] == played
    assert ("zookeeper.session.timeout.ms" in reported["settings"]) == (played == "zookeeper")
    assert msgspec.json.decode((tmp_path / "fuzz.json").read_bytes())["asked"]["metadata"] == stored


@pytest.mark.usefixtures("unprofiled")
def test_a_search_keeps_the_table_of_fault_types_with_which_it_began(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file without a version is of the first one, a new search of the present one."""
    words = ("--kafka-version", "2.8", "--out")

    def stored(folder: str) -> Any:
        return msgspec.json.decode((tmp_path / folder / "fuzz.json").read_bytes())

    assert fuzz("--runs", "1", *words, str(tmp_path / "new")) == HELD
    assert stored("new")["asked"]["space"] == SPACE > 1
    (tmp_path / "old").mkdir()
    begun = {"asked": {key: value for key, value in stored("new")["asked"].items() if key != "space"}, "hunt": {}}
    (tmp_path / "old" / "fuzz.json").write_bytes(msgspec.json.encode(begun))
    assert fuzz("--runs", "1", *words, str(tmp_path / "old")) == HELD
    assert (stored("old")["asked"]["space"], stored("old")["hunt"]["runs"]) == (1, 1)
    later = {**begun, "asked": {**begun["asked"], "space": SPACE + 1}}
    (tmp_path / "old" / "fuzz.json").write_bytes(msgspec.json.encode(later))
    assert fuzz("--runs", "1", *words, str(tmp_path / "old")) == UNUSABLE
    assert "asked.space" in capsys.readouterr().err


def test_a_find_known_already_is_reported_with_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a campaign that has found something: it is not played again."""
    find = {"what": "lost", "rule": "8 (KIP-101): cut", "text": "m is gone", "number": 0, "count": 1, "steps": 5}
    hunt = {"runs": 1, "finds": [{**find, "file": "id: lost-0\n"}], "reached": [], "simulated_s": 60.0}
    requested = {"version": "0.10.2", "seed": 1, "fixed": {}}
    (tmp_path / "fuzz.json").write_bytes(msgspec.json.encode({"asked": requested, "hunt": hunt}))
    assert fuzz("--runs", "1", "--kafka-version", "0.10.2", "--out", str(tmp_path)) == BROKEN
    reported = capsys.readouterr().out
    assert "lost: 8 (KIP-101): cut: 1 of 1 runs" in reported
    assert f"faultline run {tmp_path}/lost-0.yaml --world sim --seed 0" in reported.replace("\n", "")
    assert (tmp_path / "lost-0.yaml").read_text() == "id: lost-0\n"


def test_of_what_was_not_made_small_there_is_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No command names a file.
    What was drawn breaks nothing any more, as after a change of faultline.
    """
    find = {"what": "lost", "rule": "8 (KIP-101): cut", "text": "m is gone", "number": 0, "drawn": "id: x\n"}
    hunt = {"runs": 1, "finds": [find], "reached": [], "simulated_s": 60.0}
    requested = {"version": "0.10.2", "seed": 1, "fixed": {}}
    (tmp_path / "fuzz.json").write_bytes(msgspec.json.encode({"asked": requested, "hunt": hunt}))
    words = ("--runs", "1", "--kafka-version", "0.10.2", "--out", str(tmp_path))
    assert fuzz(*words) == BROKEN
    assert "not shrunk; number 0" in capsys.readouterr().out
    assert fuzz(*words, "--json") == BROKEN
    (reported,) = msgspec.json.decode(capsys.readouterr().out)["finds"]
    assert (reported["number"], reported["steps"], reported["file"], reported["replay"]) == (0, 0, "", "")
    assert not [*tmp_path.glob("*.yaml")]


@pytest.mark.usefixtures("unprofiled")
def test_two_do_not_hunt_into_one_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The hunt that ended last would drop the other's runs and finds.
    All of them were played twice.
    """
    words = ("--runs", "1", "--kafka-version", "2.8", "--out", str(tmp_path / "found"))
    codes: list[int] = []

    def meanwhile(*given: Any) -> None:
        monkeypatch.setattr("emulator.cli.commands.fuzz._play", played)
        codes.append(fuzz(*words))
        played(*given)

    played = fuzz_module._play
    monkeypatch.setattr("emulator.cli.commands.fuzz._play", meanwhile)
    assert (fuzz(*words), codes) == (HELD, [UNUSABLE])
    assert f"{tmp_path}/found: another command is writing to it" in capsys.readouterr().err
    assert fuzz(*words) == HELD
