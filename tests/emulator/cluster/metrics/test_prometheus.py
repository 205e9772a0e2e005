"""The shipped alert rules in a real Prometheus, on simulated runs and a live cluster."""

import json
import shutil
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

import faultline
from emulator.cluster.metrics.run_series import RunSeries
from emulator.packaged import COMPOSE
from tests.emulator.cluster.metrics.simulated_run import simulated
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.prometheus

FILES = COMPOSE / "prometheus"
RULES = FILES / "alerts.yml"
LOOK_S = 0.2
SETTINGS = {"zookeeper.session.timeout.ms": 4000, "replica.lag.time.max.ms": 4000}

SIMULATED = {
    "az-isolated-leader": (
        "KafkaUnderReplicatedPartitions", "warning", "1 partitions have fewer replicas in sync than assigned",
    ),
    "az-isolated-leader-and-controller": (
        "KafkaTwoActiveControllers", "critical", "2 nodes believe to be the active controller",
    ),
    "kraft-az-isolated-combined": (
        "KafkaUnderReplicatedPartitions", "warning", "1 partitions have fewer replicas in sync than assigned",
    ),
    "clean-election-waits": ("KafkaOfflinePartitions", "critical", "1 partitions have no leader"),
}  # fmt: skip
"""{scenario: (alert that fires in it, its severity, its summary)}"""


def promtool(*arguments: str | Path) -> None:
    command = ["promtool", *map(str, arguments)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_rules_fire_and_end_on_simulated_runs(tmp_path: Path, subtests: pytest.Subtests) -> None:
    promtool("check", "rules", RULES)
    for scenario, (alert, severity, summary) in SIMULATED.items():
        with subtests.test(scenario):
            body = RunSeries(simulated(scenario, tmp_path / scenario), 1_000.0).rule_tests()
            firing = _seconds(body, alert)
            assert firing, f"{alert} cannot fire in {scenario}"
            at = (firing[0], firing[-1], firing[-1] + 1)
            expected = [[], [{"exp_labels": {"severity": severity}, "exp_annotations": {"summary": summary}}], []]
            (series,) = body["tests"]
            series["alert_rule_test"] = [
                {"eval_time": f"{second}s", "alertname": alert, "exp_alerts": alerts}
                for second, alerts in zip(at, expected, strict=True)
            ]
            tests = tmp_path / f"{scenario}.yml"
            YAML().dump(body | {"rule_files": [str(RULES)]}, tests)
            promtool("test", "rules", tests)


def _seconds(body: dict[str, Any], alert: str) -> list[int]:
    """The longest time in which the rule's metric, summed over the nodes, is above its limit."""
    metric, limit = {
        "KafkaUnderReplicatedPartitions": ("kafka_server_replicamanager_underreplicatedpartitions", 0),
        "KafkaTwoActiveControllers": ("kafka_controller_kafkacontroller_activecontrollercount", 1),
        "KafkaOfflinePartitions": ("kafka_controller_kafkacontroller_offlinepartitionscount", 0),
    }[alert]
    (test,) = body["tests"]
    values = [one["values"].split() for one in test["input_series"] if one["series"].startswith(metric + "{")]
    sums = [sum(int(value) for value in column if value.isdigit()) for column in zip(*values, strict=True)]
    longest: list[int] = []
    present: list[int] = []
    for second, total in enumerate(sums):
        present = [*present, second] if total > limit else []
        longest = max(longest, present, key=len)
    return longest


def test_a_run_becomes_blocks_of_prometheus(tmp_path: Path) -> None:
    run = simulated("az-isolated-leader", tmp_path / "run")
    text = tmp_path / "run.om"
    text.write_text("".join(RunSeries(run, 1_000.0).openmetrics()))
    promtool("tsdb", "create-blocks-from", "openmetrics", text, tmp_path / "tsdb")
    assert [path for path in (tmp_path / "tsdb").iterdir() if (path / "meta.json").is_file()]


@pytest.mark.network
def test_an_alert_fires_under_a_cut_of_an_az_and_ends_after_it(tmp_path: Path) -> None:
    about = faultline.Cluster(kafka_version="2.8", settings=SETTINGS, directory=tmp_path / "run")
    with about as cluster:
        cluster.create_topic("orders", partitions=3, replicas=3)
        registration = json.loads((cluster.directory / "cluster.json").read_text())
        scraped = _metrics(registration)
        _check_metrics(scraped)
        assert 'kafka_network_requestmetrics_errors_total{node="broker-' in scraped
        with prometheus(tmp_path, registration) as alerts:
            _until(lambda: _up(alerts))
            assert _firing(alerts) == set()
            rule = cluster.cut("az-0")
            _until(lambda: "KafkaUnderReplicatedPartitions" in _firing(alerts))
            cluster.heal(rule)
            _until(lambda: not _firing(alerts))


def _check_metrics(text: str) -> None:
    """The text is valid; the only advice is about a label's name, which is Kafka's."""
    command = ["promtool", "check", "metrics"]
    ended = subprocess.run(command, input=text, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    advice = {line for line in ended.stderr.splitlines() if line}
    maxlag = "kafka_server_replicafetchermanager_maxlag"
    assert advice == {f"{maxlag} label names should be written in 'snake_case' not 'camelCase'"}, ended


def _metrics(registration: dict[str, Any]) -> str:
    request = urllib.request.Request(
        f"http://127.0.0.1:{registration['port']}/metrics", headers={"Authorization": f"Bearer {registration['token']}"}
    )
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as reply:
        assert reply.headers["Content-Type"].startswith("text/plain")
        text: str = reply.read().decode()
    return text


@contextmanager
def prometheus(folder: Path, registration: dict[str, Any]) -> Iterator[str]:
    """A Prometheus that scrapes the cluster each second; the address of its API."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    config = (FILES / "prometheus.yml").read_text()
    assert "127.0.0.1:8400" in config
    (folder / "prometheus.yml").write_text(config.replace("127.0.0.1:8400", f"127.0.0.1:{registration['port']}"))
    shutil.copy(RULES, folder)
    token = folder / "token"
    token.touch(mode=0o600)
    token.write_text(registration["token"])
    command = [
        "prometheus", f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn",
    ]  # fmt: skip
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
    try:
        yield f"http://127.0.0.1:{port}/api/v1"
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def _api(address: str) -> Any:
    try:
        with urllib.request.urlopen(address, timeout=PATIENCE_S) as reply:
            return json.loads(reply.read())["data"]
    except OSError:
        return None  # it is not ready yet


def _up(api: str) -> bool:
    found = _api(f"{api}/query?query=up")
    return bool(found) and [one["value"][1] for one in found["result"]] == ["1"]


def _firing(api: str) -> set[str]:
    return {one["labels"]["alertname"] for one in _api(f"{api}/alerts")["alerts"] if one["state"] == "firing"}


def _until(holds: Any) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        threading.Event().wait(LOOK_S)
