"""Decisions of the controller against every state in recordings of real KRaft clusters.

A recording has every state of t-0 and every change of a registration, each with its offset. Records of one batch are
neighbours, so that a state's neighbours name its cause.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from controller.kraft.alter_partition import alter_partition
from controller.kraft.cluster_view import ClusterView
from controller.kraft.controller_settings import ControllerSettings
from controller.kraft.feature_levels import ELR_VERSION, METADATA_VERSION
from controller.kraft.metadata_image import MetadataImage
from controller.kraft.partition_changes import TargetState
from controller.kraft.replication_control import (
    begin_controlled_shutdown,
    fence_broker,
    leave_partitions,
    unfence_broker,
)
from protocol.errors import ErrorCode
from protocol.gates import gates_for
from protocol.ids import BrokerId, Offset
from protocol.messages.leadership_messages import AlterIsrRequest, IsrChange
from protocol.records.metadata_records import (
    TOPIC_CONFIG,
    ConfigRecord,
    FeatureLevelRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
)

GOLDEN = Path(__file__).parents[2] / "golden"
RECORDINGS = sorted(GOLDEN.glob("kraft-*/*.json"))
TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAA"
ME = BrokerId(100)


class Replay:
    """A recording's states, decided again. `image`: after the events so far."""

    def __init__(self, folder: str, recording: dict[str, Any]) -> None:
        version = folder.partition("@")[2].partition("-")[0]
        gates = gates_for(version, metadata="kraft")
        self.image = MetadataImage()
        self.view = ClusterView(ME, self.image, gates, ControllerSettings.from_settings(recording["settings"]))
        self._timeline = recording["timeline"]
        elr = gates.elr_by_default and not folder.endswith("-elr0")
        for offset, record in enumerate(
            (FeatureLevelRecord(METADATA_VERSION, gates.metadata_version), FeatureLevelRecord(ELR_VERSION, int(elr)))
        ):
            self.image.apply(record, Offset(offset))
        events = recording["partition_states"] + recording["broker_registrations"]
        self.events = sorted(events, key=lambda event: int(event["offset"]))

    def apply(self, records: Sequence[MetadataRecord], first: int) -> None:
        for index, record in enumerate(records):
            self.image.apply(record, Offset(first + index))

    # --- causes ---

    def created(self, state: dict[str, Any]) -> list[MetadataRecord]:
        created = next(one for one in self._timeline if one.get("do") == "create-topic" and one["topic"] == "t")
        replicas = tuple(BrokerId(one) for one in created["assignment"])
        assert [one for one in replicas if self.view.is_active(one)] == state["isr"]
        assert replicas[0] == state["leader"]
        configs = [ConfigRecord(TOPIC_CONFIG, "t", name, str(value)) for name, value in created["configs"].items()]
        partition = PartitionRecord(TOPIC_ID, 0, replicas, replicas, replicas[0])
        return [TopicRecord("t", TOPIC_ID), *configs, partition]

    def registered(self, event: dict[str, Any]) -> list[MetadataRecord]:
        broker, epoch = BrokerId(event["broker"]), event["broker_epoch"]
        return [RegisterBrokerRecord(broker, TOPIC_ID, epoch, f"broker-{broker}", fenced=event["fenced"])]

    def altered(self, state: dict[str, Any]) -> list[MetadataRecord]:
        """Records of a leader's proposal, or of a requested election."""
        partition = self.image.topics["t"].partitions[0]
        if state["isr"] == list(partition.isr) or state["leader"] != partition.leader:
            topic = self.image.topics["t"]
            targets = [TargetState(election="preferred"), TargetState(election="unclean")]
            changes = [self.view.change(topic, 0, partition, target) for target in targets]
            return next(
                [change]
                for change in changes
                if change is not None and partition.merge(change).leader == state["leader"]
            )
        proposed = [BrokerId(one) for one in state["isr"]]
        request = AlterIsrRequest(
            partition.leader,
            self.image.brokers[partition.leader].epoch,
            [
                IsrChange(
                    "t", 0, partition.leader, partition.leader_epoch, proposed, partition.partition_epoch, TOPIC_ID
                )
            ],
        )
        records, response = alter_partition(self.view, request)
        assert [one.error for one in response.partitions] == [ErrorCode.NONE]
        return records

    def state(self) -> dict[str, Any]:
        state = self.image.topics["t"].partitions[0]
        return {
            "leader": state.leader,
            "leader_epoch": state.leader_epoch,
            "isr": list(state.isr),
            "partition_epoch": state.partition_epoch,
            "elr": list(state.elr),
            "last_known_elr": list(state.last_known_elr),
            "recovering": state.recovering,
        }


def is_state(event: dict[str, Any]) -> bool:
    return "partition_epoch" in event


def on_registration(replay: Replay, change: dict[str, Any], state: dict[str, Any] | None) -> list[MetadataRecord]:
    """The records of the decision that wrote `change`.

    `state`: its neighbour, which the batch may have.
    """
    broker = BrokerId(change["broker"])
    if change["what"] == "fenced":
        return fence_broker(replay.view, broker)
    if change["what"] == "unfenced":
        return unfence_broker(replay.view, broker)
    if change["what"] == "in-controlled-shutdown":
        return begin_controlled_shutdown(replay.view, broker)
    assert change["what"] == "registered", change
    leaving: list[PartitionChangeRecord] = []
    if broker in replay.image.brokers and replay.view.gates.new_incarnation_leaves_isrs:
        leaving = leave_partitions(replay.view, broker, clean=True)
        if state is not None and not leaving:
            leaving = leave_partitions(replay.view, broker, clean=False)
    return [*leaving, *replay.registered(change)]


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_state_follows_from_the_one_before(path: Path) -> None:
    replay = Replay(path.parent.name, json.loads(path.read_text()))
    events = replay.events
    gap = 4 if "kraft-txn-" in path.parent.name else 1  # batches have states of the internal topics, too
    while events:
        event, after = events[0], events[1] if len(events) > 1 else None
        pair = after if after is not None and after["offset"] <= event["offset"] + gap else None
        state = event if is_state(event) else None
        change = None if is_state(event) else event
        if pair is not None and is_state(pair) != is_state(event):
            state, change = (event, pair) if is_state(event) else (pair, event)
        records: list[MetadataRecord] = []
        if change is not None and (change is event or change["what"] in ("fenced", "registered")):
            records = on_registration(replay, change, state)
        changed = any(isinstance(record, PartitionChangeRecord) for record in records)
        if not changed and state is not None and state is event:
            change = None  # the neighbour's batch is another one
            records = replay.altered(state) if "t" in replay.image.topics else replay.created(state)
        elif not changed:
            state = None
        replay.apply(records, event["offset"])
        if state is not None:
            assert replay.state() == {name: state[name] for name in replay.state()}, (state, change, records)
        assert state is not None or not changed, (change, records)
        events = events[(state is not None) + (change is not None) :]
