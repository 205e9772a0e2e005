"""Typed settings of a broker: Kafka's names, with dots as underscores and units."""

from collections.abc import Mapping
from typing import Any

import msgspec

LONG_MAX = 2**63 - 1
"""Kafka's value for never."""
INT_MAX = 2**31 - 1


class BrokerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """One broker's settings in force. Times are scenario milliseconds; the defaults are 2.6's."""

    zookeeper_session_timeout_ms: int = 18_000
    zookeeper_connection_timeout_ms: int = 18_000
    replica_lag_time_max_ms: int = 30_000
    replica_lag_max_messages: int = 4_000
    replica_fetch_wait_max_ms: int = 500
    replica_fetch_min_bytes: int = 1
    replica_fetch_max_bytes: int = 1_048_576
    replica_fetch_response_max_bytes: int = 10_485_760
    replica_fetch_backoff_ms: int = 1_000
    replica_socket_timeout_ms: int = 30_000
    replica_selector_class: str = ""
    replica_high_watermark_checkpoint_interval_ms: int = 5_000
    controller_socket_timeout_ms: int = 30_000
    request_timeout_ms: int = 30_000
    num_io_threads: int = 8
    log_flush_interval_messages: int = LONG_MAX
    log_flush_interval_ms: int = LONG_MAX
    log_flush_scheduler_interval_ms: int = LONG_MAX
    log_flush_offset_checkpoint_interval_ms: int = 60_000
    log_flush_start_offset_checkpoint_interval_ms: int = 60_000
    log_retention_check_interval_ms: int = 300_000
    log_dirs: str = ""
    log_segment_bytes: int = 1_073_741_824
    message_max_bytes: int = 1_000_012
    min_insync_replicas: int = 1
    unclean_leader_election_enable: bool = False
    auto_leader_rebalance_enable: bool = True
    leader_imbalance_per_broker_percentage: int = 10
    leader_imbalance_check_interval_seconds: int = 300
    controlled_shutdown_enable: bool = True
    controlled_shutdown_max_retries: int = 3
    controlled_shutdown_retry_backoff_ms: int = 5_000
    delete_topic_enable: bool = True
    auto_create_topics_enable: bool = True
    num_partitions: int = 1
    default_replication_factor: int = 1
    offsets_topic_num_partitions: int = 50
    offsets_topic_replication_factor: int = 3
    offsets_topic_segment_bytes: int = 104_857_600
    offsets_commit_required_acks: int = -1
    offsets_commit_timeout_ms: int = 5_000
    offsets_retention_minutes: int = 10_080
    offset_metadata_max_bytes: int = 4_096
    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_initial_rebalance_delay_ms: int = 3_000
    group_max_size: int = INT_MAX
    transaction_max_timeout_ms: int = 900_000
    transactional_id_expiration_ms: int = 604_800_000
    transaction_state_log_num_partitions: int = 50
    transaction_state_log_replication_factor: int = 3
    transaction_state_log_min_isr: int = 2
    transaction_state_log_segment_bytes: int = 104_857_600
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = 10_000
    transaction_remove_expired_transaction_cleanup_interval_ms: int = 3_600_000
    transaction_partition_verification_enable: bool = True

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> "BrokerSettings":
        """Settings for Kafka's names (`replica.lag.time.max.ms`); other names are ignored."""
        known = {
            name: settings[name.replace("_", ".")]
            for name in cls.__struct_fields__
            if name.replace("_", ".") in settings
        }
        return msgspec.convert(known, cls, strict=False)


HANDLERS = "num.io.threads"
TOPIC_OVERRIDES: dict[str, str] = {
    "min.insync.replicas": "min_insync_replicas",
    "unclean.leader.election.enable": "unclean_leader_election_enable",
    "max.message.bytes": "message_max_bytes",
    "segment.bytes": "log_segment_bytes",
    "flush.messages": "log_flush_interval_messages",
    "flush.ms": "log_flush_interval_ms",
}
"""Topic-level settings -> the broker's field they override."""


def with_topic_overrides(settings: BrokerSettings, config: Mapping[str, str]) -> BrokerSettings:
    """The settings that hold for one topic (`/config/topics/T`)."""
    changes = {TOPIC_OVERRIDES[name]: value for name, value in config.items() if name in TOPIC_OVERRIDES}
    if not changes:
        return settings
    merged = {**msgspec.structs.asdict(settings), **changes}
    return msgspec.convert(merged, BrokerSettings, strict=False)


def can_resize(threads: int, wanted: int) -> bool:
    """Whether a number of handlers is valid: half to twice the present one, and at least one.

    Source: DynamicThreadPool.validateReconfiguration.
    """
    return wanted == threads or max(1, threads // 2) <= wanted <= threads * 2


def shown(config: Mapping[str, str]) -> str:
    """Text of settings in events: `name=value`, separated by blanks."""
    return " ".join(f"{name}={config[name]}" for name in sorted(config))
