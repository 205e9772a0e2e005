"""Metrics of a finished run, and `faultline export` that prints them."""

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from emulator.cli.commands.export_command import export_command
from emulator.cluster.metrics import run_series
from emulator.cluster.metrics.metric_table import LEADERS_BELIEVED, METRICS
from emulator.cluster.metrics.run_series import RunSeries, TooManyPoints
from tests.emulator.cluster.metrics.simulated_run import simulated


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return simulated("az-isolated-leader", tmp_path_factory.mktemp("runs") / "run")


def test_a_cut_shows_in_the_series(run: Path) -> None:
    series = RunSeries(run, 500.0)
    (believed,) = series.series[LEADERS_BELIEVED].values()
    assert set(believed.values()) == {1, 2}, "the isolated leader goes on believing that it leads"
    two = [interval for interval, leaders in believed.items() if leaders == 2]
    assert two == list(range(two[0], two[-1] + 1)) and believed[max(believed)] == 1
    assert series.start_ms == 1_600_000_000_000.0


def test_openmetrics_has_each_metric_together_with_rising_times(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "run.om"
    assert export_command(run, openmetrics=True, out=out) == 0
    lines = out.read_text().splitlines()
    assert lines[-1] == "# EOF"
    types = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert types == [metric.name for metric in METRICS if metric.name in types]
    times: dict[str, list[float]] = {}
    for line in lines[:-1]:
        if not line.startswith("#"):
            name, value, at_s = line.rsplit(" ", 2)
            float(value)
            times.setdefault(name, []).append(float(at_s))
    assert all(of_one == sorted(set(of_one)) for of_one in times.values())
    cut = [line for line in lines if line.startswith('faultline_fault_in_force{id="rule-1",rule="cut az-0"} 1 ')]
    assert float(cut[0].rsplit(" ", 1)[1]) == 1_600_000_008.0


def test_series_for_rule_tests_end_with_their_node(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export_command(run, rule_tests=True, every_ms=2_000.0) == 0
    document = YAML(typ="safe").load(capsys.readouterr().out)
    (tests,) = document["tests"]
    assert tests["interval"] == document["evaluation_interval"] == "2000ms"
    values = {one["series"]: one["values"].split() for one in tests["input_series"]}
    of_broker = values['kafka_server_replicamanager_partitioncount{node="broker-0",az="az-0"}']
    assert of_broker[:2] == ["_", "_"] and of_broker[-1] == "stale"
    assert {len(one) for one in values.values()} == {len(of_broker)}


def test_wrong_requests_are_refused(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert export_command(run) == 2
    assert export_command(run, otlp=True, openmetrics=True) == 2
    assert export_command(run, openmetrics=True, every_ms=0.0) == 2
    assert export_command(run, openmetrics=True, out=tmp_path) == 2
    assert export_command(tmp_path, openmetrics=True) == 2
    assert export_command(run, openmetrics=True, out=tmp_path / "none" / "out") == 2
    monkeypatch.setattr(run_series, "POINTS_MAX", 100)
    with pytest.raises(TooManyPoints, match="choose a longer --every-ms than 500 ms"):
        RunSeries(run, 500.0)
    assert export_command(run, rule_tests=True) == 2
    messages = capsys.readouterr().err.splitlines()
    assert messages[0] == "faultline export: no format given; choose one of --openmetrics, --rule-tests, --otlp, --page"
    assert messages[1].startswith("faultline export: --openmetrics and --otlp given") and len(messages) == 7
