"""Facts about a run's past: states, roles, writes and copies of records, clients' results.

Plain data: `history_builder` makes it from events, a test by hand.
"""

import msgspec

from emulator.judging.explain.unclean import UncleanSettings
from protocol.ids import TopicPartition
from protocol.znodes import Leadership

UNTOLD = "untold"
UNSEEN = -1
"""Digest of a batch that no event reports: its writer died between the write and the event."""


class Stated(msgspec.Struct, frozen=True):
    """A state that ZooKeeper held from `at_ms` on (when its first server had it)."""

    at_ms: float
    state: Leadership


class Assigned(msgspec.Struct, frozen=True):
    """Replicas of a partition from `at_ms` on, including those that are being added or removed."""

    at_ms: float
    replicas: tuple[int, ...]


class AtBroker(msgspec.Struct, frozen=True):
    """A fact about a broker, from `at_ms` on; its other fields are given by keyword."""

    at_ms: float
    broker: int


class Cut(AtBroker, frozen=True, kw_only=True):
    """A truncation of a replica's log from `log_end` to `to`.

    `reason` as in `log_truncated`. UNTOLD: the next incarnation found it shorter, because the broker died during a
    truncation and reported nothing.
    """

    to: int
    log_end: int
    reason: str


class LostTail(AtBroker, frozen=True, kw_only=True):
    """Records [first, last] that `broker`'s log lacks after its return at `at_ms`.

    A power loss removed them, or its `disk` was replaced.
    """

    topic_partition: TopicPartition
    first: int
    last: int
    disk: bool = False


class Led(AtBroker, frozen=True, kw_only=True):
    """A leadership: `broker` became leader in `epoch`, with a log that ended at `log_end`."""

    epoch: int
    log_end: int


class Followed(AtBroker, frozen=True, kw_only=True):
    """A follower's role: `broker` follows `leader` in `epoch` from `at_ms` until `until_ms`.

    It ends with the next role or incarnation. `high_watermark`: its own then. `before`: the former (leader, epoch) of
    this incarnation, None: it had none.
    """

    leader: int
    epoch: int
    until_ms: float = float("inf")
    high_watermark: int = 0
    before: tuple[int, int] | None = None


class Settled(AtBroker, frozen=True, kw_only=True):
    """A follower's agreement with its leader: their logs are equal below `to`.

    `epoch`: the latest one in the leader's response; -1: the response names none (version 0), or there was none and
    `to` is the own high watermark (`answered` false).
    """

    leader: int
    to: int
    epoch: int
    answered: bool


class Fetched(AtBroker, frozen=True, kw_only=True):
    """A fetcher of `broker` from `source`, begun in `epoch`, until it stops or its broker ends."""

    source: int
    epoch: int
    until_ms: float = float("inf")


class Written(AtBroker, frozen=True, kw_only=True):
    """A batch [first, last] that `broker` appended, leading or following in `epoch`.

    `of`: the epoch in the batch; -1: its format has none.
    """

    epoch: int
    first: int
    last: int
    digest: int
    of: int = -1


class Unseen(msgspec.Struct, frozen=True):
    """Batches at the end of a log that its broker's former incarnation did not report.

    `leader`: the leader that this incarnation followed; itself if it led.
    """

    written: Written
    leader: int


class High(AtBroker, frozen=True, kw_only=True):
    """A leader's high watermark: `broker`, leading in `epoch`, raised it to `high_watermark`."""

    epoch: int
    high_watermark: int


class Copied(AtBroker, frozen=True, kw_only=True):
    """An append of a batch of a later `epoch` by a follower in epoch `followed`."""

    first: int
    followed: int
    epoch: int


class Stopped(msgspec.Struct, frozen=True):
    """A replica whose fetcher ended and has not begun again in this incarnation of its broker.

    `how`: removed, failed (as in `fetcher_changed`, with its `reason`); half-way: a lost session ended an order after
    it took over a leader and before its fetcher began; broker epoch not known yet: the broker refused all of an order.
    `roles`: (leader, epoch) that it followed or should have followed then, and of the orders since.
    """

    at_ms: float
    how: str
    reason: str
    roles: tuple[tuple[int, int], ...]


class Term(msgspec.Struct, frozen=True):
    """A term of a controller: `node` takes itself for the controller of `epoch`."""

    at_ms: float
    node: str
    epoch: int


class History(msgspec.Struct):
    """Facts by partition, in order of time; brokers by their numbers, nodes by their names.

    A deleted topic has only `gone`; its name stands for its successor.

    - `gone`: digests of batches that deleted topics of the same name had; `written`: batches of leaders; `copied`:
      batches of followers; `ahead`: copies of batches of later epochs than the follower's
    - `unseen`: batches whose writer died before it reported them; `highs`: leaders' high watermarks
    - `settled`: offsets at which followers agreed with their leaders
    - `stopped`: {(topic_partition, broker): how its fetcher ended}; `cut_short`: times at which a lost session ended an
      order before this replica
    - `acknowledged`: {(topic_partition, digest): first success of a produce with acks=all}; `attempts`: by operation
    - `lives`: beginnings of each node's incarnations; `away`: periods in which a node was disconnected from ZooKeeper
    - `controller_znode`: (time, change) of `/controller` (created, changed, deleted)
    - `named`: {(controller's node, broker): times at which the controller saw it come or go}
    - `created`: partitions whose first state a controller knows to have written, with its epoch
    - `contradictions`: transactions that two ZooKeeper servers have committed differently
    - `in_metadata_log`: partitions of a KRaft cluster
    - `unclean`: settings of unclean election
    """

    states: dict[TopicPartition, list[Stated]] = {}
    assignments: dict[TopicPartition, list[Assigned]] = {}
    cuts: dict[TopicPartition, list[Cut]] = {}
    leaders: dict[TopicPartition, list[Led]] = {}
    followers: dict[TopicPartition, list[Followed]] = {}
    fetched: dict[TopicPartition, list[Fetched]] = {}
    gone: dict[TopicPartition, set[int]] = {}
    written: dict[TopicPartition, list[Written]] = {}
    copied: dict[TopicPartition, list[Written]] = {}
    highs: dict[TopicPartition, list[High]] = {}
    ahead: dict[TopicPartition, list[Copied]] = {}
    settled: dict[TopicPartition, list[Settled]] = {}
    unseen: dict[TopicPartition, list[Unseen]] = {}
    stopped: dict[tuple[TopicPartition, int], Stopped] = {}
    cut_short: dict[tuple[TopicPartition, int], list[float]] = {}
    acknowledged: dict[tuple[TopicPartition, int], float] = {}
    attempts: dict[str, int] = {}
    lives: dict[str, list[float]] = {}
    away: dict[str, list[tuple[float, float]]] = {}
    terms: list[Term] = []
    controller_znode: list[tuple[float, str]] = []
    named: dict[tuple[str, int], list[float]] = {}
    created: set[tuple[TopicPartition, int]] = set()
    contradictions: list[str] = []
    in_metadata_log: set[TopicPartition] = set()
    unclean: UncleanSettings = msgspec.field(default_factory=UncleanSettings)
