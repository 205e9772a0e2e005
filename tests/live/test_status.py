"""Nodes' states, side by side: the JSON form of `faultline status`, and links under faults."""

import json

import msgspec
import pytest

from emulator.cluster.cluster_status import ClusterStatus, Life, LinkFault, as_json, partition_order, status_of
from emulator.faults.link_rule_building import rule_of
from emulator.faults.link_words import parse
from emulator.topology import three_azs
from protocol.ids import ControllerEpoch
from protocol.link_rules import LinkRule
from protocol.messages.status_messages import NodeStatus, PartitionStatus, SessionStatus

TOPOLOGY = three_azs()
ALIVE = {node.name: Life(True, False, 1) for node in TOPOLOGY.nodes}


def replica(**changes: object) -> PartitionStatus:
    fields: dict[str, object] = {
        "is_leader": False, "leader": 0, "leader_epoch": 1, "isr": [0, 1], "replicas": [0, 1, 2],
        "high_watermark": 3, "log_end": 4,
    }  # fmt: skip
    return PartitionStatus(**(fields | changes))  # type: ignore[arg-type]


def rule(words: str) -> LinkRule:
    found = rule_of(TOPOLOGY, "rule-1", parse(words.split()))
    return found


def links(*words: str) -> dict[tuple[str, str], tuple[str, bool]]:
    faults = [LinkFault(rule(one), 1.0, 2.0) for one in words]
    reported = status_of(TOPOLOGY, {}, ALIVE, faults, 10.0)
    return {(link.from_az, link.to_az): (link.kind, link.whole) for link in reported.links}


def test_the_json_form_has_what_the_contract_promises() -> None:
    statuses = {
        "broker-0": NodeStatus(
            True, ControllerEpoch(2), "broker-0", SessionStatus("connected", 7), {"t-0": replica(is_leader=True)}
        ),
        "broker-1": NodeStatus(False, ControllerEpoch(2), "broker-0", None, {"t-0": replica()}),
    }
    faults = [LinkFault(rule("cut az-0"), 1.0, 2.0, 9.0, 48)]
    reported = json.loads(json.dumps(as_json(status_of(TOPOLOGY, statuses, ALIVE, faults, 10.0))))
    node = reported["nodes"]["broker-0"]
    assert {key: node[key] for key in ("alive", "az", "roles", "is_controller", "controller_epoch")} == {
        "alive": True, "az": "az-0", "roles": ["broker", "controller"], "is_controller": True, "controller_epoch": 2
    }  # fmt: skip
    assert reported["partitions"]["t-0"]["broker-0"]["is_leader"] is True
    assert {"leader_epoch", "isr", "high_watermark", "log_end"} <= reported["partitions"]["t-0"]["broker-1"].keys()
    (fault,) = reported["faults"]
    assert fault == {
        "rule": "cut az-0", "asked_ms": 1.0, "in_force_ms": 2.0, "healed_ms": 9.0, "frames_stopped": 48,
        "took_effect": True, "healed": True, "id": "rule-1",
    }  # fmt: skip
    assert "observer" not in reported["nodes"]


def test_the_json_form_is_read_back_as_it_was() -> None:
    statuses = {"broker-0": NodeStatus(partitions={"t-0": replica(waits="session")}, metrics={"MaxLag": 3})}
    reported = status_of(TOPOLOGY, statuses, ALIVE, [LinkFault(rule("cut az-0"), 1.0, 2.0)], 10.0, "mine")
    assert msgspec.convert(json.loads(json.dumps(as_json(reported))), ClusterStatus) == reported


def test_an_unanswering_node_is_distinguished_from_a_dead_one() -> None:
    lives = ALIVE | {"broker-1": Life(False, False, 2), "broker-2": Life(True, True, 1)}
    del lives["client-0"]
    reported = status_of(TOPOLOGY, {"broker-0": NodeStatus()}, lives, [], 10.0).nodes
    seen = {
        name: (reported[name].alive, reported[name].paused, reported[name].answered)
        for name in reported
        if name[0] in "bc"
    }
    assert seen["broker-0"] == (True, False, True)
    assert seen["broker-1"] == (False, False, False)
    assert seen["broker-2"] == (True, True, False)
    assert seen["client-1"] == (True, False, False)
    assert (reported["client-0"].alive, reported["client-0"].incarnation) == (False, 0), "never started"


def test_contradictions_stay_side_by_side() -> None:
    statuses = {
        f"broker-{n}": NodeStatus(True, ControllerEpoch(n), "", None, {"t-0": replica(is_leader=True)}) for n in (0, 1)
    }
    reported = status_of(TOPOLOGY, statuses, ALIVE, [], 10.0)
    assert [name for name, node in reported.nodes.items() if node.is_controller] == ["broker-0", "broker-1"]
    assert [name for name, seen in reported.partitions["t-0"].items() if seen.is_leader] == ["broker-0", "broker-1"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("cut az-0 az-1", {("az-0", "az-1"): ("cut", True), ("az-1", "az-0"): ("cut", True)}),
        ("cut az-0 -> az-1", {("az-0", "az-1"): ("cut", True)}),
        ("cut broker-0 broker-1", {("az-0", "az-1"): ("cut", False), ("az-1", "az-0"): ("cut", False)}),
        ("cut az-0 -> az-1 --only fetcher", {("az-0", "az-1"): ("cut", False)}),
        ("hold az-0 -> az-1 --only Fetch", {("az-0", "az-1"): ("hold", False)}),
        ("cut opened_by broker-0 to broker-1", {("az-0", "az-1"): ("cut", False)}),
        ("cut broker-0 session-0", {("az-0", "az-0"): ("cut", False)}),
    ],
)
def test_a_rule_touches_the_links_that_it_meets(words: str, expected: dict[tuple[str, str], tuple[str, bool]]) -> None:
    assert links(words) == expected


def test_a_cut_az_is_cut_from_all_others() -> None:
    ways = {(a, b) for a in ("az-0", "az-1") for b in ("az-0", "az-1") if a != b}
    ways |= {("az-0", "az-2"), ("az-2", "az-0")}
    assert links("cut az-0") == dict.fromkeys(ways, ("cut", True))


def test_of_several_rules_the_worst_is_shown_with_all_amounts() -> None:
    faults = [LinkFault(rule(one), 1.0, 2.0) for one in ("delay az-0 -> az-1 50ms 10ms", "loss az-0 -> az-1 5%")]
    (link,) = status_of(TOPOLOGY, {}, ALIVE, faults, 10.0).links
    assert (link.kind, link.delay_ms, link.jitter_ms, link.loss) == ("loss", 50.0, 10.0, 0.05)


def test_halves_of_a_cut_add_up() -> None:
    """Node by node, a whole AZ."""
    words = [f"cut {node} -> az-1" for node in ("broker-0", "session-0", "client-0")]
    assert links(*words[:2])["az-0", "az-1"] == ("cut", False)
    assert links(*words)["az-0", "az-1"] == ("cut", True)


def test_a_rule_that_is_not_in_force_touches_nothing() -> None:
    requested, healed = LinkFault(rule("cut az-0"), 1.0), LinkFault(rule("cut az-0"), 1.0, 2.0, 3.0)
    assert status_of(TOPOLOGY, {}, ALIVE, [requested, healed], 10.0).links == []


def test_partitions_are_in_the_order_of_their_numbers() -> None:
    assert sorted(["t-10", "t-2", "a-b-1"], key=partition_order) == ["a-b-1", "t-2", "t-10"]
