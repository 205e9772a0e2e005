"""The container with all nodes: its variables, and its health."""

from pathlib import Path

import pytest

from emulator.cluster import container_health, single_container
from emulator.cluster.single_container import UNUSABLE_VARIABLES, requested
from emulator.exit_codes import UNKNOWN, UNUSABLE
from emulator.topology import KRAFT, ZOOKEEPER


def test_variables_choose_version_mode_settings_and_ports() -> None:
    given, about, ports, _ = requested({})
    assert (given.name, given.topology.metadata) == ("three-az", ZOOKEEPER)
    assert ports["az-1"]["broker-2"].port == 9512 and ports[""]["broker-0"].port == 9530
    settings = "min.insync.replicas=2 producer.acks=all"
    variables = {"FAULTLINE_KAFKA_VERSION": "3.9", "FAULTLINE_SETTINGS": settings, "FAULTLINE_KAFKA_PORTS": "201"}
    given, about, ports, _ = requested(variables)
    assert (about.spec.kafka_version, given.topology.metadata) == ("3.9", KRAFT)
    assert about.scenario.settings["min.insync.replicas"] == 2
    assert ports["az-0"]["broker-0"].port == 20100
    assert requested(variables | {"FAULTLINE_METADATA": "zookeeper"})[0].topology.metadata == ZOOKEEPER


def test_unusable_variables_are_named(subtests: pytest.Subtests) -> None:
    cases = {
        "FAULTLINE_TOPOLOGY": ("three-azz", "nearest: three-az"),
        "FAULTLINE_KAFKA_VERSION": ("0.8.2", "brokers of "),
        "FAULTLINE_METADATA": ("raft", "one of kraft, zookeeper"),
        "FAULTLINE_SETTINGS": ("min.insync.replica=2", "min.insync.replicas"),
        "FAULTLINE_KAFKA_PORTS": ("95000", "the first figures of ports"),
    }
    for name, (value, message) in cases.items():
        with subtests.test(name), pytest.raises(UNUSABLE_VARIABLES, match=message):
            requested({name: value})


def test_exit_codes(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    monkeypatch.setenv("FAULTLINE_METADATA", "raft")
    monkeypatch.setattr("signal.signal", lambda *_: None)
    assert single_container.main() == UNUSABLE
    assert "faultline: FAULTLINE_METADATA='raft': one of kraft, zookeeper" in capsys.readouterr().err
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(container_health, "HERE", tmp_path)
    assert container_health.main() == UNKNOWN
    assert "no cluster runs" in capsys.readouterr().err
