"""Settings of the controller, under Kafka's names with units; defaults of 1.0 and later."""

import msgspec


class ControllerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of one broker; a topic's own `unclean.leader.election.enable` (its znode) wins."""

    controller_socket_timeout_ms: float = 30_000
    """Limit for connecting to a broker."""
    request_timeout_ms: float = 30_000
    """Limit for a broker's response; Kafka's request.timeout.ms.

    controller.socket.timeout.ms, in spite of its name, bounds connecting only (ControllerChannelManager, 0.10 to
    2.8).
    """
    auto_leader_rebalance_enable: bool = True
    leader_imbalance_per_broker_percentage: int = 10
    leader_imbalance_check_interval_seconds: float = 300
    unclean_leader_election_enable: bool = False
    delete_topic_enable: bool = True
    num_partitions: int = 1
    default_replication_factor: int = 1
