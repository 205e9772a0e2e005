"""Real processes: writes on both sides of a cut, heals, ends.

Faults of dead and paused nodes.
"""

import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from emulator.cluster.await_registration import LONGER, SHOWN
from emulator.cluster.control_requests import (
    AddPartitions,
    AlterBroker,
    AlterTopic,
    Consume,
    CreateTopic,
    DeleteTopic,
    DescribeTopic,
    Down,
    ElectPreferred,
    Heal,
    LinkFault,
    Machine,
    Produce,
    Reassign,
    StartWorkload,
    StopWorkload,
    TopicOffsets,
    WorkloadStatus,
)
from emulator.cluster.event_snapshot import copy_moment
from emulator.cluster.http.request_exchange import Exchange
from emulator.faults.link_words import parse
from emulator.machines.client.partitioner import partition_of_key
from emulator.runs.run_events import read
from protocol.errors import ErrorCode
from protocol.ids import BrokerId
from tests.ids import brokers
from tests.live.conftest import Live
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.network
KAFKA_STORAGE_ERROR = ErrorCode.KAFKA_STORAGE_ERROR


def attempts(result: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    return [(one["value"], one["error"], one["offset"]) for one in result["attempts"] if one["saw"] == "attempt"]


def values(result: dict[str, Any]) -> list[str]:
    return [value for _, _, value in result["records"]]


def test_both_sides_of_a_cut_take_writes_and_the_heal_truncates_one(up: Callable[..., Live]) -> None:
    live = up()
    live.did(CreateTopic("t", [list(brokers(0, 1, 2))]))
    assert attempts(live.did(Produce("t", ["a", "b"], acks=-1))) == [("a", 0, 0), ("b", 0, 1)]
    cut = live.did(LinkFault(parse(["cut", "az-0"])))
    (applied,) = cut["applied"]
    assert applied["rule"] == "cut az-0" and applied["took_effect"] is True
    for end in applied["ends"]:
        assert end["in_force_ms"] >= applied["asked_ms"] and end["in_force_after_ms"] < 1000 and end["not_yet"] == []
    inside = live.did(Produce("t", ["c"], az="az-0", timeout_ms=5000))
    assert attempts(inside) == [("c", 0, 2)]
    live.until(lambda: live.partition()["leader"] != 0)
    outside = live.until(lambda: _acknowledged(live, Produce("t", ["d"], az="az-1", timeout_ms=5000)))
    assert outside == [("d", 0, 2)]
    assert live.partition()["views"]["broker-0"]["leader"] == 0
    live.until(lambda: live.partition()["views"]["broker-1"]["leader"] == live.partition()["leader"])
    live.until(  # acknowledged by its leader alone: readable once the other in sync has it, too
        lambda: values(live.did(Consume("t", broker=live.partition()["leader"]))) == ["a", "b", "d"]
    )
    (fault,) = live.status()["faults"]
    assert (fault["rule"], fault["healed"]) == ("cut az-0", None) and fault["frames_stopped"] > 0
    (healed,) = live.did(Heal())["healed"]
    assert healed["healed"] is True and healed["healed_ms"] > healed["asked_ms"]
    live.until(lambda: sorted(live.partition()["isr"]) == [0, 1, 2])
    live.until(lambda: "log_truncated" in {event["event"] for event in live.events("broker-0", 1)})
    live.did(ElectPreferred())
    assert live.partition()["leader"] == 0
    live.until(lambda: values(live.did(Consume("t", az="az-0"))) == ["a", "b", "d"])


def test_records_with_one_key_are_in_one_partition(up: Callable[..., Live]) -> None:
    """Kafka's partitioner decides it: murmur2 of the key, over three partitions."""
    live = up()
    live.did(CreateTopic("other", [list(brokers(0, 1, 2))]))
    live.did(CreateTopic("t", [list(brokers(0, 1, 2)), list(brokers(1, 2, 0)), list(brokers(2, 0, 1))]))
    keys = ["a", "b", "c", "a", "b", "c"]
    sent = [f"{key}{number}" for number, key in enumerate(keys)]
    reported = live.did(Produce("t", sent, acks=-1, keys=keys, timeout_ms=5_000), wait_s=10.0)
    assert {value: error for value, error, _ in attempts(reported)} == dict.fromkeys(sent, 0)
    expected = {key: partition_of_key(key.encode(), 3) for key in "abc"}
    for number in range(3):
        wanted = [value for value in sent if expected[value[0]] == number]
        live.until(lambda number=number, wanted=wanted: values(live.did(Consume("t", number))) == wanted)  # type: ignore[misc]
    assert live.ask(Produce("t", ["x"], keys=["a", "b"])).error == "2 keys for 1 values"
    refused = live.ask(Produce("t", ["x"], keys=["a"], broker=BrokerId(0)))
    assert refused.code == 2 and refused.error.startswith("a client's own producer finds the leader by itself")


def _acknowledged(live: Live, ask: Produce) -> list[tuple[str, Any, Any]]:
    answer = live.ask(ask, 10.0)
    found = attempts(answer.result) if answer.code == 0 else []
    return found if found and found[-1][1] == 0 else []


def test_dead_and_paused_nodes_take_the_rules_in_force_when_they_return(up: Callable[..., Live]) -> None:
    """A new incarnation knows them before its first connection.

    A paused one learns of rules that came and of those that went.
    """
    live = up(wire=True)
    live.did(LinkFault(parse(["delay", "az-2", "20ms"])))
    live.did(Machine("kill", "broker-1"))
    live.did(Machine("pause", "broker-2"))
    cut = live.did(LinkFault(parse(["cut", "az-0", "->", "az-1", "--only=Fetch"])))["applied"][0]
    assert [end["not_yet"] for end in cut["ends"]] == [[], ["broker-1"]]
    live.did(Heal(["az-2"]))
    hold = live.did(LinkFault(parse(["hold", "broker-2"])))["applied"][0]
    assert hold["ends"][0]["in_force_ms"] is None

    live.ask(Machine("start", "broker-1"))
    live.did(Machine("resume", "broker-2"))
    life = live.until(lambda: _with_connections(live.events("broker-1", 2, wire=True)))
    first = next(event["seq"] for event in life if event["event"] == "connection_changed")
    rules = [event for event in life if event["event"] == "fault_in_force"]
    assert [event["rule"] for event in rules] == ["rule-2", "rule-3"]
    assert all(event["seq"] < first for event in rules)

    def learnt() -> bool:
        known = [(e["event"], e["rule"]) for e in live.events("broker-2", 1) if e["event"].startswith("fault_")]
        return [e for e in known if e[0] in ("fault_in_force", "fault_healed")] == [
            ("fault_in_force", "rule-1"), ("fault_healed", "rule-1"), ("fault_in_force", "rule-2"),
            ("fault_in_force", "rule-3"),
        ]  # fmt: skip

    live.until(learnt)
    assert live.did(Heal(["rule-3"], "hold"))["healed"][0]["rule"] == "hold broker-2"
    live.did(Heal())
    live.bring_back()


def _with_connections(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return events if any(event["event"] == "connection_changed" for event in events) else []


def test_topics_are_altered_grown_and_moved_while_they_are_used(up: Callable[..., Live]) -> None:
    live = up()
    live.did(CreateTopic("t", [list(brokers(0, 1))]))
    live.did(Produce("t", ["a"], acks=-1))
    refusals = (
        (AlterTopic("t", {"min.insync.replica": 2}), "min.insync.replicas"),
        (AlterTopic("t"), "which settings?"),
        (AlterBroker(settings={"min.insync.replica": 2}), "nearest: min.insync.replicas"),
        (
            AlterBroker(BrokerId(0), {"log.dirs": "d"}),
            "log.dirs cannot be altered while a broker of 2.6 runs: in no version",
        ),
        (AlterBroker(BrokerId(7), {"num.io.threads": 9}), "no broker 7"),
        (AlterBroker(BrokerId(0), remove=["log.dir"]), "no broker setting 'log.dir'"),
        (AlterBroker(BrokerId(0)), "which settings?"),
        (AlterBroker(BrokerId(0), {"num.io.threads": 17}), "num.io.threads can be doubled and halved at a time"),
        (AddPartitions("t", 1), "it has 1 partitions, and can only have more, not 1"),
        (AddPartitions("u", 2), "no topic 'u'"),
        (Reassign({"t-0": list(brokers(0, 7))}), "no broker 7"),
        (Reassign({"t-9": [BrokerId(0)]}), "did you mean t-0?"),
    )
    for ask, why in refusals:
        answer = live.ask(ask, 10.0)
        assert answer.code == 2 and why in answer.error, answer
    assert live.did(AlterTopic("t", {"min.insync.replicas": "2"}))["set"] == {"min.insync.replicas": 2}
    reported = live.did(AlterBroker(settings={"num.io.threads": "9"}, remove=["message.max.bytes"]))
    assert reported == {"broker": None, "set": {"num.io.threads": 9}, "removed": ["message.max.bytes"]}
    grown = live.did(AddPartitions("t", 3))["topics"]["t"]
    assert [one["replicas"] for one in grown] == [[0, 1], [1, 2], [2, 0]]
    live.did(Reassign({"t-0": list(brokers(2, 1))}), 60.0)
    assert (live.partition()["replicas"], live.partition()["leader"]) == ([2, 1], 2)
    assert values(live.did(Consume("t"))) == ["a"]


def test_topics_are_deleted_and_made_again(up: Callable[..., Live]) -> None:
    """Semantics 4.5. A replica on a stopped broker delays it until the broker is back."""
    live = up()
    live.did(CreateTopic("t", [list(brokers(0, 1))]))
    live.did(Produce("t", ["a", "b"], acks=-1))
    (reported,) = live.did(TopicOffsets("t"))["partitions"]
    assert (reported["leader"], reported["earliest"], reported["latest"], reported["error"]) == (0, 0, 2, 0)
    assert [(one["broker"], one["log_start"], one["log_end"]) for one in reported["replicas"]] == [(0, 0, 2), (1, 0, 2)]
    assert live.did(DeleteTopic("t"), 60.0) == {"topic": "t", "deleted": True}
    assert live.ask(DeleteTopic("t")).error == "no topic 't'; there is none"
    live.did(CreateTopic("t", [list(brokers(2, 1))]))
    live.did(Produce("t", ["c"], acks=-1))
    assert values(live.did(Consume("t"))) == ["c"]
    live.did(Machine("kill", "broker-1"))
    (reported,) = live.did(TopicOffsets("t"))["partitions"]
    assert reported["replicas"][1] == {"broker": 1, "why": "it does not run, or does not answer"}
    live.until(lambda: live.partition()["isr"] == [2])
    assert live.ask(DeleteTopic("t"), 1.0).code == 3
    assert live.ask(DeleteTopic("t")).error == "delete-topic t: it is marked for deletion already"
    why = "topic t exists already; it is marked for deletion, and exists until all its replicas are deleted"
    assert live.ask(CreateTopic("t", [[BrokerId(0)]])).error == why
    assert live.did(DescribeTopic())["marked_for_deletion"] == ["t"]
    live.did(Machine("start", "broker-1"))
    live.until(lambda: not live.did(DescribeTopic())["topics"])


def test_a_topic_is_not_deleted_where_the_controller_may_not(up: Callable[..., Live]) -> None:
    live = up(delete_topic_enable=False)
    live.did(CreateTopic("t", [list(brokers(0, 1))]))
    answer = live.ask(DeleteTopic("t"))
    assert answer.code == 2 and "delete.topic.enable is false at broker-" in answer.error, answer

    # Who waits for an answer when the cluster ends is told so.
    live.did(Machine("pause", "broker-*"))
    at = live.registration
    with socket.create_connection((at.host, at.port), timeout=PATIENCE_S) as waiting:
        exchange = Exchange(at.token, Produce("t", ["a"], timeout_ms=60_000), 60.0)
        waiting.sendall(exchange.request)
        live.did(Down())
        while (reported := exchange.add(waiting.recv(4_096))) is None:
            pass
    assert reported.code == 3 and "the cluster ends" in reported.error, reported


def test_machines_report_once_what_cannot_be_done_and_come_back(up: Callable[..., Live]) -> None:
    live = up()
    live.did(CreateTopic("t", [list(brokers(0, 1, 2))], settings={"min.insync.replicas": 2}))
    refusals = {
        ("kill", "broker-7"): "did you mean broker-2?",
        ("start", "broker-0"): "broker-0 runs already",
        ("resume", "broker-0"): "broker-0 is not paused",
        ("pause", "observer"): "no node 'observer'",
    }
    for (fault, node), why in refusals.items():
        answer = live.ask(Machine(fault, node))
        assert answer.code == 2 and why in answer.error, answer
    assert live.ask(Machine("kill", ["az-1", "broker-7"])).code == 2
    assert live.ask(Machine("resume", "az-1")).error.count("is not paused") == 3
    refused = live.ask(Machine("slow-disk", "broker-0", given={"operation_ms": -1.0}))
    assert refused.error.startswith("operation_ms: Expected")
    assert live.ask(Machine("clock-jump", "broker-0")).error.startswith("Object missing required field `jump_ms`")
    assert live.ask(Machine("kill", "client-2", given={"x": 1.0})).error == "no field 'x'; there is none"
    live.did(Machine("slow-disk", ["broker-1", "broker-2"], given={"operation_ms": 60.0}))
    live.did(Machine("clock-jump", "broker-1", given={"jump_ms": -5.0}))
    hardware = {name: node["hardware"] for name, node in live.status()["nodes"].items()}
    assert hardware["broker-1"] == {"operation_ms": 60.0, "fsync_ms": 0.0, "clock_ahead_ms": -5.0}
    assert not any(hardware["broker-0"].values())
    began_ms = live.status()["cluster"]["now_ms"]
    assert _acknowledged(live, Produce("t", ["x"], acks=-1))
    assert live.status()["cluster"]["now_ms"] - began_ms >= 60.0
    live.did(Machine("slow-disk", ["broker-*"]))
    assert [name for name, node in live.status()["nodes"].items() if any(node["hardware"].values())] == ["broker-1"]
    live.did(Machine("kill", "client-2"))
    reported = live.did(Machine("pause", ["az-2", "client-0"]))
    assert [one["node"] for one in reported["machines"]] == ["broker-2", "session-2", "client-0"]
    assert list(reported["left_out"]) == ["client-2"]
    live.did(Machine("resume", ["broker-*", "session-2", "client-0"]))
    assert live.did(Machine("start", "client-*"))["node"] == "client-2"
    live.did(Machine("pause", "client-1"))
    answer = live.ask(Produce("t", ["x"], az="az-1"))
    assert answer.code == 2 and "faultline resume client-1" in answer.error
    assert live.ask(Machine("pause", "client-1")).error == "client-1 is paused already"
    assert live.ask(Machine("stop", "client-1")).code == 2
    live.did(Machine("kill", "client-1"))
    live.did(Machine("disk-full", "broker-0"))
    live.ask(Produce("t", ["y"], timeout_ms=500))
    live.until(lambda: not live.status()["nodes"]["broker-0"]["alive"])
    live.did(Machine("stop", "broker-2"), wait_s=30.0)
    assert live.ask(Machine("power-loss", "broker-2")).code == 2
    live.did(Machine("power-loss", "broker-1", 0))
    died = live.ask(Machine("start", "broker-1"))
    assert died.code == 3 and "its earlier session has not expired yet" in died.error
    assert re.search(r"; it expires within \d\.\d s, .*: then faultline start broker-1$", died.error), died.error
    [reported] = [event for event in read(live.directory, {"machine_fault"}) if event["what"] == "start-refused"]
    assert reported["target"] == "broker-1"
    for _ in range(10):
        begun = live.ask(Machine("start", ["client-1", "client-2"]), 0.0)
        assert (begun.code, begun.error) == (2, "client-2 runs already")
    begun = live.ask(Machine("start", "client-1"), 0.0)
    assert (begun.code, begun.error) == (3, f"not ended after 0 s; it goes on: {SHOWN} ({LONGER})")
    live.bring_back()
    live.until(lambda: sorted(live.partition()["isr"]) == [0, 1, 2])
    assert live.until(lambda: _acknowledged(live, Produce("t", ["z"], acks=-1, idempotent=True, timeout_ms=5000)))


def test_one_of_two_log_directories_fails_and_is_replaced(up: Callable[..., Live]) -> None:
    live = up(log_dirs="d0,d1")
    live.did(CreateTopic("t", [list(brokers(0, 1)), list(brokers(0, 1))]))
    assert attempts(live.did(Produce("t", ["a"], acks=-1))) == [("a", 0, 0)]
    refusals = {
        ("disk-error", "broker-0", "d7"): "no log directory 'd7'; did you mean d1?",
        ("disk-error", "session-0", ""): "session-0 is no broker: it keeps no log",
        ("kill", "broker-0", "d0"): "no field 'directory'; there is none",
        ("disk-full", "client-0", "d0"): "no log directory 'd0': client-0 has one log directory, its disk",
        ("lose-disk", "broker-0", "d0"): "broker-0 runs: its disk cannot be lost under it; kill it first",
    }
    for (fault, node, directory), why in refusals.items():
        answer = live.ask(Machine(fault, node, directory=directory))
        assert (answer.code, answer.error) == (2, why)
    assert live.did(Machine("disk-error", "broker-0", directory="d0"))["directory"] == "d0"
    assert attempts(live.did(Produce("t", ["b"], acks=1, broker=BrokerId(0)))) == [("b", KAFKA_STORAGE_ERROR, -1)]
    live.until(lambda: live.partition()["leader"] == 1)
    assert live.status()["nodes"]["broker-0"]["alive"]
    assert attempts(live.did(Produce("t", ["c"], acks=-1, partition=1, broker=BrokerId(0)))) == [("c", 0, 0)]
    assert live.until(lambda: _acknowledged(live, Produce("t", ["d"], acks=-1, timeout_ms=5000)))
    live.did(Machine("kill", "broker-0"))
    live.until(lambda: 0 not in live.partition()["isr"])
    live.did(Machine("lose-disk", "broker-0", directory="d0"))
    live.bring_back()
    live.until(lambda: sorted(live.partition()["isr"]) == [0, 1])
    assert live.until(lambda: values(live.did(Consume("t", broker=BrokerId(1)))) == ["a", "d"])


def test_a_workload_goes_on_through_a_cut_and_counts_what_became_of_it(up: Callable[..., Live]) -> None:
    live = up()
    live.did(CreateTopic("t", [list(brokers(0, 1, 2)), list(brokers(1, 2, 0))]))
    started = live.did(StartWorkload("load", "t", rate_per_s=20.0, retries=5))
    assert started["clients"] == ["client-0", "client-1", "client-2"]
    assert live.ask(StartWorkload("load", "t")).code == 2
    live.until(lambda: live.did(WorkloadStatus())["total"]["ok"] > 30)
    live.did(LinkFault(parse(["cut", "client-2"])))
    count = live.did(WorkloadStatus())["total"]["ok"]
    live.until(lambda: live.did(WorkloadStatus())["total"]["ok"] > count + 30)
    live.did(Heal())
    ended = live.did(StopWorkload("load"), wait_s=60.0)["total"]
    assert ended["sent"] == ended["ok"] + ended["failed"] + ended["unknown"]
    assert ended["read"] > 0
    assert live.ask(StopWorkload("load")).code == 2
    live.did(StartWorkload("load", "t", consumers=False, azs=["az-1"]))
    assert live.did(StopWorkload("", at_once=True))["total"]["sent"] >= 1


def test_a_moment_of_a_cluster_that_goes_on_is_consistent(up: Callable[..., Live], tmp_path: Path) -> None:
    """Every result that a client received is in the brokers' files, too.

    No line is torn, none is later.
    """
    live = up()
    live.did(CreateTopic("t", [list(brokers(0, 1, 2))]))
    live.did(StartWorkload("load", "t", rate_per_s=200.0, acks=1, consumers=False))
    live.until(lambda: live.did(WorkloadStatus())["total"]["ok"] > 100)
    moment_ms = copy_moment(live.found, tmp_path / "copy")
    live.until(lambda: live.status()["cluster"]["now_ms"] > moment_ms + 2000.0)
    paths = (tmp_path / "copy" / "events").glob("*.jsonl")
    events = [msgspec.json.decode(line) for path in paths for line in path.read_bytes().splitlines()]
    acknowledged = [e["digest"] for e in events if e["event"] == "operation_ended" and e["outcome"] == "ok"]
    appended = {e["digest"] for e in events if e["event"] == "batch_appended"}
    assert len(acknowledged) > 50 and {*acknowledged} <= appended  # records of one batch have its digest
    latest = {node: max(e["at_ms"] for e in events if e["node"] == node) for node in ("broker-0", "client-0")}
    assert all(moment_ms - 1500.0 < at_ms <= moment_ms for at_ms in latest.values()), (moment_ms, latest)


def test_brokers_are_upgraded_one_by_one_and_what_cannot_be_is_refused(up: Callable[..., Live]) -> None:
    """The command line of a rolling upgrade; the cluster runs on 2.6."""
    live, protocol = up(), "inter.broker.protocol.version"
    live.did(Machine("stop", "broker-1"))
    for ask, why in (
        (Machine("start", "broker-1", version="2.88"), "unknown Kafka version '2.88'"),
        (Machine("start", "broker-1", settings={protocol: "2.8"}), "is newer than the binary 2.6"),
        (Machine("start", "broker-1", settings={"replica.lag.max.messages": 3}), "not a setting of Kafka 2.6"),
        (Machine("start", "session-1", version="2.8"), "does not|runs already"),
        (Machine("stop", "broker-2", version="2.8"), "no field 'kafka_version'"),
    ):
        answer = live.ask(ask)
        assert answer.code == 2 and re.search(why, answer.error), answer
    requested = Machine(
        "start", "broker-1", version="2.8", settings={protocol: "2.6"}, from_files={"replica.lag.max.messages": "3"}
    )
    started = live.did(requested)
    assert (started["kafka.version"], started[protocol]) == ("2.8", "2.6")
    assert [line for line in started["said"] if line.startswith("dropped: replica.lag.max.messages")]
    assert live.status()["cluster"]["versions"]["broker-1"] == {"kafka.version": "2.8", protocol: "2.6"}
    (event,) = live.until(lambda: [e for e in live.events("broker-1", 2) if e["event"] == "node_started"])
    assert (event["kafka_version"], event["protocol_version"]) == ("2.8", "2.6")
    live.bring_back()
    live.did(CreateTopic("t", [list(brokers(1, 0, 2))]))
    assert attempts(live.did(Produce("t", ["a"], acks=-1))) == [("a", 0, 0)]
