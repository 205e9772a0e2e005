"""Settings of producers and consumers: Kafka's names, and the defaults of each version.

Users write Kafka's names (`request.timeout.ms`); fields are the same with underscores. Where a version changed a
default, the table has the version (semantics 7). An unknown name is an error that names the nearest one.
"""

import difflib
from collections.abc import Mapping
from typing import Any, Literal, TypeVar

import msgspec

from emulator.machines.client.assignors import assignors_named
from emulator.machines.client.client_versions import SAFE_SINCE, idempotent_by_default
from emulator.machines.client.partitioner import Keyless
from emulator.machines.client.transaction_behaviour import TransactionBehaviour, transaction_behaviour
from emulator.settings.client_rules import broken_of_producer, too_rare_heartbeats
from protocol.gates import gates_for
from protocol.messages.replication_messages import READ_COMMITTED, READ_UNCOMMITTED
from protocol.messages.workload_messages import READ_COMMITTED_LEVEL, IsolationLevel
from protocol.records.compression import Compression
from protocol.versions import since

RETRIES_MAX = (1 << 31) - 1

SequenceRecovery = Literal["reset", "retry", "bump"]
"""Reaction of an idempotent producer to errors 45 and 59.

- reset (0.11): takes a new producer id, the batch fails.
- retry (1.0 to 2.4): retries what is not next in line or was reset, else as above.
- bump (2.5 and later, KIP-360): raises its epoch, numbers the partition's batches from 0 again and retries.
"""


class UnusableSetting(ValueError):
    """An unknown name, a value of the wrong kind, or a combination that Kafka refuses."""


class ClientSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings shared by producers and consumers. All names end with their unit."""

    request_timeout_ms: float = 30_000.0
    retry_backoff_ms: float = 100.0
    metadata_max_age_ms: float = 300_000.0
    reconnect_backoff_ms: float = 50.0
    reconnect_backoff_max_ms: float = 1_000.0
    socket_connection_setup_timeout_ms: float = 136_000.0
    """Limit for connecting.

    Before 2.7 there is none: the operating system gives up first, ten SYNs and 133.2 to 135.4 s later.
    """
    socket_connection_setup_timeout_max_ms: float = 136_000.0
    # Behaviour of a version's clients (semantics 6), no settings of Kafka's: choice of node, pauses, then metadata.
    prefers_connected: bool = True
    connects_to_least_recent: bool = True
    pause_counts_from_attempt: bool = False
    pauses_grow: bool = True
    rejects_older_epochs: bool = False
    epochless_forgets_all: bool = False
    rejected_hides_leader: bool = False
    first_epoch_may_come_with_an_offset: bool = False
    needs_reliable_epochs: bool = False
    knows_topic_ids: bool = False


class ProducerSettings(ClientSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of a producer. `acks` -1 is all."""

    acks: int = 1
    retries: int = 0
    delivery_timeout_ms: float | None = None
    """Limit from append to the end, all retries included; None before 2.1, which had none."""
    batches_expire: bool = True
    """Without that limit `request.timeout.ms` bounds each wait in the queue.

    Gate `client_batches_expire`.
    """
    max_in_flight_requests_per_connection: int = 5
    linger_ms: float = 0.0
    batch_size: int = 16_384
    buffer_memory: int = 33_554_432
    max_request_size: int = 1_048_576
    max_block_ms: float = 60_000.0
    enable_idempotence: bool = False
    transactional_id: str = ""
    """Empty: no transactions."""
    transaction_timeout_ms: float = 60_000.0
    """Limit of a transaction, from its first partition on; the coordinator then aborts it."""
    transaction_behaviour: TransactionBehaviour | None = None
    """Behaviour of the version with transactions. Not a setting either."""
    compression_type: Compression = "none"
    magic: Literal[0, 1, 2] = 2
    """Record format written. Not a setting of Kafka's: it follows the client's version."""
    sequence_recovery: SequenceRecovery = "bump"
    ignores_failures_of_old_epochs: bool = False
    """With `bump`: a failure of an earlier epoch raises no new one (gate of this name)."""
    numbers_idle_partitions_on: bool = False
    """With `bump`: a new epoch begins at 0 only if batches were under way (gate of this name)."""
    keyless: Keyless = "sticky"
    """Distribution of records without a key by the default partitioner. Not a setting either."""
    answer_timeout_ms: float | None = None
    """Limit for a response; None: `request.timeout.ms`, which also goes to the broker.

    librdkafka separates them (`socket.timeout.ms`), so that it sees error 7 where the Java client disconnects.
    """

    @property
    def wait_ms(self) -> float:
        """Time after which a request without a response costs the connection."""
        return self.request_timeout_ms if self.answer_timeout_ms is None else self.answer_timeout_ms


