"""Drawn KRaft clusters: files that are read back, faults of controllers, judged runs."""

import pytest

from emulator.judging.explain.metadata_log_checks import broken_states
from emulator.judging.fuzzing.execute import tried
from emulator.judging.fuzzing.fault_generator import SPACE
from emulator.judging.fuzzing.finding_files import read, readable
from emulator.judging.fuzzing.fuzz_search import HuntOptions
from emulator.scenario import scenario_model as m
from emulator.topology import KRAFT
from protocol.ids import BrokerId, LeaderEpoch, Offset
from protocol.records.metadata_records import (
    BrokerRegistrationChangeRecord,
    MetadataBatch,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
)

SEEDS = range(60)
TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAQ"


def test_versions_without_zookeeper_are_drawn_in_kraft() -> None:
    assert HuntOptions("4.4").scenario(0).topology.metadata == KRAFT
    assert HuntOptions("3.9").scenario(0).topology.metadata != KRAFT
    assert HuntOptions("3.9", metadata=KRAFT).scenario(0).topology.metadata == KRAFT


@pytest.mark.parametrize("version", ["3.3", "4.4"])
def test_a_drawn_cluster_is_read_back_from_its_file(version: str) -> None:
    for number in SEEDS:
        scenario = HuntOptions(version, metadata=KRAFT).scenario(number)
        again = read(readable(scenario), scenario.id)
        assert again is not None, readable(scenario)
        assert again.topology == scenario.topology
        assert (again.settings, len(again.steps)) == (scenario.settings, len(scenario.steps))


def test_voters_change_and_snapshots_are_written_where_kafka_can() -> None:
    """Also with a pause of the leader meanwhile. Read back with the first voters."""
    scenarios = [HuntOptions("4.4", space=SPACE).scenario(number) for number in SEEDS]
    changing = [one for one in scenarios if one.topology.initial_controllers]
    assert 5 < len(changing) < len(scenarios)
    assert any("metadata.max.retention.bytes" in one.settings for one in scenarios)
    for one in changing:
        again = read(readable(one), one.id)
        assert again is not None and again.topology == one.topology
        assert len(one.topology.voters) > len(one.topology.first_voters) == 3
    steps = {type(step) for one in changing for step in m.plain_steps(one.steps)}
    assert {m.AddController, m.RemoveController} <= steps
    older = [HuntOptions("3.8", metadata=KRAFT, space=SPACE).scenario(number) for number in SEEDS]
    assert not any(one.topology.initial_controllers for one in older)


def test_faults_hit_controllers_apart_and_combined() -> None:
    scenarios = [HuntOptions("4.4").scenario(number) for number in SEEDS]
    combined = [one for one in scenarios if "controller" in one.topology.node("broker-0").roles]
    assert 0 < len(combined) < len(scenarios)
    hit = {
        type(step)
        for scenario in scenarios
        for step in m.plain_steps(scenario.steps)
        if isinstance(step, m.MachineStep) and str(step.node).startswith("controller")
    }
    assert {m.Kill, m.PauseNode, m.PowerLoss, m.Start} <= hit


# 4.4, 8: snapshots that nodes load at other offsets than their records had.
@pytest.mark.parametrize(("version", "number"), [("3.9", 3), ("4.4", 7), ("4.4", 8)])
def test_a_run_keeps_its_promises(version: str, number: int) -> None:
    trial = tried(HuntOptions(version, 7, metadata=KRAFT, space=SPACE).scenario(number), number)
    assert not trial.error and not [one for one in trial.broken if not one.known]


# --- the metadata log ---


def batches(*records: MetadataRecord) -> list[MetadataBatch]:
    """A log with three registered, unfenced brokers and a partition.

    Each record follows in a batch of its own.
    """
    first: list[MetadataRecord] = []
    for number in range(3):
        broker = BrokerId(number)
        life = f"AAAAAAAAAAAAAAAAAAAAA{'AQg'[number]}"
        first += [
            RegisterBrokerRecord(broker, life, number, f"broker-{number}", "", True),
            BrokerRegistrationChangeRecord(broker, number, fenced=-1),
        ]
    replicas = (BrokerId(0), BrokerId(1), BrokerId(2))
    first.append(TopicRecord("t", TOPIC_ID))
    first.append(PartitionRecord(TOPIC_ID, 0, replicas, replicas[:2], BrokerId(0), LeaderEpoch(0), 0))
    found = [MetadataBatch(Offset(0), len(first), LeaderEpoch(1), tuple(first))]
    for record in records:
        end = found[-1].end
        found.append(MetadataBatch(Offset(end), end + 1, LeaderEpoch(1), (record,)))
    return found


def broken(*records: MetadataRecord) -> list[str]:
    return [one.what for one in broken_states(batches(*records))]


def test_lawful_states_are_accepted() -> None:
    shrink = PartitionChangeRecord(TOPIC_ID, 0, isr=(BrokerId(0),))
    elected = PartitionChangeRecord(TOPIC_ID, 0, leader=1, isr=(BrokerId(1),))
    assert broken() == [] and broken(shrink) == [] and broken(elected) == []


def test_an_election_outside_the_isr_is_found() -> None:
    assert "election" in broken(PartitionChangeRecord(TOPIC_ID, 0, leader=2, isr=(BrokerId(2),)))
    unclean = PartitionChangeRecord(TOPIC_ID, 0, leader=2, isr=(BrokerId(2),), recovering=True)
    assert "election" not in broken(unclean)


def test_two_decisions_in_one_batch_are_two_changes() -> None:
    joined = PartitionChangeRecord(TOPIC_ID, 0, isr=(BrokerId(0), BrokerId(1), BrokerId(2)))
    elected = PartitionChangeRecord(TOPIC_ID, 0, leader=2)
    log = batches()
    end = log[-1].end
    log.append(MetadataBatch(Offset(end), end + 2, LeaderEpoch(1), (joined, elected)))
    assert [one.what for one in broken_states(log)] == []
    assert broken(elected, joined) != []


def test_fenced_leaders_and_members_are_found() -> None:
    assert broken(BrokerRegistrationChangeRecord(BrokerId(0), 0, fenced=1)) == ["fenced-leader", "fenced-in-isr"]
    assert broken(BrokerRegistrationChangeRecord(BrokerId(1), 1, fenced=1)) == ["fenced-in-isr"]


def test_a_leader_outside_its_isr_and_a_shared_elr_are_found() -> None:
    assert "state" in broken(PartitionChangeRecord(TOPIC_ID, 0, isr=(BrokerId(1),)))
    assert "state" in broken(PartitionChangeRecord(TOPIC_ID, 0, elr=(BrokerId(1),)))
