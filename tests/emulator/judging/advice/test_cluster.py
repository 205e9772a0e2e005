"""Advice about a cluster of one's own.
a topology as `up` takes it, or so many brokers in so many AZs.
"""

from pathlib import Path

import pytest
from msgspec.structs import replace

from emulator.judging.advice.advice import options_of, parts_of
from emulator.judging.advice.advice_cluster import THREE_AZS, Cluster, of_counts, of_file
from emulator.judging.advice.advice_runs import AdviceWorker, Base, Choice, base_of, text_of
from emulator.judging.advice.outcomes import Outcome
from emulator.judging.advice.single_faults import single_faults
from emulator.judging.campaigns.space import UnusableSpace
from emulator.packaged import COMPOSE
from emulator.scenario.load import load_scenario
from emulator.settings.setting_registry import UnusableSetting

ALL = ("producer.acks=all",)
COUNTED = {"1 in 1": of_counts(1, 1), "2 in 2": of_counts(2, 2), "5 in 2": of_counts(5, 2)}
CLUSTERS = {**COUNTED, "six": of_file("six-brokers")}


def choice_and_base(cluster: Cluster, overrides: tuple[str, ...] = ALL) -> tuple[Choice, Base]:
    choice = Choice(cluster.version, overrides)
    return choice, base_of(choice, None, cluster)


def outcome_of(cluster: Cluster, name: str) -> Outcome:
    choice, base = choice_and_base(cluster)
    base = replace(base, faults=tuple(fault for fault in base.faults if fault.name == name))
    assert len(base.faults) == 1
    return AdviceWorker(options_of(choice, base, (1,))).play(0)[1]


def test_a_replica_is_in_each_az_as_far_as_there_are_brokers() -> None:
    assert {name: cluster.holders() for name, cluster in CLUSTERS.items()} == {
        "1 in 1": (0,), "2 in 2": (0, 1), "5 in 2": (0, 1, 2), "six": (0, 1, 2),
    }  # fmt: skip
    assert of_counts(6, 2).holders(5) == (0, 1, 2, 3, 4)
    assert choice_and_base(of_counts(6, 3), (*ALL, "default.replication.factor=5"))[1].cluster.holders() == (
        0,
        1,
        2,
        3,
        4,
    )


@pytest.mark.parametrize("name", CLUSTERS)
def test_every_fault_of_a_cluster_is_a_scenario_of_it(name: str) -> None:
    cluster = CLUSTERS[name]
    choice, base = choice_and_base(cluster)
    about = options_of(choice, base, (1,))
    names = [fault.name for fault in base.faults]
    assert len(set(names)) == len(names)
    for moment in dict.fromkeys(fault.moment for fault in base.faults):
        place = next(place for place, fault in enumerate(base.faults) if fault.moment == moment)
        read = load_scenario(text_of(about, 0, place), f"{names[place]}.yaml")
        assert set(read.topology.nodes) == set(cluster.topology.nodes)
    struck = {node for fault in base.faults for node in fault.ends}
    assert struck >= {*cluster.names("broker"), *cluster.names("session")}


def test_a_file_has_nodes_version_and_settings_and_the_command_line_overrides_it() -> None:
    dedicated = of_file(str(COMPOSE / "dedicated-controllers.yml"))
    choice, base = choice_and_base(dedicated, (*ALL, "min.insync.replicas=2"))
    assert (base.version, base.settings["zookeeper.session.timeout.ms"]) == ("2.6", 6000)
    assert base.settings["min.insync.replicas"] == 2
    assert any(fault.name == "controller-1-crashes-load" for fault in base.faults)
    text = text_of(options_of(choice, base, (1,)), 0, 0)
    assert '{"start":"controller-0"}' in text and "tickTime" in text


def test_what_only_one_broker_is_given_stays_its_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.yml"
    text = (COMPOSE / "three-az.yml").read_text(encoding="utf-8")
    path.write_text(text.replace('KAFKA_MIN_INSYNC_REPLICAS: "1"', 'KAFKA_MIN_INSYNC_REPLICAS: "2"'), encoding="utf-8")
    assert of_file(str(path)).settings["min.insync.replicas"] == 2
    own = replace(THREE_AZS, by_broker={1: {"log.flush.interval.messages": 1}})
    choice, base = choice_and_base(own)
    read = load_scenario(text_of(options_of(choice, base, (1,)), 0, 0), "own.yaml")
    assert read.settings_by_broker == {1: {"log.flush.interval.messages": 1}}
    choice, base = choice_and_base(own, (*ALL, "log.flush.interval.messages=5"))
    assert "settings_by_broker" not in text_of(options_of(choice, base, (1,)), 0, 0), "as with `up`: the last word"


