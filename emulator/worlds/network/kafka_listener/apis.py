"""APIs of the Kafka listener and their versions.

A broker advertises what its Kafka advertised (ADVERTISED), less what is not built (BUILT). So a client speaks
to an emulated old broker the versions that it speaks to a real one.
"""

from typing import Final, NamedTuple

from protocol.gates import Gates
from protocol.messages.administration import TOPICS_MAX
from protocol.messages.configuration import RESOURCES_MAX, SETTINGS_MAX
from protocol.messages.membership import OPAQUE_BYTES_MAX, PROTOCOLS_MAX
from protocol.messages.message_base import NAME_CHARACTERS_MAX
from protocol.messages.placement import REPLICAS_MAX
from protocol.versions import since

PRODUCE: Final = 0
FETCH: Final = 1
LIST_OFFSETS: Final = 2
METADATA: Final = 3
OFFSET_COMMIT: Final = 8
OFFSET_FETCH: Final = 9
FIND_COORDINATOR: Final = 10
JOIN_GROUP: Final = 11
HEARTBEAT: Final = 12
LEAVE_GROUP: Final = 13
SYNC_GROUP: Final = 14
DESCRIBE_GROUPS: Final = 15
LIST_GROUPS: Final = 16
SASL_HANDSHAKE: Final = 17
API_VERSIONS: Final = 18
CREATE_TOPICS: Final = 19
DELETE_TOPICS: Final = 20
DELETE_RECORDS: Final = 21
INIT_PRODUCER_ID: Final = 22
OFFSET_FOR_LEADER_EPOCH: Final = 23
ADD_PARTITIONS_TO_TXN: Final = 24
ADD_OFFSETS_TO_TXN: Final = 25
END_TXN: Final = 26
WRITE_TXN_MARKERS: Final = 27
TXN_OFFSET_COMMIT: Final = 28
DESCRIBE_ACLS: Final = 29
CREATE_ACLS: Final = 30
DELETE_ACLS: Final = 31
DESCRIBE_CONFIGS: Final = 32
ALTER_CONFIGS: Final = 33
ALTER_REPLICA_LOG_DIRS: Final = 34
DESCRIBE_LOG_DIRS: Final = 35
CREATE_PARTITIONS: Final = 37
DELETE_GROUPS: Final = 42
ELECT_LEADERS: Final = 43
INCREMENTAL_ALTER_CONFIGS: Final = 44
ALTER_PARTITION_REASSIGNMENTS: Final = 45
LIST_PARTITION_REASSIGNMENTS: Final = 46
OFFSET_DELETE: Final = 47
DESCRIBE_CLIENT_QUOTAS: Final = 48
ALTER_CLIENT_QUOTAS: Final = 49
DESCRIBE_USER_SCRAM_CREDENTIALS: Final = 50
ALTER_USER_SCRAM_CREDENTIALS: Final = 51
DESCRIBE_CLUSTER: Final = 60
DESCRIBE_PRODUCERS: Final = 61
DESCRIBE_TRANSACTIONS: Final = 65
LIST_TRANSACTIONS: Final = 66

FIRST_WITH_LISTENER: Final = "0.10.2"
"""First Kafka version with a listener: older brokers advertise no versions (KIP-35).

Clients of today do not support brokers without.
"""
FIRST_WITH_BATCHES: Final[dict[int, int]] = {PRODUCE: 3, FETCH: 4}
"""{API: the first version whose records are batches, magic 2}.

Kafka converts for older versions; the listener does not.
"""
FIRST_WITH_TIMESTAMPS: Final[dict[int, int]] = {PRODUCE: 2, FETCH: 2}
"""{API: the first version whose records are messages of magic 1}."""


FIRST_WITHOUT_OLD_VERSIONS: Final = "4.0"
"""First Kafka version without the protocol versions below OLDEST (KIP-896)."""
OLDEST: Final[dict[int, int]] = {
    PRODUCE: 3, FETCH: 4, LIST_OFFSETS: 1, OFFSET_COMMIT: 2, OFFSET_FETCH: 1, JOIN_GROUP: 2, CREATE_TOPICS: 2,
    DELETE_TOPICS: 1, OFFSET_FOR_LEADER_EPOCH: 2, DESCRIBE_ACLS: 1, CREATE_ACLS: 1, DELETE_ACLS: 1,
    DESCRIBE_CONFIGS: 1, ALTER_REPLICA_LOG_DIRS: 1, DESCRIBE_LOG_DIRS: 1, WRITE_TXN_MARKERS: 1,
}  # fmt: skip
"""{API: its oldest version from 4.0 on (KIP-896)}; 0 of the others.

Kafka itself advertises Produce from 0 on, and refuses 0 to 2 (KAFKA-18659).
"""


