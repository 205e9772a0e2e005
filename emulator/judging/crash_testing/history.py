"""What is known of the past of a run: states, roles, who wrote and copied what, what clients were told.

Plain data: `historian` writes it from events, a test by hand."""

import msgspec

from emulator.judging.crash_testing.unclean import UncleanSaid
from protocol.ids import TopicPartition
from protocol.znodes import Leadership

UNTOLD = "untold"
UNSEEN = -1
"""The digest of what no event tells: its writer died between the write and the event."""


class Stated(msgspec.Struct, frozen=True):
    """A state that the session service held from `at_ms` on (when the first of its servers had it)."""

    at_ms: float
    state: Leadership


class Assigned(msgspec.Struct, frozen=True):
    """These are a partition's replicas from `at_ms` on, those that come or go among them."""

    at_ms: float
    replicas: tuple[int, ...]


class Cut(msgspec.Struct, frozen=True):
    """A replica's log was cut to `to`; it had ended at `log_end`. `reason` as in `log_truncated`; UNTOLD: it was
    shorter when its next life found it, of which a death in the midst of cutting leaves no other trace."""

    at_ms: float
    broker: int
    to: int
    log_end: int
    reason: str


class LostTail(msgspec.Struct, frozen=True):
    """`broker` came back at `at_ms` without its log's records [first, last]: a power loss took them, or its `disk` is
    another."""

    at_ms: float
    broker: int
    topic_partition: TopicPartition
    first: int
    last: int
    disk: bool = False


class Led(msgspec.Struct, frozen=True):
    """`broker` became leader in `epoch`, with a log that ended at `log_end`."""

    at_ms: float
    broker: int
    epoch: int
    log_end: int


class Followed(msgspec.Struct, frozen=True):
    """`broker` follows `leader` in `epoch` from `at_ms` on, until `until_ms`: its next role, or its next life. Its own
    `high_watermark` then; `before`: the (leader, epoch) that it had gone by in this life, None: it had none."""

    at_ms: float
    broker: int
    leader: int
    epoch: int
    until_ms: float = float("inf")
    high_watermark: int = 0
    before: tuple[int, int] | None = None


class Settled(msgspec.Struct, frozen=True):
    """`broker`, following `leader`, went by `to`: its log and that one's are the same below. `epoch`: the latest that
    the leader's answer speaks of; -1: the answer names none (version 0), or there was none and `to` is the own high
    watermark (`answered` false)."""

    at_ms: float
    broker: int
    leader: int
    to: int
    epoch: int
    answered: bool


class Fetched(msgspec.Struct, frozen=True):
    """`broker` fetches from `source`, as it began to in `epoch`, until `until_ms`: it is stopped, or its life ends."""

    at_ms: float
    broker: int
    source: int
    epoch: int
    until_ms: float = float("inf")


class Written(msgspec.Struct, frozen=True):
    """`broker`, leading or following in `epoch`, appended [first, last]. `of`: the epoch that the batch bears; -1: its
    format has none."""

    at_ms: float
    broker: int
    epoch: int
    first: int
    last: int
    digest: int
    of: int = -1


class Unseen(msgspec.Struct, frozen=True):
    """What a life found at the end of its log that the one before had told nobody of. `leader`: whom that one followed;
    itself: it led."""

    written: Written
    leader: int


class High(msgspec.Struct, frozen=True):
    """`broker`, leading in `epoch`, moved its high watermark up to there."""

    at_ms: float
    broker: int
    epoch: int
    high_watermark: int


class Copied(msgspec.Struct, frozen=True):
    """`broker`, following in epoch `followed`, appended at `first` what had been written in the later `epoch`."""

    at_ms: float
    broker: int
    first: int
    followed: int
    epoch: int


class Stopped(msgspec.Struct, frozen=True):
    """A replica's fetcher ended, and has not begun again in this life of its broker. `how`: removed, failed (as in
    `fetcher_changed`, with its `reason`), half-way: an order that took over a leader ended before its fetcher began,
    for the session was lost, or broker epoch not known yet: all of an order was refused. `roles`: (leader, epoch) that
    it followed or should have followed then, and of the orders since."""

    at_ms: float
    how: str
    reason: str
    roles: tuple[tuple[int, int], ...]


class Office(msgspec.Struct, frozen=True):
    """`node` takes itself for the controller of this epoch."""

    at_ms: float
    node: str
    epoch: int


class History(msgspec.Struct):
    """By partition, in order; brokers by their numbers, nodes by their names. Of a topic that was deleted nothing but
    `gone`: what is called so now is what came after.

    `gone`: digests of what was written to topics of the same name that were deleted. `written`: by leaders; `copied`:
    by followers; `ahead`: what these copied of later epochs than they followed in. `unseen`: written or copied by
    lives that ended with it. `highs`: of leaders. `settled`: by followers, where their logs and their leaders'
    part. `stopped`: replicas that fetch no more, {(topic_partition, broker): how}. `cut_short`: when an order for this
    replica was ended by a lost session before it came to it.

    `acknowledged`: {(topic_partition, digest): first success of a produce with acks=all}. `attempts`: of each
    operation. `lives`: when each life of a node began. `away`: when a node lost its connection to the session
    service, and had it again. `controller_znode`: what became of `/controller` (created, changed, deleted), and
    when. `named`: when a controller saw a broker come or go, {(controller's node, broker): times}. `created`:
    partitions whose first state a controller knows to have written, with its epoch. `contradictions`: transactions
    that two session servers have committed differently. `unclean`: who said what of unclean election."""

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
    offices: list[Office] = []
    controller_znode: list[tuple[float, str]] = []
    named: dict[tuple[str, int], list[float]] = {}
    created: set[tuple[TopicPartition, int]] = set()
    contradictions: list[str] = []
    unclean: UncleanSaid = msgspec.field(default_factory=UncleanSaid)