def test_runs_of_other_clusters_count_and_a_majority_of_session_servers_comes_back_first() -> None:
    six = outcome_of(CLUSTERS["six"], "az-0-crashes-load")
    assert (six.inconclusive, set(six.writes.waited_ms)) == ("", {"az-0", "az-1", "az-2"})
    two = outcome_of(CLUSTERS["2 in 2"], "az-0-crashes-load")
    assert two.inconclusive == "" and min(two.writes.waited_ms.values()) > 20_000
    assert outcome_of(CLUSTERS["1 in 1"], "broker-0-crashes-load").inconclusive == ""


def test_the_default_is_three_azs_as_always() -> None:
    faults = single_faults(6_000.0, 30_000.0)
    assert len(faults) == 71 and faults == single_faults(6_000.0, 30_000.0, of_counts(3, 3))


@pytest.mark.parametrize(
    ("overrides", "reported"),
    [
        (("default.replication.factor=4",), "--set: default.replication.factor=4 must not be more than the brokers, 3"),
        ((*ALL, "min.insync.replicas=4"), "min.insync.replicas=4 must not be more than the replicas, 3"),
        ((*ALL, "topic.min.insync.replicas=3", "default.replication.factor=2"), "than default.replication.factor=2"),
    ],
)
def test_with_nothing_to_write_there_is_nothing_to_request(overrides: tuple[str, ...], reported: str) -> None:
    with pytest.raises(UnusableSetting, match=reported):
        choice_and_base(THREE_AZS, overrides)


def test_acks_1_ignores_the_number_in_sync() -> None:
    assert choice_and_base(THREE_AZS, ("producer.acks=1", "min.insync.replicas=4"))[1].replicas == 3


@pytest.mark.parametrize(("brokers", "azs"), [(0, 1), (3, 0), (2, 3), (31, 3)])
def test_counts_that_make_no_cluster(brokers: int, azs: int) -> None:
    with pytest.raises(UnusableSpace):
        of_counts(brokers, azs)


def files_of_each(folder: Path, *own: str) -> Choice:
    """A server.properties for each broker, as they lie on three machines.
    broker.id says whose each is.
    """
    found = []
    for broker, lines in enumerate(own):
        path = folder / f"server-{broker}.properties"
        path.write_text(f"broker.id={broker}\n{lines}")
        found.append(str(path))
    return Choice("2.8", ALL, tuple(found))


def test_brokers_with_files_of_their_own_and_equal_settings_are_as_one(tmp_path: Path) -> None:
    lines = "default.replication.factor=2\nmin.insync.replicas=1\nunclean.leader.election.enable=true\n"
    choice = files_of_each(tmp_path, lines, lines, f"{lines}log.flush.interval.messages=1\n")
    base = base_of(choice, None)
    assert base.replicas == 2
    assert {name: base.settings.get(name) for name in ("default.replication.factor", "min.insync.replicas")} == {
        "default.replication.factor": 2, "min.insync.replicas": 1,
    }  # fmt: skip
    assert base.by_broker == {2: {"log.flush.interval.messages": 1}}
    places = [f"server-{broker}.properties:3" for broker in range(3)]
    assert [place.rpartition("/")[2] for place in base.sources["min.insync.replicas"].split(", ")] == places
    assert base.sources["broker-2: log.flush.interval.messages"].endswith("server-2.properties:5")
    parts = {part.word for part in parts_of(base)}
    assert parts >= {"min.insync.replicas=2", "unclean.leader.election.enable=false", "log.flush.interval.messages=1"}
    text = text_of(options_of(choice, base, (1,)), 0, 0)
    assert '"assignment":[0,1]}' in text


def test_unwritable_topics_are_reported_for_files_of_each_broker_too(tmp_path: Path) -> None:
    lines = "min.insync.replicas=3\ndefault.replication.factor=2\n"
    with pytest.raises(UnusableSetting, match=r"server-0.properties:2 .*min.insync.replicas=3 must not be more than"):
        base_of(files_of_each(tmp_path, lines, lines, lines), None)
    many = "default.replication.factor=4\n"
    with pytest.raises(UnusableSetting, match=r"default.replication.factor=4 must not be more than the brokers, 3"):
        base_of(files_of_each(tmp_path, many, many, many), None)


def test_of_brokers_that_differ_one_that_lacks_it_is_enough_for_a_change(tmp_path: Path) -> None:
    safe, unsafe = "min.insync.replicas=2\n", "min.insync.replicas=1\nunclean.leader.election.enable=true\n"
    factors = ("default.replication.factor=2\n", "default.replication.factor=3\n", "default.replication.factor=3\n")
    own = [lines + factor for lines, factor in zip((safe, safe, unsafe), factors, strict=True)]
    base = base_of(files_of_each(tmp_path, *own), None)
    parts = {part.word for part in parts_of(base)}
    assert parts >= {"min.insync.replicas=2", "unclean.leader.election.enable=false"}
    assert base.replicas == 3
    (warning,) = base.warnings
    reported = "(broker-0: 2, broker-1: 3, broker-2: 3): the topic has 3 replicas"
    assert warning == f"brokers differ in default.replication.factor {reported}"
