"""Enumerated reasons, for code; the texts beside them are for people and may change."""

from enum import StrEnum


class ExitKind(StrEnum):
    """Reason why a process ended."""

    REQUESTED = "asked"
    """Requested, or no work is left: code 0."""
    NO_SESSION_SERVICE = "no-session-service"
    """No session service within zookeeper.connection.timeout.ms of the start.

    Or the first session expired while the broker loaded its logs (semantics 4.2).
    """
    STILL_REGISTERED = "still-registered"
    """The broker's znode belongs to an earlier incarnation's session (semantics 11.10)."""
    NOT_REGISTERED = "not-registered"
    """The registration failed for another reason."""
    REGISTRATION_EXPIRED = "registration-expired"
    """The session ended during the registration."""
    LOG_DIRECTORIES_FAILED = "log-directories-failed"
    """The last log directory failed, before 1.0 any (KIP-112)."""
    AHEAD_OF_LEADER = "ahead-of-leader"
    """A follower may not truncate records that its leader does not have (semantics 2.3)."""
    CONTROLLER_FAILED = "controller-failed"
    """The controller cannot handle its state or task."""
    METADATA_LOG_FAILED = "metadata-log-failed"
    """A disk with the metadata log failed, or its records contradict the node's own (KRaft)."""
    STORAGE_FAILED = "storage-failed"
    """A session server's disk failed."""
    CRASHED = "crashed"
    """A bug of faultline, or a missing part of the machine."""


class CutReason(StrEnum):
    """Reason why a replica's log was truncated (`log_truncated`)."""

    HIGH_WATERMARK = "high-watermark"
    """To its own high watermark (semantics 2.1)."""
    EPOCH = "epoch"
    """To the offset where the logs diverge, from the leader's epoch response (2.1)."""
    DIVERGING = "diverging"
    """To the diverging offset of a fetch response (KIP-595)."""
    OUT_OF_RANGE = "out-of-range"
    """To the leader's log end (2.3)."""
    FULL = "full"
    """To nothing: the log continues at the leader's log start (2.3)."""


class IgnoredReason(StrEnum):
    """Reason why an order had no effect (`leader_and_isr_ignored`, semantics 1.7)."""

    OLD_CONTROLLER = "controller epoch not newer"
    OFFLINE = "in an offline log directory"
    OLD_EPOCH = "leader epoch not newer"
    NOT_A_REPLICA = "not a replica"
    LEADER_NOT_ALIVE = "leader not alive"
    SESSION_EXPIRED = "session expired"
    """Before its turn; from 2.7 on in its turn."""
    NEWER_REGISTRATION = "broker epoch not known yet"
    """The response to the broker's own registration is pending (KAFKA-9839)."""
    HALF_WAY = "half-way"
    """The session expired between the role change and the start of the fetcher (KAFKA-9307)."""
