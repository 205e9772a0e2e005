"""`advise --cluster` on real processes: it reports its basis and changes nothing."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from emulator.cli.app import app
from emulator.cluster.control_requests import AlterBroker, AlterTopic, CreateTopic, DescribeSettings, Machine
from emulator.exit_codes import BROKEN, UNUSABLE
from protocol.ids import BrokerId
from tests.ids import brokers
from tests.live.conftest import Live

pytestmark = pytest.mark.network


def requested(*words: str) -> int:
    code: Any = app(["advise", *words], result_action="return_value")
    return int(code)


def test_a_cluster_reports_its_settings_at_the_start_and_altered_ones(
    up: Callable[..., Live], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    live = up(min_insync_replicas=2)
    live.did(CreateTopic("t", [list(brokers(0, 1))], settings={"min.insync.replicas": 2}))
    live.did(AlterTopic("t", {"min.insync.replicas": 1}))
    live.did(AlterBroker(None, {"unclean.leader.election.enable": True}))
    live.did(AlterBroker(BrokerId(1), {"log.flush.interval.ms": 500}))
    live.did(Machine("stop", "broker-2"))
    live.did(Machine("start", "broker-2", settings={"replica.lag.time.max.ms": 9_000}), wait_s=30.0)
    before = live.did(DescribeSettings())
    assert before["topics"]["t"] == {"partitions": 1, "replicas": [2], "settings": {"min.insync.replicas": "1"}}
    assert before["altered"] == {"": {"unclean.leader.election.enable": "true"}, "1": {"log.flush.interval.ms": "500"}}
    (tmp_path / "producer.properties").write_text("acks=1\n", encoding="utf-8")

    words = ("--fault", "az-0-is-cut-off-load", "--seeds", "1", "--json")
    assert requested("producer.properties", "--cluster", *words) == BROKEN
    reported = msgspec.json.decode(capsys.readouterr().out)
    assert (reported["kafka"], reported["cluster"]) == ("2.6", "cluster three-az, topic t")
    settings, sources = reported["settings"], reported["sources"]
    assert (settings["min.insync.replicas"], settings["default.replication.factor"]) == (1, 2)
    assert sources["min.insync.replicas"] == "topic t of cluster three-az"
    assert sources["unclean.leader.election.enable"] == "cluster three-az, altered since"
    assert sources["producer.acks"] == "producer.properties:1"
    own = reported["settings_by_broker"]
    assert {name: values["replica.lag.time.max.ms"] for name, values in own.items()} == {
        "broker-0": 10_000, "broker-1": 10_000, "broker-2": 9_000,
    }  # fmt: skip
    assert own["broker-1"]["log.flush.interval.ms"] == 500
    assert live.did(DescribeSettings()) == before

    live.did(AlterTopic("t", {}, ["min.insync.replicas"]))
    assert live.did(DescribeSettings())["topics"]["t"]["settings"] == {}
    (tmp_path / "server.properties").write_text("min.insync.replicas=1\n", encoding="utf-8")
    for contradicting, error in (
        (("--cluster", "three-azz"), "no cluster 'three-azz' runs; nearest: three-az"),
        (("--cluster", "three-az", "--topology", "six-brokers"), "--topology six-brokers: contradicts --cluster"),
        (("--cluster", "--kafka-version", "2.8"), "--kafka-version 2.8: contradicts --cluster"),
        (("--cluster", "--set", "min.insync.replicas=1"), "a broker's setting contradicts --cluster"),
        (("--cluster", "three-az", "server.properties"), "server.properties: broker's settings contradict --cluster"),
        (("--topic", "t"), "--topic: needs --cluster"),
    ):
        assert requested(*contradicting) == UNUSABLE
        assert error in capsys.readouterr().err
