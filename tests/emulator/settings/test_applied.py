"""Files of one version and topology.

Settings in force, dropped, passed on, set here, or errors.
"""

import pytest

from emulator.settings.account import Dropped, SetHere
from emulator.settings.applied import Layer, applied, values_of
from emulator.settings.properties_files import UnusableFile, settings_file, wanted

AZS = {0: "az-0", 1: "az-1", 2: "az-2"}


def apply(*files: tuple[str, str], version: str = "2.6") -> Layer:
    """(word of --settings, text)"""
    requested = [(wanted(word), text) for word, text in files]
    return applied([settings_file(one, one.path, text.encode()) for one, text in requested], version, AZS)


def problems(word: str, text: str, version: str = "2.6") -> list[str]:
    with pytest.raises(UnusableFile) as raised:
        apply((word, text), version=version)
    return str(raised.value).splitlines()


def test_values_have_their_type_and_their_place() -> None:
    layer = apply(("server.properties", "\nnum.partitions = 3\nunclean.leader.election.enable=TRUE\n"))
    assert values_of(layer.cluster) == {"num.partitions": 3, "unclean.leader.election.enable": True}
    assert layer.cluster["num.partitions"].where == "server.properties:2"


def test_later_files_come_before_earlier_ones_and_a_brokers_own_are_apart() -> None:
    layer = apply(
        ("a-server.properties", "num.partitions=1\nnum.io.threads=1"),
        ("b-server.properties", "num.partitions=2"),
        ("broker-1:c.properties", "num.partitions=3"),
        ("d-server.properties", "broker.id=2\nnum.partitions=4"),
    )
    assert values_of(layer.cluster) == {"num.partitions": 2, "num.io.threads": 1}
    assert values_of(layer.by_broker[1]) == {"num.partitions": 3}
    assert values_of(layer.by_broker[2]) == {"broker.id": 2, "num.partitions": 4}
    assert layer.warnings == []


def test_clients_topics_and_the_session_service_have_their_kind_before_the_name() -> None:
    layer = apply(
        ("producer.properties", "acks=all"),
        ("consumer.properties", "fetch.min.bytes=1"),
        ("topic.properties", "retention.ms=5"),
        ("zoo.cfg", "tickTime=2000\nserver.1=a:2888:3888"),
    )
    assert values_of(layer.cluster) == {
        "producer.acks": "all",
        "consumer.fetch.min.bytes": 1,
        "topic.retention.ms": 5,
        "tickTime": 2000,
    }
    assert layer.set_here == [SetHere("server.1", "the topology sets it", "zoo.cfg:2")]


def test_a_file_for_one_broker_by_its_id_is_reported_where_others_have_none() -> None:
    (reported,) = apply(("server.properties", "broker.id=1")).warnings
    assert reported == "server.properties is broker-1's, by its broker.id; for all brokers: " \
        "--settings broker:server.properties"  # fmt: skip
    assert apply(("broker:server.properties", "broker.id=1")).warnings == []
    everyone = [(f"server-{broker}.properties", f"broker.id={broker}") for broker in AZS]
    assert apply(*everyone).warnings == []


def test_what_the_version_does_not_have_is_dropped_with_a_word() -> None:
    layer = apply(("server.properties", "replica.lag.max.messages=1\nprocess.roles=broker\nport=1"))
    assert layer.dropped == [
        Dropped("replica.lag.max.messages", "not a setting of Kafka 2.6: it went after 0.8.2", "server.properties:1"),
        Dropped("process.roles", "not a setting of Kafka 2.6: it came with 2.8", "server.properties:2"),
    ]
    assert "replica.lag.max.messages" not in layer.cluster


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("acks=all", "it is a producer's setting, not a broker's"),
        ("session.timeout.ms=1", "it is a consumer's setting, not a broker's"),
        ("leader.replication.throttled.rate=1", "it is given to running brokers only, by kafka-configs"),
    ],
)
def test_what_a_broker_does_not_read_from_a_file_is_dropped(line: str, why: str) -> None:
    assert [dropped.why for dropped in apply(("server.properties", line)).dropped] == [why]


