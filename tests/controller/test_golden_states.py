"""Recorded partition states and controllers, as far as the controller alone decides them.

The recordings' scripts are played against real controllers and the dictionary service. What brokers do by
themselves is added by hand: a leader removes a follower that stays away where no controller has done it,
and takes replicas that are back into the ISR again, at its end, straight or through the controller. A
recording may lack a state that was too short to be sampled, never have another one or another order.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from controller.settings import ControllerSettings
from protocol.messages.leadership_messages import AlterIsrRequest, IsrChange
from tests.controller.cluster import Cluster

GOLDEN = Path(__file__).parents[1] / "golden"

SCENARIOS = (
    "az-isolated-controller@0.10.2",
    "az-isolated-controller@1.1",
    "az-isolated-controller@2.6",
    "az-isolated-controller@2.8",
    "az-isolated-follower@1.1",
    "az-isolated-follower@2.6",
    "az-isolated-follower@2.8",
    "az-isolated-leader-and-controller@0.10.2",
    "az-isolated-leader-and-controller@1.1",
    "az-isolated-leader-and-controller@2.6",
    "az-isolated-leader-and-controller@2.8",
    "az-isolated-leader@0.10.2",
    "az-isolated-leader@1.1",
    "az-isolated-leader@2.6",
    "az-isolated-leader@2.8",
    "clean-election-waits@2.8",
    "incident-checkpointed@0.10.2",
    "incident-reverse-order@0.10.2",
    "incident-unclean-restart@0.10.2",
    "link-broker-controller@2.6",
    "link-broker-controller@2.8",
    "power-loss-before-sync@0.10.2",
    "power-loss-before-sync@1.1",
    "power-loss-before-sync@2.8",
    "unclean-alternating@1.1",
    "unclean-alternating@2.8",
    "unclean-election@0.10.2",
    "unclean-election@1.1",
    "unclean-election@2.8",
)


def recordings() -> list[Path]:
    return [path for scenario in SCENARIOS for path in sorted((GOLDEN / scenario).glob("*.json"))]


class Player:
    """One recording's script on a cluster of controllers."""

    def __init__(self, recording: dict[str, Any]) -> None:
        self.recording = recording
        unclean = recording["settings"].get("unclean.leader.election.enable", recording["kafka"].startswith("0.10.2"))
        settings = ControllerSettings(
            auto_leader_rebalance_enable=False, unclean_leader_election_enable=str(unclean).lower() == "true"
        )
        self.cluster = Cluster(version=recording["kafka"], settings=settings)
        self.controllers = [(entry["controller"], entry["epoch"]) for entry in recording["controllers"]]
        self.dead: list[int] = []
        self.isolated = -1

    def play(self) -> None:
        for step in self.recording["timeline"]:
            if "do" in step:
                self.do(step)
        self.settle_isr()

    def do(self, step: dict[str, Any]) -> None:
        c = self.cluster
        match step["do"]:
            case "kill":
                c.kill(step["broker"])
                self.dead.append(step["broker"])
            case "start":
                self.expire_the_dead()
                c.start(step["broker"])
                self.settle_isr()
            case "create-topic":
                c.create_topic("t", tuple(step["assignment"]))
            case "wait" | "pause" | "snapshot":
                self.expire_the_dead()
            case "cut" if "az" in step:
                self.isolated = step["az"]
                c.told_first = self.controllers[-1][0]
                c.isolate(self.isolated)
                c.expire(self.isolated)
                self.shrink_by_lag(self.isolated)
            case "heal" if self.isolated >= 0:
                c.rejoin(self.isolated, expired=True)
                self.isolated = -1
                self.settle_isr()
            case "elect-preferred":
                c.service.put(
                    "/admin/preferred_replica_election",
                    b'{"version":1,"partitions":[{"topic":"t","partition":0}]}',
                )
                c.settle()

    def expire_the_dead(self) -> None:
        if self.dead:
            self.cluster.expire(*self.dead)
            self.dead = []

    def shrink_by_lag(self, follower: int) -> None:
        """Removal of a follower by its leader when no controller has removed it (KAFKA-3143)."""
        state = self.cluster.state()
        if state.leader not in (-1, follower) and follower in state.isr:
            self.cluster.leader_writes_isr(*(member for member in state.isr if member != follower))

    def settle_isr(self) -> None:
        """Return of followers into the ISR: the leader appends them one by one at its end."""
        c = self.cluster
        if "/brokers/topics/t/partitions/0/state" not in c.service.znodes:
            return
        assignment = next(step["assignment"] for step in self.recording["timeline"] if step.get("do") == "create-topic")
        for follower in assignment:
            state = c.state()
            alive = c.brokers[follower].alive and follower != self.isolated
            if state.leader < 0 or follower in state.isr or not alive:
                continue
            isr = [*state.isr, follower]
            if c.gates.alter_isr:
                change = IsrChange("t", 0, state.leader, state.leader_epoch, isr, state.zk_version)
                request = AlterIsrRequest(state.leader, c.brokers[state.leader].broker_epoch, [change])
                answers = c.alter_isr(c.controller_of(), request)
                assert [p.error for answer in answers for p in answer.partitions] == [0]
            else:
                c.leader_writes_isr(*isr)


@pytest.mark.parametrize("path", recordings(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_states_and_controllers_are_those_of_the_recording(path: Path) -> None:
    recording = json.loads(path.read_text())
    player = Player(recording)
    player.play()
    recorded = [
        (s["leader"], s["leader_epoch"], s["isr"], s["controller_epoch"], s["zk_version"])
        for s in recording["partition_states"]
    ]
    ours = player.cluster.states()
    remaining = iter(ours)
    assert all(state in remaining for state in recorded), f"recorded {recorded}\nours     {ours}"
    assert ours[-1] == recorded[-1]
    assert len(ours) - len(recorded) <= len(player.controllers) - 1, "only a new controller's first write is so short"
    assert player.cluster.controller_of() == player.controllers[-1][0]
