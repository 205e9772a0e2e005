"""Settings of the quorum, under Kafka's names with units; the defaults are QuorumConfig's."""

from collections.abc import Mapping
from typing import Any

import msgspec

from protocol.ids import BrokerId
from protocol.numbers import number_in

PREFIX = "controller.quorum."


class QuorumSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of one node, voter or observer. Source: QuorumConfig (RaftConfig until 3.6)."""

    election_timeout_ms: int = 1000
    """Lower bound of the random election timeout; the upper one is twice as large."""
    fetch_timeout_ms: int = 2000
    """Time without a successful fetch after which a follower campaigns."""
    election_backoff_max_ms: int = 1000
    """Limit of a candidate's backoff, and of a successor's delay after EndQuorumEpoch."""
    request_timeout_ms: int = 2000
    retry_backoff_ms: int = 20
    append_linger_ms: int = 25
    """Time for which the leader collects records before it appends them."""
    auto_join_enable: bool = False
    """Whether an observer that is a controller asks to become a voter (from 4.2 on)."""
    metadata_log_segment_bytes: int = 1024**3
    metadata_log_max_record_bytes_between_snapshots: int = 20 * 1024**2
    metadata_log_max_snapshot_interval_ms: int = 3_600_000
    """Limit of the time between two snapshots; 0: none."""
    metadata_max_retention_bytes: int = 100 * 1024 * 1024
    """Size of log and snapshots above which older ones are deleted; -1: no limit."""
    metadata_max_retention_ms: int = 7 * 24 * 3600 * 1000
    """Age of a snapshot above which it is deleted, once there is a later one; -1: no limit."""

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> "QuorumSettings":
        """Settings for Kafka's names, such as `controller.quorum.fetch.timeout.ms`.

        Other names are ignored.
        """
        names = {name: _setting_name(name) for name in cls.__struct_fields__}
        known = {name: settings[of] for name, of in names.items() if of in settings}
        return msgspec.convert(known, cls, strict=False)


def _setting_name(field: str) -> str:
    """Kafka's name of a field: those of the log have no prefix."""
    dotted = field.replace("_", ".")
    return dotted if field.startswith("metadata_") else PREFIX + dotted


def static_voters(text: str) -> dict[BrokerId, str]:
    """{voter: host and port} of `controller.quorum.voters`, such as `0@c0:9093,1@c1:9093`.

    Raises ValueError, naming the entry. Source: QuorumConfig.parseVoterConnections.
    """
    voters: dict[BrokerId, str] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        number, at, address = entry.partition("@")
        host, _, port = address.rpartition(":")
        voter = number_in(number)
        if voter is None or not at or not host or number_in(port) is None:
            raise ValueError(f"{PREFIX}voters: {entry!r} is no voter; write id@host:port")
        if BrokerId(voter) in voters:
            raise ValueError(f"{PREFIX}voters: voter {voter} is there twice; write each id once")
        voters[BrokerId(voter)] = address
    return voters