def test_a_slip_is_an_error_and_a_foreign_name_is_passed_on() -> None:
    text = "log.retention.hour=1\nconfluent.balancer.enable=true\nnum.io.threads=x\nmin.insync.replicas=0"
    assert problems("server.properties", text) == [
        "server.properties:1: unknown setting 'log.retention.hour'; nearest: log.retention.hours",
        "server.properties:3: num.io.threads: expected a whole number of threads, got 'x'",
        "server.properties:4: min.insync.replicas: expected a whole number of replicas, at least 1, got 0",
    ]
    assert apply(("server.properties", "confluent.balancer.enable=true")).passed_on == ["confluent.balancer.enable"]


def test_a_value_without_a_name_is_an_error() -> None:
    assert problems("server.properties", "port=1\n=x") == ["server.properties:2: a value without a name: 'x'"]


def test_topics_have_no_plug_ins() -> None:
    assert problems("topic.properties", "my.own=1") == ["topic.properties:1: 'my.own' is not a setting of a topic"]
    assert problems("topic.properties", "retention=1") == [
        "topic.properties:1: 'retention' is not a setting of a topic; nearest: retention.ms"
    ]


def test_a_listeners_own_settings_are_known_by_the_name_behind() -> None:
    names = ["listener.name.a.ssl.keystore.location", "listener.name.a.scram-sha-256.sasl.jaas.config"]
    layer = apply(("server.properties", "=x\n".join([*names, "config.providers.file.class"]) + "=x"))
    assert layer.harmless == [*names, "config.providers.file.class"]
    assert problems("server.properties", "listener.name.a.ssl.keystore.lokation=x") == [
        "server.properties:1: unknown setting 'listener.name.a.ssl.keystore.lokation'; nearest: ssl.keystore.location"
    ]


@pytest.mark.parametrize(
    ("given", "folders", "instead"),
    [
        ("/var/lib/kafka", "", "a broker's disk"),
        ("/data/d-0, /data/d-1/", "d-0,d-1", "folders d-0, d-1 of a broker's disk"),
        ("/disk0/kafka,/disk1/kafka", "d0,d1", "folders d0, d1 of a broker's disk"),
        ("/a b,/c.d", "a_b,c_d", "folders a_b, c_d of a broker's disk"),
        ("/kafka/log${ID}", "", "a broker's disk"),
    ],
)
def test_directories_become_folders_of_a_brokers_disk(given: str, folders: str, instead: str) -> None:
    layer = apply(("server.properties", f"log.dirs={given}"))
    assert layer.cluster["log.dirs"].value == folders
    assert layer.set_here == [SetHere("log.dirs", instead, "server.properties:1")]


def test_a_directory_that_is_there_twice_is_refused() -> None:
    assert problems("server.properties", "log.dirs=/a,/b,/a") == [
        "server.properties:1: log.dirs: a directory is there twice: '/a,/b,/a'"
    ]


def test_a_rack_must_be_the_az_or_is_reported_as_set_by_the_topology() -> None:
    assert apply(("broker-0:s", "broker.rack=az-0")).set_here == []
    assert [one.instead for one in apply(("broker-0:s", "broker.rack=r1")).set_here] == [
        "the AZ of the topology, az-0 of broker-0"
    ]
    assert [one.instead for one in apply(("broker:s", "broker.rack=az-0")).set_here] == [
        "the AZ of the topology, az-0 of broker-0, az-1 of broker-1, az-2 of broker-2"
    ]


def test_a_broker_that_is_not_there_is_an_error() -> None:
    there = "there is no broker-7 in the topology (broker-0, broker-1, broker-2)"
    assert problems("broker-7:s.properties", "port=1") == [f"s.properties: {there}"]
    assert problems("server.properties", "broker.id=7") == [
        f"server.properties: {there}; for all of them: --settings broker:server.properties"
    ]


def test_a_placeholder_is_an_error_where_its_value_matters() -> None:
    assert apply(("server.properties", "ssl.key.password=${P}")).harmless == ["ssl.key.password"]
    assert problems("server.properties", "min.insync.replicas=${M}") == [
        "server.properties:1: min.insync.replicas: '${M}' is not filled in"
    ]


def test_a_protocol_newer_than_the_binary_is_an_error_with_its_place() -> None:
    assert problems("server.properties", "\ninter.broker.protocol.version=2.8") == [
        "server.properties:2: inter.broker.protocol.version 2.8 is newer than the binary 2.6"
    ]
