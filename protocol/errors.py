"""Kafka's error codes, as one table.

A response carries a code. `retriable`: the producer may retry. `definite`: the
operation certainly did not take effect; an indefinite code leaves that open (7 and 20 even
mean that the record *is* in the leader's log). `refresh`: the client requests new metadata first.
Source: semantics 7 and the "Producer" part of 6.
"""

from enum import IntEnum
from typing import Final

import msgspec


class ErrorCode(IntEnum):
    """Codes under Kafka's names (those of 2.6 and later where a name changed)."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2
    UNKNOWN_TOPIC_OR_PARTITION = 3
    LEADER_NOT_AVAILABLE = 5
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    BROKER_NOT_AVAILABLE = 8
    REPLICA_NOT_AVAILABLE = 9
    MESSAGE_TOO_LARGE = 10
    STALE_CONTROLLER_EPOCH = 11
    OFFSET_METADATA_TOO_LARGE = 12
    NETWORK_EXCEPTION = 13
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    INVALID_TOPIC_EXCEPTION = 17
    RECORD_LIST_TOO_LARGE = 18
    NOT_ENOUGH_REPLICAS = 19
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
    INVALID_REQUIRED_ACKS = 21
    ILLEGAL_GENERATION = 22
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25
    INVALID_SESSION_TIMEOUT = 26
    REBALANCE_IN_PROGRESS = 27
    INVALID_COMMIT_OFFSET_SIZE = 28
    TOPIC_AUTHORIZATION_FAILED = 29
    CLUSTER_AUTHORIZATION_FAILED = 31
    INVALID_TIMESTAMP = 32
    UNSUPPORTED_SASL_MECHANISM = 33
    ILLEGAL_SASL_STATE = 34
    UNSUPPORTED_VERSION = 35
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_REPLICA_ASSIGNMENT = 39
    INVALID_CONFIG = 40
    NOT_CONTROLLER = 41
    INVALID_REQUEST = 42
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43
    POLICY_VIOLATION = 44
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    DUPLICATE_SEQUENCE_NUMBER = 46
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    INVALID_PRODUCER_ID_MAPPING = 49
    INVALID_TRANSACTION_TIMEOUT = 50
    CONCURRENT_TRANSACTIONS = 51
    TRANSACTION_COORDINATOR_FENCED = 52
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
    SECURITY_DISABLED = 54
    OPERATION_NOT_ATTEMPTED = 55
    KAFKA_STORAGE_ERROR = 56
    LOG_DIR_NOT_FOUND = 57
    UNKNOWN_PRODUCER_ID = 59
    REASSIGNMENT_IN_PROGRESS = 60
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    FETCH_SESSION_ID_NOT_FOUND = 70
    INVALID_FETCH_SESSION_EPOCH = 71
    LISTENER_NOT_FOUND = 72
    TOPIC_DELETION_DISABLED = 73
    FENCED_LEADER_EPOCH = 74
    UNKNOWN_LEADER_EPOCH = 75
    UNSUPPORTED_COMPRESSION_TYPE = 76
    STALE_BROKER_EPOCH = 77
    OFFSET_NOT_AVAILABLE = 78
    MEMBER_ID_REQUIRED = 79
    PREFERRED_LEADER_NOT_AVAILABLE = 80
    GROUP_MAX_SIZE_REACHED = 81
    FENCED_INSTANCE_ID = 82
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83
    ELECTION_NOT_NEEDED = 84
    NO_REASSIGNMENT_IN_PROGRESS = 85
    GROUP_SUBSCRIBED_TO_TOPIC = 86
    INVALID_RECORD = 87
    UNSTABLE_OFFSET_COMMIT = 88
    PRODUCER_FENCED = 90
    RESOURCE_NOT_FOUND = 91
    DUPLICATE_RESOURCE = 92
    UNACCEPTABLE_CREDENTIAL = 93
    INVALID_UPDATE_VERSION = 95
    SNAPSHOT_NOT_FOUND = 98
    POSITION_OUT_OF_RANGE = 99
    UNKNOWN_TOPIC_ID = 100
    DUPLICATE_BROKER_REGISTRATION = 101
    BROKER_ID_NOT_REGISTERED = 102
    TRANSACTIONAL_ID_NOT_FOUND = 105
    INELIGIBLE_REPLICA = 107
    NEW_LEADER_ELECTED = 108
    TRANSACTION_ABORTABLE = 120
    INVALID_VOTER_KEY = 125
    DUPLICATE_VOTER = 126
    VOTER_NOT_FOUND = 127

    @classmethod
    def _missing_(cls, value: object) -> "ErrorCode":
        """A peer may send any code; an unknown one is treated as this (Errors.forCode)."""
        return cls.UNKNOWN_SERVER_ERROR


NO_ERROR: Final = ErrorCode.NONE
"""The same, for the code of every input.

