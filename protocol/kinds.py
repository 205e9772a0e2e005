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
