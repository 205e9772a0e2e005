"""A follower in the leader's view. Semantics 1.2."""

from protocol.ids import FIRST_OFFSET, NO_OFFSET, BrokerId, Offset

LONG_AGO_MS = -1e15
"""A time long ago; Kafka's 0 is 1970, but a scenario's clock begins at its launch."""


class RemoteReplica:
    """One follower.

    `log_end` -1: unknown. `last_caught_up_ms`: last time at which it held all of the leader's records.
    `broker_epoch`: of its last fetch, -1 where that had none; None: it has not fetched (KIP-903).
    """

    __slots__ = (
        "broker",
        "broker_epoch",
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
        self.broker_epoch: int | None = None

    def fetched(self, fetch_offset: Offset, leader_log_end: Offset, now_ms: float, broker_epoch: int = -1) -> None:
        """Note a fetch at `fetch_offset`: the follower holds all records below.

        `leader_log_end` as of the read (KAFKA-4485).
        """
        self.broker_epoch = broker_epoch
        caught_up_ms = LONG_AGO_MS
        if fetch_offset >= leader_log_end:
            caught_up_ms = now_ms
        elif fetch_offset >= self.last_fetch_leader_log_end:
            caught_up_ms = self.last_fetch_ms
        if caught_up_ms > self.last_caught_up_ms:
            self.last_caught_up_ms = caught_up_ms
        self.log_end = fetch_offset
        self.last_fetch_leader_log_end = leader_log_end
        self.last_fetch_ms = now_ms

    def read_failed(self, fetched_ms: float) -> None:
        """Note a fetch that failed: its position becomes unknown (up to 2.3, KAFKA-8400).

        `fetched_ms`: time that counts as its fetch; LONG_AGO_MS except in 0.8.2.
        """
        self.log_end = NO_OFFSET
        self.last_fetch_leader_log_end = NO_OFFSET
        self.last_fetch_ms = fetched_ms

    def leader_epoch_began(self, leader_log_end: Offset, now_ms: float, *, in_isr: bool, forgets: bool) -> None:
        """Begin a leader epoch: members of the ISR count as caught up now."""
        self.last_caught_up_ms = now_ms if in_isr else LONG_AGO_MS
        self.last_fetch_leader_log_end = leader_log_end
        self.last_fetch_ms = now_ms
        if forgets:
            self.log_end = NO_OFFSET
            self.log_start = NO_OFFSET
            self.last_fetch_leader_log_end = NO_OFFSET
            self.last_fetch_ms = LONG_AGO_MS
            self.last_sent_high_watermark = FIRST_OFFSET
            self.broker_epoch = None
