"""Named kinds: what code decides by, where the words beside it are for people and may change."""

from enum import StrEnum


class ExitKind(StrEnum):
    """Why a process ended by itself."""

    ASKED = "asked"
    """It was told to, or has nothing more to do: code 0."""
    NO_SESSION_SERVICE = "no-session-service"
    """None within zookeeper.connection.timeout.ms of its start, or its first session expired while it loaded its logs
    (semantics 4.2)."""
    STILL_REGISTERED = "still-registered"
    """Its znode is there, of a session that is not its own: an earlier life's (semantics 11.10)."""
    NOT_REGISTERED = "not-registered"
    """It could not be registered for another reason."""
    REGISTRATION_EXPIRED = "registration-expired"
    """Its session ended while it registered."""
    LOG_DIRECTORIES_FAILED = "log-directories-failed"
    """Its last log directory, before 1.0 any (KIP-112)."""
    AHEAD_OF_LEADER = "ahead-of-leader"
    """A follower may not cut what its leader does not have (semantics 2.3)."""
    CONTROLLER_FAILED = "controller-failed"
    """What the controller found, or has to do, is beyond it."""
    STORAGE_FAILED = "storage-failed"
    """A session server's disk."""
    CRASHED = "crashed"
    """A bug of ours, or what the machine lacks."""


class CutReason(StrEnum):
    """Why a replica's log was cut (`log_truncated`)."""

    HIGH_WATERMARK = "high-watermark"
    """Down to its own high watermark (semantics 2.1)."""
    EPOCH = "epoch"
    """To where the leader's answer says that the logs part (2.1)."""
    DIVERGING = "diverging"
    """The same, told with a fetch (KIP-595)."""
    OUT_OF_RANGE = "out-of-range"
    """To the leader's log end (2.3)."""
    FULL = "full"
    """All of it, to begin at the leader's log start (2.3)."""


class IgnoredReason(StrEnum):
    """Why an order of the controller changed nothing for a partition (`leader_and_isr_ignored`, semantics 1.7)."""

    OLD_CONTROLLER = "controller epoch not newer"
    OFFLINE = "in an offline log directory"
    OLD_EPOCH = "leader epoch not newer"
    NOT_A_REPLICA = "not a replica"
    LEADER_NOT_ALIVE = "leader not alive"
    SESSION_EXPIRED = "session expired"
    """Before its turn came; from 2.7 on in its turn."""
    NEWER_REGISTRATION = "broker epoch not known yet"
    """The answer to its own registration is under way (KAFKA-9839)."""
    HALF_WAY = "half-way"
    """The session expired when its role was taken over, and before its fetcher began (KAFKA-9307)."""
