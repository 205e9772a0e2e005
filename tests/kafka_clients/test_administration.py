"""Topics made and deleted, groups listed and deleted, by librdkafka's admin client."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import OFFSET_END, KafkaError, KafkaException, Producer
from confluent_kafka import TopicPartition as ConfluentPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclBindingFilter, AclOperation, AclPermissionType
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from confluent_kafka.cimpl import NewPartitions, NewTopic
from kafka import KafkaAdminClient, KafkaConsumer, OffsetAndMetadata
from kafka import TopicPartition as PythonPartition

import faultline
from protocol.versions import since
from tests.kafka_clients.capabilities import works
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.network

LIMIT_S = PATIENCE_S


def error_of(done: Callable[[], object]) -> int:
    try:
        done()
    except KafkaException as error:
        refused: KafkaError = error.args[0]
        return refused.code()
    return 0


@works("librdkafka", "topics created, deleted (0.10.2: with `delete.topic.enable`)")
def test_topics_are_made_refused_and_deleted(cluster: faultline.Cluster, topic: str, version: str) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers("az-2")})
    new = f"made-by-{topic}"

    def create(topic: str = new, **about: Any) -> Callable[[], object]:
        futures = admin.create_topics([NewTopic(topic, **about)], operation_timeout=LIMIT_S)
        return next(iter(futures.values())).result

    assert error_of(create(num_partitions=4, replication_factor=3, config={"min.insync.replicas": "2"})) == 0
    deadline = time.monotonic() + LIMIT_S
    while len((found := admin.list_topics(new, timeout=LIMIT_S).topics[new]).partitions) < 4:
        assert time.monotonic() < deadline, "whichever broker was asked"
    assert {len(partition.replicas) for partition in found.partitions.values()} == {3}
    assert error_of(create(num_partitions=4, replication_factor=3)) == KafkaError.TOPIC_ALREADY_EXISTS
    assert error_of(create(topic="x1", num_partitions=1, replication_factor=4)) == KafkaError.INVALID_REPLICATION_FACTOR
    assert error_of(create(topic="no/name", num_partitions=1, replication_factor=1)) == KafkaError.TOPIC_EXCEPTION
    assert error_of(create(topic="x2", num_partitions=1, replication_factor=1, config={"no.such": "1"})) == 40
    placed = create(topic=f"placed-{topic}", num_partitions=2, replica_assignment=[[2, 0], [1, 2]])
    assert error_of(placed) == 0
    about = cluster.status()["partitions"]
    assert f"placed-{topic}-1" in about and "x1-0" not in about and "x2-0" not in about
    if not since(version, "1.0"):  # delete.topic.enable is off by default
        gone = admin.delete_topics([new], operation_timeout=LIMIT_S)
        assert error_of(gone[new].result) == KafkaError.INVALID_REQUEST
        return
    gone = admin.delete_topics([new, "never-there"], operation_timeout=LIMIT_S)
    assert error_of(gone["never-there"].result) == KafkaError.UNKNOWN_TOPIC_OR_PART
    assert error_of(gone[new].result) == 0
    while new in admin.list_topics(timeout=LIMIT_S).topics:
        assert time.monotonic() < deadline


@works("librdkafka", "groups listed, described, deleted", "1.1")
def test_groups_are_listed_described_and_deleted(cluster: faultline.Cluster, topic: str) -> None:
    from tests.kafka_clients.test_groups import member, places, until

    servers, group = cluster.bootstrap_servers(), f"g-{topic}"
    consumer = member(servers, group, topic, client_id="app")
    until(lambda: places(consumer) == [0, 1], consumer)
    admin = AdminClient({"bootstrap.servers": servers})
    described = admin.describe_consumer_groups([group])[group].result(LIMIT_S)
    assert [(m.client_id, len(m.assignment.topic_partitions)) for m in described.members] == [("app", 2)]
    assert group in {one.group_id for one in admin.list_consumer_groups().result(LIMIT_S).valid}
    assert error_of(lambda: admin.delete_consumer_groups([group])[group].result(LIMIT_S)) == KafkaError.NON_EMPTY_GROUP
    consumer.close()
    deadline = time.monotonic() + LIMIT_S
    while error_of(lambda: admin.delete_consumer_groups([group])[group].result(LIMIT_S)):
        assert time.monotonic() < deadline
    assert group not in {one.group_id for one in admin.list_consumer_groups().result(LIMIT_S).valid}


@works("librdkafka", "a topic on first use")
def test_a_topic_is_made_by_being_used(cluster: faultline.Cluster, topic: str) -> None:
    """With num.partitions and default.replication.factor as Kafka's defaults are."""
    servers, new = cluster.bootstrap_servers("az-0"), f"used-{topic}"
    producer = Producer({"bootstrap.servers": servers, "acks": "all", "topic.metadata.refresh.interval.ms": 500})
    producer.produce(new, b"first")
    assert producer.flush(LIMIT_S) == 0
    found = AdminClient({"bootstrap.servers": servers}).list_topics(new, timeout=LIMIT_S).topics[new]
    assert [len(partition.replicas) for partition in found.partitions.values()] == [1]


