"""What a leader knows of one follower. Semantics 1.2."""

from protocol.ids import FIRST_OFFSET, NO_OFFSET, BrokerId, Offset

LONG_AGO_MS = -1e15
"""Kafka's 0 here is 1970; a scenario's clock begins at its launch, where 0 would be recent."""


class RemoteReplica:
    """`log_end` -1: unknown. `last_caught_up_ms`: when it last held all that the leader had."""

    __slots__ = (
        "broker",
        "last_caught_up_ms",
        "last_fetch_leader_log_end",
        "last_fetch_ms",
        "last_sent_high_watermark",
        "log_end",
        "log_start",
    )

    def __init__(self, broker: BrokerId) -> None:
        self.broker = broker
        self.log_end = NO_OFFSET
        self.log_start = NO_OFFSET
        self.last_fetch_ms = LONG_AGO_MS
        self.last_fetch_leader_log_end = FIRST_OFFSET
        self.last_caught_up_ms = LONG_AGO_MS
        self.last_sent_high_watermark = FIRST_OFFSET

    def fetched(self, fetch_offset: Offset, leader_log_end: Offset, now_ms: float) -> None:
        """It asked for `fetch_offset`: it holds everything below. `leader_log_end` as of the read (KAFKA-4485)."""
        if fetch_offset >= leader_log_end:
            self.last_caught_up_ms = max(self.last_caught_up_ms, now_ms)
        elif fetch_offset >= self.last_fetch_leader_log_end:
            self.last_caught_up_ms = max(self.last_caught_up_ms, self.last_fetch_ms)
        self.log_end = fetch_offset
        self.last_fetch_leader_log_end = leader_log_end
        self.last_fetch_ms = now_ms

    def read_failed(self, fetched_ms: float) -> None:
        """Up to 2.3 a fetch that was answered with an error made its position unknown (KAFKA-8400). `fetched_ms`: when
        it counts as having fetched, LONG_AGO_MS but for 0.8.2."""
        self.log_end = NO_OFFSET
        self.last_fetch_leader_log_end = NO_OFFSET
        self.last_fetch_ms = fetched_ms

    def leader_epoch_began(self, leader_log_end: Offset, now_ms: float, *, in_isr: bool, forgets: bool) -> None:
        """Leadership began anew: members of the ISR count as caught up now."""
        self.last_caught_up_ms = now_ms if in_isr else LONG_AGO_MS
        self.last_fetch_leader_log_end = leader_log_end
        self.last_fetch_ms = now_ms
        if forgets:
            self.log_end = NO_OFFSET
            self.log_start = NO_OFFSET
            self.last_fetch_leader_log_end = NO_OFFSET
            self.last_fetch_ms = LONG_AGO_MS
            self.last_sent_high_watermark = FIRST_OFFSET
