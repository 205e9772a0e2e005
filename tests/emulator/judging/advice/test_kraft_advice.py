"""Advice about clusters in KRaft mode, from the settings files that Kafka 4.x comes with."""

from pathlib import Path

import msgspec
import pytest

from emulator.cli.command_options import AdviseOptions
from emulator.cli.commands.advise_cluster import for_all_brokers, requested_cluster
from emulator.judging.advice.advice import Advice, advise, options_of, parts_of
from emulator.judging.advice.advice_cluster import THREE_AZS, Cluster, of_counts
from emulator.judging.advice.advice_runs import Choice, FaultPlayer, base_of, text_of
from emulator.judging.advice.recommendation import COSTS
from emulator.judging.campaigns.space import UnusableSpace
from emulator.runs.settings_files import read_settings_files
from emulator.scenario.load import load_scenario
from emulator.topology import KRAFT, NoSuchMode, three_azs

SHIPPED = Path(__file__).parents[2] / "settings/files"
SERVER, BROKER, CONTROLLER = (
    str(SHIPPED / f"kafka-4-{name}.properties") for name in ("server", "broker", "controller")
)
LAST_STANDING = "broker-0-loses-power-alone"
SEPARATE, COMBINED = of_counts(3, 3, KRAFT), of_counts(3, 3, KRAFT, combined=True)


def cluster_of(*files: str, **options: str) -> Cluster:
    return requested_cluster(AdviseOptions(**options), read_settings_files(files))  # type: ignore[arg-type]


def advised(cluster: Cluster, version: str, overrides: tuple[str, ...], files: tuple[str, ...]) -> Advice:
    """Advice about the last replica in sync, which loses its power."""
    choice = Choice(version, overrides, for_all_brokers(files)[0])
    base = base_of(choice, version, cluster)
    base = msgspec.structs.replace(base, faults=tuple(one for one in base.faults if one.name == LAST_STANDING))
    return advise(options_of(choice, base, (1,)), base, lambda: None, FaultPlayer(1))


@pytest.mark.parametrize(
    ("files", "options", "topology"),
    [
        ((SERVER,), {}, COMBINED.topology),
        ((BROKER, CONTROLLER), {}, SEPARATE.topology),
        ((SERVER,), {"controllers": "separate"}, SEPARATE.topology),
        ((), {"kafka_version": "3.9"}, SEPARATE.topology),
        ((), {"kafka_version": "3.9", "metadata": "zookeeper"}, THREE_AZS.topology),
        ((), {"kafka_version": "3.2"}, THREE_AZS.topology),
        ((), {"controllers": "combined"}, COMBINED.topology),
        ((), {"metadata": "kraft", "topology": "kraft-three-az"}, three_azs(metadata=KRAFT)),
        ((SERVER,), {"kafka_version": "4.0", "topology": "three-az"}, three_azs(metadata=KRAFT, combined=True)),
    ],
)
def test_files_options_and_version_choose_the_cluster(
    files: tuple[str, ...], options: dict[str, str], topology: object
) -> None:
    assert cluster_of(*files, **options).topology == topology


def test_a_mode_that_there_is_not_is_refused() -> None:
    with pytest.raises(NoSuchMode):
        cluster_of(kafka_version="4.0", metadata="zookeeper")
    with pytest.raises(NoSuchMode):
        cluster_of(kafka_version="2.8", metadata="kraft")
    with pytest.raises(UnusableSpace, match="--controllers combined: of KRaft alone"):
        cluster_of(kafka_version="3.9", metadata="zookeeper", controllers="combined")


def test_the_only_file_of_a_broker_counts_for_all_brokers() -> None:
    words, (note,) = for_all_brokers((CONTROLLER, BROKER))
    assert words == (CONTROLLER, f"broker:{BROKER}")
    assert note.endswith("kafka-4-broker.properties: is broker-2's by its id; here it counts for all brokers")
    assert for_all_brokers((BROKER, SERVER)) == ((BROKER, SERVER), ())


@pytest.mark.parametrize("cluster", [SEPARATE, COMBINED], ids=["separate", "combined"])
def test_every_fault_is_a_scenario_and_knows_the_controllers(cluster: Cluster) -> None:
    choice = Choice("4.4")
    base = base_of(choice, "4.4", cluster)
    options = options_of(choice, base, (1,))
    for place, fault in enumerate(base.faults):
        read = load_scenario(text_of(options, 0, place), f"{fault.name}.yaml")
        assert read.topology == cluster.topology
    names = {fault.name for fault in base.faults}
    assert len(names) == len(base.faults)
    assert "az-1-loses-the-controllers-of-other-azs-load" in names and not any("session" in name for name in names)
    of_nodes = {"controller-1-is-paused-load", "controller-1-is-cut-off-load", "every-controller-crashes-election"}
    assert names & of_nodes == (of_nodes if cluster.dedicated else set())


def test_controllers_start_before_brokers() -> None:
    assert SEPARATE.servers_in("az-1") == ["controller-1", "broker-1"]
    assert of_counts(3, 3).servers_in("az-1") == ["session-1", "broker-1"]


def test_parts_of_a_change_follow_version_and_mode() -> None:
    def words(version: str, cluster: Cluster, *overrides: str) -> set[str]:
        return {part.word for part in parts_of(base_of(Choice(version, overrides), version, cluster))}

    eligible, acks, idempotent = (
        "eligible.leader.replicas.version=1", "producer.acks=all", "producer.enable.idempotence=true",
    )  # fmt: skip
    assert words("4.0", SEPARATE) >= {eligible, "--kafka-version 4.4"}
    assert words("4.0", SEPARATE, "producer.acks=1") >= {acks, idempotent}
    assert words("4.4", SEPARATE) == {"min.insync.replicas=2", "log.flush.interval.messages=1"}
    assert words("4.4", SEPARATE, "eligible.leader.replicas.version=0") >= {eligible}
    assert "--kafka-version 3.9" in words("3.3", THREE_AZS) and "--kafka-version 2.8" in words("2.6", THREE_AZS)
    assert {word.split("=")[0] for word in (eligible, acks, idempotent)} <= COSTS.keys()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "overrides", "files", "change"),
    [
        ("4.0", ("min.insync.replicas=2",), (BROKER, CONTROLLER), ("eligible.leader.replicas.version=1",)),
        ("4.4", (), (SERVER,), ("min.insync.replicas=2",)),
    ],
)
def test_what_eligible_leader_replicas_end_is_found_from_shipped_settings(
    version: str, overrides: tuple[str, ...], files: tuple[str, ...], change: tuple[str, ...]
) -> None:
    """KIP-966: followers stop in order, and the last replica in sync loses its tail."""
    advice = advised(cluster_of(*files, kafka_version=version), version, overrides, files)
    lost = next(one for one in advice.summaries[0].broken if one.check == "lost-acknowledged")
    assert "acks=all" in lost.reason and "with its power it lost what was not flushed" in lost.reason
    assert advice.remedies["lost-acknowledged", LAST_STANDING] == change