class Range(NamedTuple):
    """Range of versions, both ends included."""

    least: int
    most: int


ADVERTISED: Final[dict[int, tuple[tuple[str, int], ...]]] = {
    PRODUCE: (
        ("0.10.2", 2), ("0.11", 3), ("1.0", 5), ("2.0.0", 6), ("2.1", 7), ("2.4", 8), ("2.8", 9),
        ("3.7", 10), ("3.8", 11), ("4.0", 12), ("4.1", 13),
    ),
    FETCH: (
        ("0.10.2", 3), ("0.11", 5), ("1.0", 6), ("1.1", 7), ("2.0.0", 8), ("2.1", 10), ("2.3", 11), ("2.7", 12),
        ("3.1", 13), ("3.5", 15), ("3.7", 16), ("3.9", 17),
    ),
    LIST_OFFSETS: (
        ("0.10.2", 1), ("0.11", 2), ("2.0.0", 3), ("2.1", 4), ("2.2", 5), ("2.8", 6),
        ("3.0", 7), ("3.5", 8), ("3.9", 9),
    ),
    METADATA: (
        ("0.10.2", 2), ("0.11", 4), ("1.0", 5), ("2.0.0", 6), ("2.1", 7), ("2.3", 8), ("2.4", 9), ("2.8", 11),
        ("3.1", 12),
    ),
    OFFSET_COMMIT: (("0.10.2", 2), ("0.11", 3), ("2.0.0", 4), ("2.1", 6), ("2.3", 7), ("2.4", 8), ("3.7", 9)),
    OFFSET_FETCH: (
        ("0.10.2", 2), ("0.11", 3), ("2.0.0", 4), ("2.1", 5), ("2.4", 6), ("2.5", 7), ("3.0", 8), ("3.7", 9),
    ),
    FIND_COORDINATOR: (("0.10.2", 0), ("0.11", 1), ("2.0.0", 2), ("2.4", 3), ("3.0", 4), ("3.8", 5), ("3.9", 6)),
    JOIN_GROUP: (("0.10.2", 1), ("0.11", 2), ("2.0.0", 3), ("2.2", 4), ("2.3", 5), ("2.4", 6), ("2.5", 7), ("3.2", 9)),
    HEARTBEAT: (("0.10.2", 0), ("0.11", 1), ("2.0.0", 2), ("2.3", 3), ("2.4", 4)),
    LEAVE_GROUP: (("0.10.2", 0), ("0.11", 1), ("2.0.0", 2), ("2.4", 4), ("3.2", 5)),
    SYNC_GROUP: (("0.10.2", 0), ("0.11", 1), ("2.0.0", 2), ("2.3", 3), ("2.4", 4), ("2.5", 5)),
    DESCRIBE_GROUPS: (("0.10.2", 0), ("0.11", 1), ("2.0.0", 2), ("2.3", 3), ("2.4", 5)),
    LIST_GROUPS: (("0.10.2", 0), ("0.11", 1), ("2.0.0", 2), ("2.4", 3), ("2.6", 4), ("3.8", 5)),
    SASL_HANDSHAKE: (("0.10.2", 0), ("1.0", 1)),
    API_VERSIONS: (("0.10.2", 0), ("0.11", 1), ("2.0.0", 2), ("2.4", 3), ("3.9", 4)),
    CREATE_TOPICS: (("0.10.2", 1), ("0.11", 2), ("2.0.0", 3), ("2.4", 5), ("2.7", 6), ("2.8", 7)),
    DELETE_TOPICS: (("0.10.2", 0), ("0.11", 1), ("2.0.0", 2), ("2.1", 3), ("2.4", 4), ("2.7", 5), ("2.8", 6)),
    DELETE_RECORDS: (("0.11", 0), ("2.0.0", 1), ("2.6", 2)),
    INIT_PRODUCER_ID: (("0.11", 0), ("2.0.0", 1), ("2.4", 2), ("2.5", 3), ("2.7", 4), ("3.8", 5)),
    OFFSET_FOR_LEADER_EPOCH: (("0.11", 0), ("2.0.0", 1), ("2.1", 2), ("2.3", 3), ("2.8", 4)),
    ADD_PARTITIONS_TO_TXN: (("0.11", 0), ("2.0.0", 1), ("2.7", 2), ("2.8", 3), ("3.6", 4), ("3.8", 5)),
    ADD_OFFSETS_TO_TXN: (("0.11", 0), ("2.0.0", 1), ("2.7", 2), ("2.8", 3), ("3.8", 4)),
    END_TXN: (("0.11", 0), ("2.0.0", 1), ("2.7", 2), ("2.8", 3), ("3.8", 4), ("4.0", 5)),
    WRITE_TXN_MARKERS: (("0.11", 0), ("2.8", 1), ("4.2", 2)),
    TXN_OFFSET_COMMIT: (("0.11", 0), ("2.0.0", 1), ("2.1", 2), ("2.5", 3), ("3.8", 4), ("4.0", 5)),
    DESCRIBE_ACLS: (("0.11", 0), ("2.0.0", 1), ("2.5", 2)),
    CREATE_ACLS: (("0.11", 0), ("2.0.0", 1), ("2.5", 2)),
    DELETE_ACLS: (("0.11", 0), ("2.0.0", 1), ("2.5", 2)),
    DESCRIBE_CONFIGS: (("0.11", 0), ("1.1", 1), ("2.0.0", 2), ("2.6", 3), ("2.8", 4)),
    ALTER_CONFIGS: (("0.11", 0), ("2.0.0", 1), ("2.8", 2)),
    ALTER_REPLICA_LOG_DIRS: (("1.0", 0), ("2.0.0", 1), ("2.8", 2)),
    DESCRIBE_LOG_DIRS: (("1.0", 0), ("2.0.0", 1), ("2.6", 2), ("3.2", 3), ("3.3", 4)),
    CREATE_PARTITIONS: (("1.0", 0), ("2.0.0", 1), ("2.5", 2), ("2.7", 3)),
    DELETE_GROUPS: (("1.1", 0), ("2.0.0", 1), ("2.4", 2)),
    ELECT_LEADERS: (("2.2", 0), ("2.4", 2)),
    INCREMENTAL_ALTER_CONFIGS: (("2.3", 0), ("2.4", 1)),
    ALTER_PARTITION_REASSIGNMENTS: (("2.4", 0),),
    LIST_PARTITION_REASSIGNMENTS: (("2.4", 0),),
    OFFSET_DELETE: (("2.4", 0),),
    DESCRIBE_CLIENT_QUOTAS: (("2.6", 0), ("2.8", 1)),
    ALTER_CLIENT_QUOTAS: (("2.6", 0), ("2.8", 1)),
    DESCRIBE_USER_SCRAM_CREDENTIALS: (("2.7", 0),),
    ALTER_USER_SCRAM_CREDENTIALS: (("2.7", 0),),
    DESCRIBE_CLUSTER: (("2.8", 0), ("3.7", 1)),
    DESCRIBE_PRODUCERS: (("2.8", 0),),
    DESCRIBE_TRANSACTIONS: (("3.0", 0),),
    LIST_TRANSACTIONS: (("3.0", 0), ("3.8", 1), ("4.1", 2)),
}  # fmt: skip
"""{API: (first Kafka version, newest API version)}; the oldest is 0, or OLDEST.

Source: brokers' answers to ApiVersions; from 3.0 on the messages' definitions at the release tags.
"""