A member that is looked up in its enumeration costs as much as ten calls of functions.
"""


class ErrorTraits(msgspec.Struct, frozen=True):
    """Conclusions of a client from a code."""

    retriable: bool
    definite: bool
    refresh: bool
    meaning: str


E = ErrorCode
_T = ErrorTraits

TRAITS: dict[ErrorCode, ErrorTraits] = {
    E.UNKNOWN_SERVER_ERROR: _T(False, False, False, "the server failed in a way it has no code for"),
    E.NONE: _T(False, True, False, "success"),
    E.OFFSET_OUT_OF_RANGE: _T(False, True, False, "the offset is not in the log"),
    E.CORRUPT_MESSAGE: _T(True, True, False, "a batch failed its checksum"),
    E.UNKNOWN_TOPIC_OR_PARTITION: _T(True, True, True, "this broker hosts no such partition"),
    E.LEADER_NOT_AVAILABLE: _T(True, True, True, "the partition has no leader now"),
    E.NOT_LEADER_OR_FOLLOWER: _T(True, False, True, "this broker does not lead the partition (any more)"),
    E.REQUEST_TIMED_OUT: _T(True, False, False, "the in-sync replicas did not confirm in time; the data stays"),
    E.BROKER_NOT_AVAILABLE: _T(False, True, False, "the broker is not available"),
    E.REPLICA_NOT_AVAILABLE: _T(True, True, False, "the replica is not available"),
    E.MESSAGE_TOO_LARGE: _T(False, True, False, "the batch is larger than the broker accepts"),
    E.STALE_CONTROLLER_EPOCH: _T(False, True, False, "the request is from a replaced controller"),
    E.OFFSET_METADATA_TOO_LARGE: _T(False, True, False, "the text beside a committed offset is too long"),
    E.NETWORK_EXCEPTION: _T(True, False, True, "the connection was lost before an answer"),
    E.COORDINATOR_LOAD_IN_PROGRESS: _T(True, True, False, "the coordinator still reads its partition's log"),
    E.COORDINATOR_NOT_AVAILABLE: _T(True, False, False, "no coordinator for the group now"),
    E.NOT_COORDINATOR: _T(True, False, False, "this broker does not coordinate the group (any more)"),
    E.INVALID_TOPIC_EXCEPTION: _T(False, True, False, "the topic's name is not allowed"),
    E.RECORD_LIST_TOO_LARGE: _T(False, True, False, "the batch is larger than a segment of the log may be"),
    E.NOT_ENOUGH_REPLICAS: _T(True, True, False, "fewer in-sync replicas than min.insync.replicas; not written"),
    E.NOT_ENOUGH_REPLICAS_AFTER_APPEND: _T(True, False, False, "the ISR shrank while waiting; the data stays"),
    E.INVALID_REQUIRED_ACKS: _T(False, True, False, "acks is none of 0, 1, -1"),
    E.ILLEGAL_GENERATION: _T(False, True, False, "the group has another generation"),
    E.INCONSISTENT_GROUP_PROTOCOL: _T(False, True, False, "other group type, or none of these protocols supported"),
    E.INVALID_GROUP_ID: _T(False, True, False, "the group's name is not allowed"),
    E.UNKNOWN_MEMBER_ID: _T(False, True, False, "the group has no such member (any more)"),
    E.INVALID_SESSION_TIMEOUT: _T(False, True, False, "the session time-out is out of the broker's bounds"),
    E.REBALANCE_IN_PROGRESS: _T(False, True, False, "the group is rebalancing: join again"),
    E.INVALID_COMMIT_OFFSET_SIZE: _T(False, True, False, "the record of the committed offsets is too large"),
    E.TOPIC_AUTHORIZATION_FAILED: _T(False, True, False, "coordinators alone write to this topic"),
    E.CLUSTER_AUTHORIZATION_FAILED: _T(False, True, False, "brokers alone may send this request"),
    E.INVALID_TIMESTAMP: _T(False, True, False, "a record's timestamp is out of bounds, or has the broker's type"),
    E.UNSUPPORTED_SASL_MECHANISM: _T(False, True, False, "the broker does not support this mechanism"),
    E.ILLEGAL_SASL_STATE: _T(False, True, False, "the listener has no SASL: no client can log in"),
    E.UNSUPPORTED_VERSION: _T(False, True, False, "the peer does not support this version"),
    E.TOPIC_ALREADY_EXISTS: _T(False, True, False, "the topic exists"),
    E.INVALID_PARTITIONS: _T(False, True, False, "so many partitions are not possible"),
    E.INVALID_REPLICATION_FACTOR: _T(False, True, False, "so many replicas are not possible"),
    E.INVALID_REPLICA_ASSIGNMENT: _T(False, True, False, "the assignment is not usable"),
    E.INVALID_CONFIG: _T(False, True, False, "the configuration is not usable"),
    E.NOT_CONTROLLER: _T(True, True, True, "this broker is not the controller"),
    E.INVALID_REQUEST: _T(False, True, False, "the request makes no sense"),
    E.UNSUPPORTED_FOR_MESSAGE_FORMAT: _T(False, True, False, "the broker's log has another record format"),
    E.POLICY_VIOLATION: _T(False, True, False, "the operation is not emulated"),
    E.OUT_OF_ORDER_SEQUENCE_NUMBER: _T(False, True, False, "a sequence number was skipped"),
    E.DUPLICATE_SEQUENCE_NUMBER: _T(False, True, False, "the batch is older than the remembered ones"),
    E.INVALID_PRODUCER_EPOCH: _T(False, True, False, "a newer producer has this id"),
    E.INVALID_TXN_STATE: _T(False, True, False, "the transaction's state does not allow the operation"),
    E.INVALID_PRODUCER_ID_MAPPING: _T(False, True, False, "the transactional id has another producer id, or none"),
    E.INVALID_TRANSACTION_TIMEOUT: _T(False, True, False, "the time-out is above transaction.max.timeout.ms"),
    E.CONCURRENT_TRANSACTIONS: _T(True, True, False, "the transactional id's last transaction is not complete"),
    E.TRANSACTION_COORDINATOR_FENCED: _T(False, True, False, "a newer coordinator has written a marker"),
    E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: _T(False, True, False, "the transactional id may not be used"),
    E.SECURITY_DISABLED: _T(False, True, False, "no authorizer is configured, so there are no ACLs"),
    E.OPERATION_NOT_ATTEMPTED: _T(False, True, False, "not attempted, because of something else"),
    E.KAFKA_STORAGE_ERROR: _T(True, False, True, "the log directory failed"),
    E.LOG_DIR_NOT_FOUND: _T(False, True, False, "the broker has no such log directory"),
    E.UNKNOWN_PRODUCER_ID: _T(False, True, False, "the broker has no state of the producer"),
    E.REASSIGNMENT_IN_PROGRESS: _T(False, True, False, "the topic is being reassigned"),
    E.NON_EMPTY_GROUP: _T(False, True, False, "the group has members"),
    E.GROUP_ID_NOT_FOUND: _T(False, True, False, "there is no such group"),
    E.FETCH_SESSION_ID_NOT_FOUND: _T(True, True, False, "no such fetch session"),
    E.INVALID_FETCH_SESSION_EPOCH: _T(True, True, False, "the fetch session is elsewhere"),
    E.LISTENER_NOT_FOUND: _T(True, True, True, "the leader has no listener of the request's name"),
    E.TOPIC_DELETION_DISABLED: _T(False, True, False, "delete.topic.enable is off"),
    E.FENCED_LEADER_EPOCH: _T(True, True, True, "the request's leader epoch is older than the broker's"),
    E.UNKNOWN_LEADER_EPOCH: _T(True, True, False, "the request's leader epoch is newer than the broker's"),
    E.UNSUPPORTED_COMPRESSION_TYPE: _T(False, True, False, "the request's version does not support the batch's codec"),
    E.STALE_BROKER_EPOCH: _T(False, True, False, "the request is for an earlier incarnation of this broker"),
    E.OFFSET_NOT_AVAILABLE: _T(True, True, False, "the high watermark has not caught up with the election"),
    E.MEMBER_ID_REQUIRED: _T(False, True, False, "a new member has to join again with the id of this response"),
    E.PREFERRED_LEADER_NOT_AVAILABLE: _T(False, True, False, "the preferred leader is not live and in sync"),
    E.GROUP_MAX_SIZE_REACHED: _T(False, True, False, "the group has as many members as it may"),
    E.FENCED_INSTANCE_ID: _T(False, True, False, "another member has come with this group.instance.id"),
    E.ELIGIBLE_LEADERS_NOT_AVAILABLE: _T(False, True, False, "no replica that could lead is live"),
    E.ELECTION_NOT_NEEDED: _T(False, True, False, "the preferred leader leads already"),
    E.NO_REASSIGNMENT_IN_PROGRESS: _T(False, True, False, "the partition is not being reassigned"),
    E.GROUP_SUBSCRIBED_TO_TOPIC: _T(False, True, False, "members of the group read that topic"),
    E.INVALID_RECORD: _T(False, True, False, "a record is not one that the topic takes: it has no key"),
    E.UNSTABLE_OFFSET_COMMIT: _T(True, True, False, "the offset is part of an open transaction"),
    E.PRODUCER_FENCED: _T(False, True, False, "a newer producer has this transactional id"),
    E.RESOURCE_NOT_FOUND: _T(False, True, False, "there is no such thing"),
    E.DUPLICATE_RESOURCE: _T(False, True, False, "one thing is named twice"),
    E.UNACCEPTABLE_CREDENTIAL: _T(False, True, False, "the credential cannot be one"),
    E.INVALID_UPDATE_VERSION: _T(False, True, False, "another request has changed the state"),
    E.SNAPSHOT_NOT_FOUND: _T(False, True, False, "the leader does not have this snapshot of the metadata log"),
    E.POSITION_OUT_OF_RANGE: _T(False, True, False, "the snapshot of the metadata log ends before this position"),
    E.UNKNOWN_TOPIC_ID: _T(False, True, False, "there is no topic with this id"),
    E.DUPLICATE_BROKER_REGISTRATION: _T(False, True, False, "another process of this broker is registered"),
    E.BROKER_ID_NOT_REGISTERED: _T(False, True, False, "no broker is registered with this id"),
    E.TRANSACTIONAL_ID_NOT_FOUND: _T(False, True, False, "the coordinator knows no such transactional id"),
    E.INELIGIBLE_REPLICA: _T(False, True, False, "a broker that is not alive cannot join an ISR"),
    E.NEW_LEADER_ELECTED: _T(False, True, False, "the change of the ISR made another replica the leader"),
    E.TRANSACTION_ABORTABLE: _T(False, True, False, "the partition is not in the transaction: abort it"),
    E.INVALID_VOTER_KEY: _T(False, True, False, "the voter's directory is another one"),
    E.DUPLICATE_VOTER: _T(False, True, False, "a voter with this id is in the quorum"),
    E.VOTER_NOT_FOUND: _T(False, True, False, "the quorum does not have this voter"),
}

assert set(TRAITS) == set(ErrorCode), "every code has its traits"


def error_name(code: int, *, renamed: bool = True) -> str:
    """Kafka's name for `code`; unknown codes are spelt `UNKNOWN_CODE_n`.

    `renamed` false gives the name that code 6 had before 2.6 (feature `not_leader_or_follower_name`).
    """
    if code == ErrorCode.NOT_LEADER_OR_FOLLOWER and not renamed:
        return "NOT_LEADER_FOR_PARTITION"
    known = ErrorCode(code)
    return known.name if known == code else f"UNKNOWN_CODE_{code}"