@works("librdkafka", "settings told and changed (one by one since 2.3)", "0.11")
def test_settings_are_described_and_changed(cluster: faultline.Cluster, topic: str, version: str) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers("az-1")})

    def reported(kind: str, name: str) -> dict[str, ConfigEntry]:
        of = ConfigResource(kind, name)
        found: dict[str, ConfigEntry] = admin.describe_configs([of])[of].result(LIMIT_S)
        return found

    def change(name: str, value: str) -> int:
        if since(version, "2.3"):
            single = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
            of = ConfigResource("topic", topic, incremental_configs=[single])
            return error_of(lambda: admin.incremental_alter_configs([of])[of].result(LIMIT_S))
        of = ConfigResource("topic", topic, set_config={name: value})
        with pytest.warns(DeprecationWarning, match="alter_configs"):
            return error_of(lambda: admin.alter_configs([of])[of].result(LIMIT_S))

    before = reported("topic", topic)["max.message.bytes"]
    assert before.is_default and not before.is_read_only
    assert change("max.message.bytes", "200") == 0
    after = reported("topic", topic)["max.message.bytes"]
    assert (after.value, after.is_default) == ("200", False)
    assert reported("broker", "1")["broker.rack"].value == "az-1"
    assert change("max.message.bytes", "many") == KafkaError.INVALID_REQUEST
    assert change("no.such", "1") == KafkaError.INVALID_CONFIG
    assert change("retention.ms", "1000") == KafkaError.POLICY_VIOLATION, "logs keep everything here"
    deadline = time.monotonic() + LIMIT_S
    while _written(cluster, topic) != KafkaError.MSG_SIZE_TOO_LARGE:
        assert time.monotonic() < deadline, "it holds for the logs"


def _written(cluster: faultline.Cluster, topic: str) -> int:
    reported: list[int] = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers(), "linger.ms": 0})
    producer.produce(
        topic,
        bytes(1000),
        partition=0,
        on_delivery=lambda error, message: reported.append(error.code() if error else 0),
    )
    assert producer.flush(LIMIT_S) == 0
    return reported[0]


@works("librdkafka", "partitions added", "1.0")
def test_a_topic_grows(cluster: faultline.Cluster, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers()})

    def grow(partitions: int, *placed: list[int]) -> int:
        new = NewPartitions(topic, partitions, **({"replica_assignment": list(placed)} if placed else {}))
        return error_of(lambda: admin.create_partitions([new])[topic].result(LIMIT_S))

    assert grow(4, [2, 1, 0], [0, 1, 2]) == 0
    assert grow(2) == grow(4) == KafkaError.INVALID_PARTITIONS
    assert grow(5, [0, 1]) == grow(5, [0, 1, 7]) == KafkaError.INVALID_REPLICA_ASSIGNMENT
    assert grow(6) == 0
    assert len(admin.list_topics(topic, timeout=LIMIT_S).topics[topic].partitions) == 6