class ConsumerSettings(ClientSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of a consumer.

    `auto_offset_reset`: smallest and largest are the old consumer's names for earliest and latest.
    """

    fetch_max_wait_ms: int = 500
    fetch_min_bytes: int = 1
    fetch_max_bytes: int = 52_428_800
    max_partition_fetch_bytes: int = 1_048_576
    fetch_version: int = 12
    """Version of its FETCH. Not a setting.

    Below 3 it cannot read a message that is larger than max.partition.fetch.bytes.
    Below 11 it reads from leaders alone.
    """
    client_rack: str = ""
    """Its AZ: a leader with a RackAwareReplicaSelector names a replica there (KIP-392).

    Empty: it reads from leaders.
    """
    forgets_preferred_replica: bool = True
    """Gate `client_forgets_preferred_replica`. Not a setting either."""
    group_id: str = ""
    """Empty: the consumer commits nothing, and begins at its reset policy's offset."""
    enable_auto_commit: bool = True
    auto_commit_interval_ms: float = 5_000.0
    default_api_timeout_ms: float | None = None
    """Limit of a synchronous commit with retries (KIP-266); None before 2.0, which had none."""
    offsets_storage: Literal["kafka", "zookeeper"] = "kafka"
    """zookeeper: the old consumer (up to 1.1), through a session of its own."""
    zookeeper_session_timeout_ms: float = 6_000.0
    auto_offset_reset: Literal["earliest", "latest", "none", "smallest", "largest"] = "latest"
    isolation_level: IsolationLevel = "read_uncommitted"
    session_timeout_ms: int = 10_000
    heartbeat_interval_ms: int = 3_000
    max_poll_interval_ms: int = 300_000
    """Time that the group waits for this member to join again, too."""
    group_instance_id: str = ""
    """Id of a static member (KIP-345, 2.3 on); empty: none."""
    partition_assignment_strategy: str = "RangeAssignor"
    """Classes, with commas, the preferred first: `assignors`."""
    # Behaviour of a version's members of groups, no settings of Kafka's (gates of these names).
    join_version: int = 7
    """Version of its JOIN_GROUP; from 4 on a new member first receives its id."""
    disconnects_lost_coordinator: bool = True
    join_waits_for_rebalance: bool = True
    stays_member_when_commit_meets_rebalance: bool = True
    reports_lost_partitions: bool = True
    reads_while_it_joins: bool = True
    resets_block_poll: bool = False
    heartbeats_while_rebalancing: bool = True
    ignores_refusals_of_old_generations: bool = True
    retries_commits_to_unknown_topics: bool = True
    subscription_version: int = 1
    """Version of its subscription for the group's leader; 1 has its owned partitions (2.4 on)."""
    requests_stable_offsets: bool = False
    list_offsets_version: int = 5
    gives_what_precedes_damage: bool = True
    reports_truncation: bool = True
    validates_epochs: bool = False
    """2.3 and later: positions carry leader epochs, and truncation is detected (KIP-320)."""


RENAMED_BY_LIBRDKAFKA = {"message.timeout.ms": "delivery.timeout.ms", "socket.timeout.ms": "answer.timeout.ms"}
SHARED_WITH_LIBRDKAFKA = (
    "acks", "request.timeout.ms", "delivery.timeout.ms", "socket.connection.setup.timeout.ms", "retries",
    "retry.backoff.ms", "reconnect.backoff.ms", "reconnect.backoff.max.ms", "linger.ms", "batch.size",
    "enable.idempotence", "compression.type", "metadata.max.age.ms", "max.in.flight.requests.per.connection",
)  # fmt: skip
LIBRDKAFKA_NAMES = {
    **{name: name for name in SHARED_WITH_LIBRDKAFKA},
    "message.timeout.ms": "delivery.timeout.ms",
    "socket.timeout.ms": "request.timeout.ms",
}
"""Names for `librdkafka_settings`, with the Kafka producer's setting of equal values."""

S = TypeVar("S", bound=ClientSettings)


def producer_settings(version: str, settings: Mapping[str, Any] | None = None) -> ProducerSettings:
    """Settings of a Java producer of `version`, explicit ones by Kafka's names.

    Raises UnusableSetting, protocol.versions.UnknownVersion.
    """
    given = _one_pause(_fields(ProducerSettings, settings or {}))
    if "acks" in given:
        given["acks"] = _acks(given["acks"])
    gates = gates_for(version)
    values: dict[str, Any] = _common_defaults(version)
    values["magic"] = gates.record_magic
    values["batches_expire"] = gates.client_batches_expire
    values["sequence_recovery"] = (
        "bump" if since(version, "2.5") else "retry" if gates.remembered_batches > 1 else "reset"
    )
    values["ignores_failures_of_old_epochs"] = gates.client_ignores_failures_of_old_epochs
    values["numbers_idle_partitions_on"] = gates.client_numbers_idle_partitions_on
    values["keyless"] = "sticky" if since(version, "2.4") else "round-robin"  # KIP-480
    if since(version, "2.1"):
        values |= {"retries": RETRIES_MAX, "delivery_timeout_ms": 120_000.0}
    if since(version, SAFE_SINCE):
        values["acks"] = -1
        if "enable_idempotence" not in given:
            given["enable_idempotence"] = idempotent_by_default(version, version, settings or {})
    if given.get("transactional_id"):
        given.setdefault("enable_idempotence", True)
    if given.get("enable_idempotence"):
        values |= {"acks": -1, "retries": RETRIES_MAX}
        values["max_in_flight_requests_per_connection"] = gates.remembered_batches
    made = _made(ProducerSettings, values | given)
    for _, broken in broken_of_producer(version, _named(msgspec.structs.asdict(made)), _named(given)):
        raise UnusableSetting(broken)
    if made.delivery_timeout_ms is not None:
        least = made.linger_ms + made.request_timeout_ms
        made = msgspec.structs.replace(made, delivery_timeout_ms=max(made.delivery_timeout_ms, least))
    if made.transactional_id:
        made = msgspec.structs.replace(made, transaction_behaviour=transaction_behaviour(version, version))
    return made


def librdkafka_settings(settings: Mapping[str, Any] | None = None) -> ProducerSettings:
    """Settings of a librdkafka producer (2.x), as the recording retry-idempotent uses one.

    `message.timeout.ms` is its name for delivery.timeout.ms, `socket.timeout.ms` for the wait for a response.
    """
    given = _fields(ProducerSettings, settings or {}, RENAMED_BY_LIBRDKAFKA)
    if given.get("transactional_id"):
        raise UnusableSetting("transactional.id: transactions of librdkafka are not modelled; use library java")
    if "acks" in given:
        given["acks"] = _acks(given["acks"])
    values: dict[str, Any] = {
        "acks": -1,
        "retries": RETRIES_MAX,
        "delivery_timeout_ms": 300_000.0,
        "answer_timeout_ms": 60_000.0,
        "linger_ms": 5.0,
        "reconnect_backoff_ms": 100.0,
        "reconnect_backoff_max_ms": 10_000.0,
        "socket_connection_setup_timeout_ms": 30_000.0,
        "socket_connection_setup_timeout_max_ms": 30_000.0,
        "rejects_older_epochs": True,
    }
    return _made(ProducerSettings, values | given)


def consumer_settings(version: str, settings: Mapping[str, Any] | None = None) -> ConsumerSettings:
    """Settings of a Java consumer of `version`.

    Raises UnusableSetting, protocol.versions.UnknownVersion.
    """
    values = _common_defaults(version)
    values |= _behaviour(version)
    if since(version, "2.0.0"):
        values["default_api_timeout_ms"] = 60_000.0
    else:
        values["request_timeout_ms"] = 305_000.0
    if since(version, "3.0"):  # KIP-735, KIP-726
        values["session_timeout_ms"] = 45_000
        values["partition_assignment_strategy"] = "RangeAssignor,CooperativeStickyAssignor"
    if not gates_for(version).group_coordinator:
        values |= {"session_timeout_ms": 1_000, "partition_assignment_strategy": ""}
    if (settings or {}).get("offsets.storage", "kafka") != "kafka":
        raise UnusableSetting("offsets.storage=zookeeper is the old consumer's")
    if (settings or {}).get("group.id") and not gates_for(version).group_coordinator:
        raise UnusableSetting(f"group.id needs the new consumer, Kafka 0.9 or later, or the old one: not {version}")
    made = _made(ConsumerSettings, values | _one_pause(_fields(ConsumerSettings, settings or {})))
    if made.isolation_level == READ_COMMITTED_LEVEL and not gates_for(version).transactions:
        raise UnusableSetting(f"isolation.level=read_committed needs Kafka 0.11 or later, not {version}")
    if made.group_instance_id and not gates_for(version).static_members:
        raise UnusableSetting(f"group.instance.id came with Kafka 2.3; there are no static members in {version}")
    if made.group_id:
        try:
            assignors_named(made.partition_assignment_strategy, version)
        except ValueError as problem:
            raise UnusableSetting(f"partition.assignment.strategy: {problem}") from problem
        if problem_text := too_rare_heartbeats(made.session_timeout_ms, made.heartbeat_interval_ms):
            raise UnusableSetting(problem_text)
    return made


def isolation_of(settings: ConsumerSettings) -> int:
    """Isolation of Fetch and ListOffsets."""
    return READ_COMMITTED if settings.isolation_level == READ_COMMITTED_LEVEL else READ_UNCOMMITTED


def _behaviour(version: str) -> dict[str, Any]:
    """Behaviour of a version's consumer with positions and its group."""
    gates = gates_for(version)
    return {
        "fetch_version": gates.consumer_fetch_version,
        "forgets_preferred_replica": gates.client_forgets_preferred_replica,
        "gives_what_precedes_damage": gates.client_gives_what_precedes_damage,
        "reports_truncation": gates.client_reports_truncation,
        "validates_epochs": gates.consumer_epoch_validation,
        "requests_stable_offsets": gates.client_requests_stable_offsets,
        "list_offsets_version": gates.consumer_list_offsets_version,
        "join_version": 7 if gates.new_members_are_named_first else 3,
        "disconnects_lost_coordinator": gates.client_disconnects_lost_coordinator,
        "join_waits_for_rebalance": gates.client_join_waits_for_rebalance,
        "stays_member_when_commit_meets_rebalance": gates.client_stays_member_when_commit_meets_rebalance,
        "reports_lost_partitions": gates.client_reports_lost_partitions,
        "reads_while_it_joins": gates.client_reads_while_it_joins,
        "resets_block_poll": gates.client_resets_block_poll,
        "heartbeats_while_rebalancing": gates.client_heartbeats_while_rebalancing,
        "ignores_refusals_of_old_generations": gates.client_ignores_refusals_of_old_generations,
        "retries_commits_to_unknown_topics": gates.client_retries_commits_to_unknown_topics,
        "subscription_version": 1 if gates.client_reports_lost_partitions else 0,
    }


def old_consumer_settings(version: str, settings: Mapping[str, Any] | None = None) -> ConsumerSettings:
    """Settings of the old (Scala) consumer of `version`, which keeps its offsets in ZooKeeper.

    Its own names: `auto.commit.enable`; smallest and largest. Raises UnusableSetting, UnknownVersion.
    """
    if not gates_for(version).old_consumer:
        raise UnusableSetting(f"the old consumer was removed in Kafka 2.0; there is none in {version}")
    renamed = {"auto.commit.enable": "enable.auto.commit"}
    given = _fields(ConsumerSettings, {renamed.get(name, name): value for name, value in (settings or {}).items()})
    if given.get("offsets_storage", "zookeeper") != "zookeeper":
        raise UnusableSetting("the old consumer's offsets.storage=kafka is not modelled")
    values = _common_defaults(version) | {
        "offsets_storage": "zookeeper",
        "retry_backoff_ms": 200.0,  # refresh.leader.backoff.ms
        "fetch_version": gates_for(version).consumer_fetch_version,
        "auto_commit_interval_ms": 60_000.0,
        "auto_offset_reset": "largest",
        "fetch_max_wait_ms": 100,
    }
    return _made(ConsumerSettings, values | given)


def _common_defaults(version: str) -> dict[str, Any]:
    gates = gates_for(version)
    values: dict[str, Any] = {
        "prefers_connected": gates.client_prefers_connected_brokers,
        "connects_to_least_recent": gates.client_connects_to_least_recent,
        "pause_counts_from_attempt": gates.client_pause_counts_from_attempt,
        "pauses_grow": gates.client_pauses_grow,
        "rejects_older_epochs": gates.client_ignores_older_epochs,
        "epochless_forgets_all": gates.metadata_without_epoch_forgets_all,
        "rejected_hides_leader": gates.ignored_metadata_hides_leader,
        "first_epoch_may_come_with_an_offset": gates.first_epoch_may_come_with_an_offset,
        "needs_reliable_epochs": gates.client_needs_reliable_epochs,
        "knows_topic_ids": gates.client_knows_topic_ids,
    }
    if not since(version, "0.11"):  # KIP-144 brought the longest pause
        values["reconnect_backoff_ms"] = values["reconnect_backoff_max_ms"] = 50.0 if since(version, "0.9") else 10.0
    if since(version, "2.7"):
        values["socket_connection_setup_timeout_ms"] = 10_000.0  # KIP-601
        values["socket_connection_setup_timeout_max_ms"] = 30_000.0 if since(version, "2.8") else 127_000.0
    return values


def _one_pause(given: dict[str, Any]) -> dict[str, Any]:
    """Set the longest pause to the shortest, if only that is explicit.

    Source: CommonClientConfigs of Java clients.
    """
    if "reconnect_backoff_ms" in given and "reconnect_backoff_max_ms" not in given:
        return given | {"reconnect_backoff_max_ms": given["reconnect_backoff_ms"]}
    return given


def _acks(given: object) -> int:
    """Number of an `acks` value. Raises UnusableSetting."""
    numbers = {"all": -1, "-1": -1, "0": 0, "1": 1}
    if isinstance(given, bool) or str(given) not in numbers:
        raise UnusableSetting(f"acks: expected all, -1, 0 or 1, got {given!r}")
    return numbers[str(given)]


def _fields(kind: type[S], settings: Mapping[str, Any], renamed: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Values by field for values by Kafka's name. `renamed`: a library's other names."""
    known = {field.replace("_", "."): field for field in kind.__struct_fields__}
    values = {}
    for given, value in settings.items():
        name = (renamed or {}).get(given, given)
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0)
            raise UnusableSetting(f"unknown setting {name!r}; the nearest known one is {near[0]}")
        values[known[name]] = value
    return values


def _named(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Values by Kafka's name for values by field."""
    return {field.replace("_", "."): value for field, value in fields.items()}


def _made(kind: type[S], values: dict[str, Any]) -> S:
    try:
        return msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        field = str(error).rpartition("$.")[2].rstrip("`").replace("_", ".")
        raise UnusableSetting(f"{error} (setting {field})") from error
