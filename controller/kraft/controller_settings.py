"""Settings of KRaft's controller, under Kafka's names with units."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec


class ControllerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of one controller.

    `metadata_version`, `eligible_leader_replicas_version`: levels of a new cluster; None: its release's.

    Source: ServerConfigs, ReplicationConfigs, KRaftConfigs; `kafka-storage format --feature`.
    """

    broker_session_timeout_ms: float = 9_000
    metadata_max_idle_interval_ms: float = 500
    """Period of no-op records; 0: none."""
    auto_leader_rebalance_enable: bool = True
    leader_imbalance_check_interval_seconds: float = 300
    unclean_leader_election_enable: bool = False
    unclean_leader_election_interval_ms: float = 300_000
    """Period of the task that elects unclean leaders."""
    min_insync_replicas: int = 1
    num_partitions: int = 1
    default_replication_factor: int = 1
    delete_topic_enable: bool = True
    metadata_version: int | None = None
    eligible_leader_replicas_version: int | None = None

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> "ControllerSettings":
        """Settings for Kafka's names, such as `broker.session.timeout.ms`. Other names are ignored."""
        known = {field: settings[name] for field, name in _NAMES.items() if name in settings}
        return msgspec.convert(known, cls, strict=False)


_NAMES: Final = {field: field.replace("_", ".") for field in ControllerSettings.__struct_fields__}
MIN_ISR: Final = "min.insync.replicas"
UNCLEAN_ELECTION: Final = "unclean.leader.election.enable"