@works("kafka-python", "elections, reassignments; log directories; committed offsets deleted", "2.4")
def test_leaders_and_replicas_move(cluster: faultline.Cluster, topic: str) -> None:
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers().split(","))
    place = PythonPartition(topic, 0)
    deadline = time.monotonic() + LIMIT_S

    def described() -> tuple[int, list[int]]:
        (about,) = admin.describe_topics([topic])
        (partition,) = (one for one in about["partitions"] if one["partition_index"] == 0)
        return partition["leader_id"], partition["replica_nodes"]

    def until(wanted: tuple[int, list[int]]) -> None:
        while described() != wanted:
            assert time.monotonic() < deadline, described()

    admin.alter_partition_reassignments({place: [1, 0]})
    until((0, [1, 0]))
    assert admin.list_partition_reassignments() == {}
    admin.elect_leaders(0, {topic: [0]})
    until((1, [1, 0]))
    found = {
        broker["broker"]: [one["name"] for log_dir in broker["log_dirs"] for one in log_dir["topics"]]
        for broker in admin.describe_log_dirs()
    }
    assert [broker for broker, topics in sorted(found.items()) if topic in topics] == [0, 1, 2], "t-1 is on all"
    consumer = KafkaConsumer(bootstrap_servers=cluster.bootstrap_servers().split(","), group_id=f"g-{topic}")
    consumer.assign([place])
    consumer.commit({place: OffsetAndMetadata(0, "", -1)})
    consumer.close()
    assert list(admin.list_group_offsets(f"g-{topic}")) != []
    admin.delete_group_offsets(f"g-{topic}", [place])
    assert place not in admin.list_group_offsets(f"g-{topic}")
    admin.close()


@works("librdkafka", "records deleted", "1.1")
def test_records_are_deleted_on_every_replica(cluster: faultline.Cluster, topic: str) -> None:
    servers = cluster.bootstrap_servers("az-1")
    producer = Producer({"bootstrap.servers": servers, "acks": "all", "linger.ms": 0})
    for number in range(6):
        producer.produce(topic, f"v{number}".encode(), partition=0)
        producer.flush(LIMIT_S)
    admin = AdminClient({"bootstrap.servers": servers})

    def delete(offset: int, name: str = topic) -> Any:
        wanted = ConfluentPartition(name, 0, offset)
        futures = admin.delete_records([wanted], request_timeout=LIMIT_S, operation_timeout=LIMIT_S)
        return next(iter(futures.values()))

    assert delete(4).result().low_watermark == 4
    replicas = cluster.status()["partitions"][f"{topic}-0"]
    assert len(replicas) == 3 and {one["log_start"] for one in replicas.values()} == {4}
    assert error_of(delete(7).result) == KafkaError.OFFSET_OUT_OF_RANGE
    assert error_of(delete(1, "__consumer_offsets").result) in (
        KafkaError.TOPIC_EXCEPTION, KafkaError.UNKNOWN_TOPIC_OR_PART,
    )  # fmt: skip
    assert delete(OFFSET_END).result().low_watermark == 6


@works("kafka-python", "records deleted", "1.1")
def test_kafka_python_deletes_records(cluster: faultline.Cluster, topic: str) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers("az-1"), "acks": "all"})
    for value in "abc":
        producer.produce(topic, value, partition=0)
    producer.flush(LIMIT_S)
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers("az-1"))
    try:
        reported = admin.delete_records({PythonPartition(topic, 0): 2})
    finally:
        admin.close()
    assert reported[PythonPartition(topic, 0)]["low_watermark"] == 2
    consumer = KafkaConsumer(bootstrap_servers=cluster.bootstrap_servers("az-1"))
    try:
        assert consumer.beginning_offsets([PythonPartition(topic, 0)]) == {PythonPartition(topic, 0): 2}
    finally:
        consumer.close()


@works("librdkafka", "ACLs asked for, where there is no authorizer", "0.11")
def test_a_broker_without_an_authorizer_has_no_acls(cluster: faultline.Cluster, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers()})
    anybody = ("User:a", "*", AclOperation.READ, AclPermissionType.ALLOW)
    one = AclBinding(ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, *anybody)
    which = AclBindingFilter(ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, *anybody)
    disabled = KafkaError.SECURITY_DISABLED
    assert error_of(admin.create_acls([one])[one].result) == disabled
    assert error_of(admin.delete_acls([which])[which].result) == disabled


@works("kafka-python", "guesses the broker's version from its APIs")
def test_a_client_takes_a_broker_for_as_old_as_it_is(cluster: faultline.Cluster, version: str) -> None:
    consumer = KafkaConsumer(bootstrap_servers=cluster.bootstrap_servers().split(","))
    assert (version + ".").startswith(".".join(map(str, consumer.config["api_version"])) + ".")
    consumer.close()
