"""Layouts over data centers: nodes, losses, and the command."""

from typing import Any

import msgspec
import pytest

from emulator.cli.app import app
from emulator.exit_codes import BROKEN, HELD, UNUSABLE
from emulator.judging.advice.advice_runs import Choice
from emulator.judging.advice.availability import Waits
from emulator.judging.advice.outcomes import Outcome
from emulator.judging.advice.single_faults import Fault
from emulator.judging.layouts.known_layouts import LAYOUTS, Layout
from emulator.judging.layouts.layout_runs import base_of_layout, loss_of, losses_of
from emulator.topology import KRAFT, ZOOKEEPER

TWO_AND_A_HALF = next(layout for layout in LAYOUTS if layout.name == "two-and-a-half-dc")


@pytest.mark.parametrize("metadata", [ZOOKEEPER, KRAFT])
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_every_layout_can_be_played_and_loses_each_data_center(layout: Layout, metadata: str) -> None:
    choice = Choice("2.8" if metadata == ZOOKEEPER else "4.4")
    base, with_own = base_of_layout(layout, choice, metadata)
    topology = base.cluster.topology
    voting = topology.with_role("session" if metadata == ZOOKEEPER else "controller")
    voters = [node for node in voting if "broker" not in node.roles]
    assert [sum(node.az == f"az-{dc}" for node in voters) for dc in range(len(layout.voters))] == [*layout.voters]
    assert base.replicas == layout.replicas and f"min.insync.replicas={layout.min_isr}" in with_own.overrides
    holders = {topology.node(f"broker-{broker}").az for broker in base.cluster.holders(layout.replicas)}
    assert holders == {f"az-{dc}" for dc, count in enumerate(layout.brokers) if count}
    lost = {fault.text for fault in losses_of(base)}
    assert lost == {
        f"az-{dc} {kind}" for dc in range(len(layout.brokers)) for kind in ("crashes", "is cut off", "loses power")
    }


def test_own_settings_take_precedence_over_the_layouts() -> None:
    base, choice = base_of_layout(TWO_AND_A_HALF, Choice("2.8", ("min.insync.replicas=1",)), ZOOKEEPER)
    assert base.settings["min.insync.replicas"] == 1
    assert [word for word in choice.overrides if "min.insync" in word] == ["min.insync.replicas=1"]
    assert "producer.enable.idempotence=true" in choice.overrides
    assert TWO_AND_A_HALF.settings("0.10.2")[-1] == "producer.acks=all"


def test_a_loss_counts_the_clients_elsewhere_and_the_worst_seed() -> None:
    fault = Fault("az-0-crashes-load", "az-0 crashes", "load", {}, {}, lasts_s=40.0)

    def outcome(seed: int, writes: Waits, **more: Any) -> Outcome:
        return Outcome(fault=fault.name, seed=seed, writes=writes, **more)

    waits = [outcome(1, Waits({"az-0": 50_000.0, "az-1": 7_000.0})), outcome(2, Waits({"az-1": 9_000.0}, {"az-0": 3}))]
    loss = loss_of(fault, waits)
    assert (loss.az, loss.kind, loss.writes_ms, loss.broken) == ("az-0", "crashes", 9_000.0, ())
    assert loss_of(fault, [*waits, outcome(3, Waits({"az-1": 41_000.0}))]).writes_ms is None
    assert loss_of(fault, [*waits, outcome(3, Waits({}, {"az-1": 1}))]).writes_ms is None
    assert loss_of(fault, [*waits, outcome(3, Waits(), broken={"duplicate": 2})]).broken == ("duplicate",)
    unknown = Outcome(fault=fault.name, seed=1, inconclusive="no verdict")
    assert loss_of(fault, [unknown]).inconclusive == "no verdict"
    assert loss_of(fault, [unknown, *waits]).writes_ms == 9_000.0


def run(*words: str) -> int:
    code: Any = app(["plan", "topologies", *words], result_action="return_value")
    return int(code)


@pytest.mark.slow
def test_two_data_centers_do_not_survive_the_loss_of_the_majority(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--kafka-version", "2.8", "--layouts", "two-dc-min-isr-2", "--seeds", "1", "--json") == BROKEN
    (layout,) = msgspec.json.decode(capsys.readouterr().out)["layouts"]
    by_place = {(loss["az"], loss["kind"]): loss for loss in layout["losses"]}
    assert by_place["az-0", "crashes"]["writes_ms"] is None, "its data center has two of three ZooKeeper servers"
    assert 0 < by_place["az-1", "crashes"]["writes_ms"] < 30_000
    assert not layout["survives"]


@pytest.mark.slow
def test_three_data_centers_survive(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--kafka-version", "4.4", "--layouts", "three-dc", "--seeds", "1") == HELD
    assert "three-dc" in capsys.readouterr().out


def test_an_unknown_layout_is_named_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--layouts", "four-dc") == UNUSABLE
    assert "--layouts four-dc: unknown; one of two-dc, " in capsys.readouterr().err
