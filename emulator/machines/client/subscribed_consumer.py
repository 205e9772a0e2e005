"""A consumer that subscribes: its group assigns and revokes partitions.

Kafka's ConsumerCoordinator. Before a rebalance it commits and releases its partitions. It begins new ones at the
committed offsets. With a cooperative strategy it reads on meanwhile. `consumer` reads, `group_member` keeps the
membership.
"""

from collections.abc import Callable, Sequence

from emulator.machines.client.client_operations import OperationLog
from emulator.machines.client.client_settings import ConsumerSettings
from emulator.machines.client.consumer import Consumer
from emulator.machines.client.consumer_fetching import OnRecords
from emulator.machines.client.consumer_positioning import OnProblem
from emulator.machines.client.coordinator_offsets import CoordinatorOffsets
from emulator.machines.client.group_member import GroupMember
from emulator.machines.client.offset_store import CommitEnded
from protocol.chance import Chance
from protocol.ids import TopicPartition
from protocol.machine import Now
from protocol.outbox import Due, Outbox

OnFailed = Callable[[Now, Outbox, str], None]
BeforeRebalance = Callable[[Now, Outbox, Due], None]
"""Callback before partitions are released; calls the last argument when they may be."""


def _at_once(now: Now, out: Outbox, then: Due) -> None:
    then(now, out)


class SubscribedConsumer:
    """Consumer of the group in the settings.

    `on_failed` receives the error that ended its membership for good. `wants`: whether the application calls poll()
    (`look_again` when it does again). The other arguments: see `Consumer`.
    """

    def __init__(
        self,
        key: str,
        brokers: list[str],
        operations: OperationLog,
        kafka_version: str,
        settings: ConsumerSettings,
        chance: Chance,
        on_records: OnRecords,
        on_problem: OnProblem,
        on_failed: OnFailed,
        handled: Due = lambda now, out: None,
        wants: Callable[[], bool] = lambda: True,
        before_rebalance: BeforeRebalance = _at_once,
    ) -> None:
        self._settings = settings
        self._wants = wants
        self._before_rebalance = before_rebalance
        self._on_failed = on_failed
        self._handled = handled
        self._store = CoordinatorOffsets(f"{key}-offsets", brokers, operations, settings, chance)
        self._consumer = Consumer(
            key,
            brokers,
            operations,
            settings,
            chance,
            on_records,
            on_problem,
            on_problem,
            self._store,
            self._was_handled,
            self._may_read,
        )
        coordinator = self._store.coordinator
        self.member = GroupMember(f"{key}-member", operations.node, kafka_version, coordinator, settings, self)
        self.member.handled = self._member_handled
        self._store.membership = self.member
        self._closed = False
        self._reads = False

    def subscribe(self, now: Now, out: Outbox, topics: Sequence[str]) -> None:
        """Read the partitions of `topics` that the group assigns, from now on."""
        for topic in topics:
            self._consumer.want_topic(now, out, topic)
        self.member.subscribe(now, out, topics)

    def look_again(self, now: Now, out: Outbox) -> None:
        """Read again, as far as `wants` permits."""
        self._look_whether_it_reads(now, out)

    def rewind(self, now: Now, out: Outbox) -> None:
        """Begin again at the committed offsets in all partitions."""
        assigned = self._consumer.assigned
        self._consumer.unassign(now, out, assigned)
        self._consumer.assign(now, out, dict.fromkeys(assigned))

    def leave(self, now: Now, out: Outbox, left: CommitEnded) -> None:
        """Stop reading, commit if automatic, leave the group, then close.

        `left` receives the error of the commit.
        """
        self.member.begin_to_leave()

        def committed(now: Now, out: Outbox, error: int | str) -> None:
            def has_left(now: Now, out: Outbox) -> None:
                self.close(now, out)
                left(now, out, error)

            self.member.leave(now, out, has_left)

        self._consumer.commit_last(now, out, committed)

    def close(self, now: Now, out: Outbox) -> None:
        """Close at once, without a commit and a LeaveGroup."""
        if not self._closed:
            self._closed = True
            self.member.close(out)
            self._consumer.close(now, out)

    @property
    def closed(self) -> bool:
        """Whether no further event is to be handled."""
        return self._closed

    # --- callbacks of its member (group_member.Owner) -------------------------------------------------------

    def partition_counts(self, topics: Sequence[str]) -> dict[str, int]:
        """See Owner."""
        return self._consumer.partition_counts(topics)

    def owned(self) -> list[TopicPartition]:
        """See Owner."""
        return self._consumer.assigned

    def prepare(self, now: Now, out: Outbox, *, commit: bool, give_up: bool, prepared: Due) -> None:
        """See Owner."""

        def settled(now: Now, out: Outbox) -> None:
            self._prepare(now, out, commit=commit, give_up=give_up, prepared=prepared)

        self._before_rebalance(now, out, settled)

    def _prepare(self, now: Now, out: Outbox, *, commit: bool, give_up: bool, prepared: Due) -> None:
        if give_up:
            self._consumer.hold()  # later records are the next owner's

        def committed(now: Now, out: Outbox, error: int | str) -> None:
            if give_up and not self._closed:
                self._consumer.unassign(now, out, self._consumer.assigned)
            prepared(now, out)

        if commit and self._settings.enable_auto_commit:
            self._consumer.commit(now, out, committed, self._settings.max_poll_interval_ms)
        else:
            committed(now, out, 0)

    def assigned(self, now: Now, out: Outbox, added: list[TopicPartition], revoked: list[TopicPartition]) -> None:
        """See Owner."""
        self._consumer.unassign(now, out, revoked)
        self._consumer.restart_commits(now)
        self._consumer.assign(now, out, dict.fromkeys(added))

    def member_failed(self, now: Now, out: Outbox, error: str) -> None:
        """See Owner."""
        self._consumer.unassign(now, out, self._consumer.assigned)
        self._on_failed(now, out, error)

    # --- private --------------------------------------------------------------------------------------------

    def _was_handled(self, now: Now, out: Outbox) -> None:
        self.member.poll(now, out)
        self._look_whether_it_reads(now, out)
        self._handled(now, out)

    def _member_handled(self, now: Now, out: Outbox) -> None:
        if not self._closed:
            self._store.poll(now, out)
            self._look_whether_it_reads(now, out)
        self._handled(now, out)

    def _may_read(self) -> bool:
        """Whether poll() reaches reading.

        Up to 2.4 it only looks for the coordinator, or waits for other members to join, first.
        """
        return self._wants() and (self._settings.reads_while_it_joins or self.member.is_settled)

    def _look_whether_it_reads(self, now: Now, out: Outbox) -> None:
        read, self._reads = self._reads, self._may_read()
        if self._reads and not read:
            self._consumer.look_again(now, out)