BUILT: Final[dict[int, Range]] = {
    PRODUCE: Range(2, 12),  # later ones name topics by ids
    FETCH: Range(2, 12),
    LIST_OFFSETS: Range(0, 6),
    METADATA: Range(0, 9),  # later ones name topics by ids
    OFFSET_COMMIT: Range(2, 8),
    OFFSET_FETCH: Range(1, 7),
    FIND_COORDINATOR: Range(0, 3),
    JOIN_GROUP: Range(0, 7),
    HEARTBEAT: Range(0, 4),
    LEAVE_GROUP: Range(0, 4),
    SYNC_GROUP: Range(0, 5),
    DESCRIBE_GROUPS: Range(0, 5),
    LIST_GROUPS: Range(0, 4),
    SASL_HANDSHAKE: Range(0, 1),
    API_VERSIONS: Range(0, 4),
    CREATE_TOPICS: Range(0, 7),
    DELETE_TOPICS: Range(0, 6),
    DELETE_RECORDS: Range(0, 2),
    INIT_PRODUCER_ID: Range(0, 5),
    OFFSET_FOR_LEADER_EPOCH: Range(0, 4),
    ADD_PARTITIONS_TO_TXN: Range(0, 5),
    ADD_OFFSETS_TO_TXN: Range(0, 4),
    END_TXN: Range(0, 5),
    WRITE_TXN_MARKERS: Range(0, 2),
    TXN_OFFSET_COMMIT: Range(0, 5),
    DESCRIBE_ACLS: Range(0, 2),
    CREATE_ACLS: Range(0, 2),
    DELETE_ACLS: Range(0, 2),
    DESCRIBE_CONFIGS: Range(0, 4),
    ALTER_CONFIGS: Range(0, 2),
    ALTER_REPLICA_LOG_DIRS: Range(0, 2),
    DESCRIBE_LOG_DIRS: Range(0, 2),
    CREATE_PARTITIONS: Range(0, 3),
    DELETE_GROUPS: Range(0, 2),
    ELECT_LEADERS: Range(0, 2),
    INCREMENTAL_ALTER_CONFIGS: Range(0, 1),
    ALTER_PARTITION_REASSIGNMENTS: Range(0, 0),
    LIST_PARTITION_REASSIGNMENTS: Range(0, 0),
    OFFSET_DELETE: Range(0, 0),
    DESCRIBE_CLIENT_QUOTAS: Range(0, 1),
    ALTER_CLIENT_QUOTAS: Range(0, 1),
    DESCRIBE_USER_SCRAM_CREDENTIALS: Range(0, 0),
    ALTER_USER_SCRAM_CREDENTIALS: Range(0, 0),
    DESCRIBE_CLUSTER: Range(0, 0),
    DESCRIBE_PRODUCERS: Range(0, 0),
    DESCRIBE_TRANSACTIONS: Range(0, 0),
    LIST_TRANSACTIONS: Range(0, 1),  # later ones have a pattern of ids
}

