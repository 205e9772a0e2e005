"""`faultline import` and `faultline incident`: their output, files and mistakes."""

import json
from pathlib import Path

import pytest

from emulator.cli.command_options import ImportOptions
from emulator.cli.commands.import_command import import_command
from emulator.cli.commands.incident_command import incident_command
from tests.real_logs import unpacked

NAME = "az-isolated-leader@2.8"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("import")
    out = folder / "incident"
    assert import_command(unpacked(folder / "logs") / NAME, options=ImportOptions(out=out)) == 0
    return out


def test_an_import_names_its_nodes(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clients = tmp_path / "sends.csv"
    clients.write_text("topic,partition,offset,acks,value\nt,0,2,1,c\nt,0,2,1,f\n")
    options = ImportOptions(out=tmp_path / "run", clients=clients)
    assert import_command(run.parent / "logs" / NAME, options=options) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("3 nodes, ")
    assert "  broker-1: Kafka 2.8.2, broker, 1 starts" in lines
    assert incident_command(tmp_path / "run", json=True) == 0
    assert [one["value"] for one in json.loads(capsys.readouterr().out)["lost"]] == ["c"]


def test_an_incident_is_printed_written_and_recovered(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert incident_command(run, recover=tmp_path / "records.jsonl", scenario=tmp_path / "again.yaml") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "fault: broker-0 was cut off from the other nodes"
    assert f"page: {run / 'incident.html'}" in lines
    assert f"4 records: {tmp_path / 'records.jsonl'}" in lines
    assert "cut: {az: 0}" in (tmp_path / "again.yaml").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (ImportOptions(tz="Mars/Olympus"), "time zone 'Mars/Olympus': this machine does not know it"),
        (ImportOptions(pattern="%p"), "pattern '%p': has no %d"),
        (ImportOptions(kafka_version="9.9"), "unknown Kafka version '9.9'"),
        (ImportOptions(clients=Path("none.csv")), "none.csv: is no file"),
        (ImportOptions(), "holds no broker's log lines"),
    ],
)
def test_a_mistake_is_one_line_and_writes_nothing(
    options: ImportOptions, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert import_command(tmp_path, options=options) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_run_that_was_not_imported_is_no_incident(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert incident_command(tmp_path) == 2
    assert "import.json: cannot be read" in capsys.readouterr().err