LIMITS: Final[dict[int, dict[str, int]]] = {
    OFFSET_COMMIT: {"group_instance_id": NAME_CHARACTERS_MAX},
    JOIN_GROUP: {
        "group_instance_id": NAME_CHARACTERS_MAX, "protocols": PROTOCOLS_MAX, "metadata": OPAQUE_BYTES_MAX,
    },
    HEARTBEAT: {"group_instance_id": NAME_CHARACTERS_MAX},
    LEAVE_GROUP: {"group_instance_id": NAME_CHARACTERS_MAX},
    SYNC_GROUP: {"group_instance_id": NAME_CHARACTERS_MAX, "assignment": OPAQUE_BYTES_MAX},
    TXN_OFFSET_COMMIT: {"group_instance_id": NAME_CHARACTERS_MAX},
    CREATE_TOPICS: {"topics": TOPICS_MAX},
    DESCRIBE_CONFIGS: {"resources": RESOURCES_MAX, "configuration_keys": SETTINGS_MAX},
    ALTER_CONFIGS: {"resources": RESOURCES_MAX, "configs": SETTINGS_MAX},
    CREATE_PARTITIONS: {"topics": TOPICS_MAX},
    INCREMENTAL_ALTER_CONFIGS: {"resources": RESOURCES_MAX, "configs": SETTINGS_MAX},
    ALTER_PARTITION_REASSIGNMENTS: {"replicas": REPLICAS_MAX},
}  # fmt: skip
"""{API: {field: maximum entries, characters or bytes}}, where our messages have less room.

With them every decoded request is a valid message of ours.
"""


def apis_of(gates: Gates) -> dict[int, Range]:
    """{API: versions that this broker advertises}, in order of the keys."""
    first = FIRST_WITH_BATCHES if gates.record_magic >= 2 else FIRST_WITH_TIMESTAMPS
    oldest = OLDEST if since(gates.binary, FIRST_WITHOUT_OLD_VERSIONS) else {}
    spoken: dict[int, Range] = {}
    for key, steps in sorted(ADVERTISED.items()):
        reached = [most for version, most in steps if since(gates.binary, version)]
        built = BUILT.get(key)
        if not reached or built is None:
            continue
        range_ = Range(max(built.least, first.get(key, 0), oldest.get(key, 0)), min(built.most, reached[-1]))
        if range_.least <= range_.most:
            spoken[key] = range_
    return spoken
