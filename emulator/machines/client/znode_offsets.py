"""Committed offsets of the old consumer, in ZooKeeper.

They are plain numbers under `/consumers/G/offsets/T/P`. They go through the client's own session. No check against
a log takes place: the next fetch finds a wrong one (semantics 6). A call waits for the connection without limit,
and is sent again in the next session. This consumer does not write an offset again that it has found or written
itself, whatever other clients wrote since (ZookeeperConsumerConnector.commitOffsetToZooKeeper).
"""

from collections.abc import Callable, Mapping

from emulator.machines.client.client_operations import NO_ANSWER, OperationLog
from emulator.machines.client.offset_store import CommitEnded, Committed, GroupOperations, Looked, look_operations
from emulator.machines.client.retrying_session import RetryingSession
from emulator.machines.client.session_client import Done, SessionClient
from protocol.chance import Chance
from protocol.errors import ErrorCode
from protocol.ids import NO_BROKER, NO_OFFSET, Offset, TopicPartition
from protocol.machine import Now
from protocol.messages.session_messages import (
    Create,
    GetData,
    Operation,
    SessionError,
    SessionRequest,
    SessionResponse,
    SetData,
)
from protocol.outbox import Due, Outbox
from protocol.znodes import CONSUMERS, consumer_offset_path, decode_consumer_offset, encode_consumer_offset

SESSION_SERVICE = NO_BROKER
"""Broker of an attempt to ZooKeeper: none."""
NO_TIMEOUT_MS = 0.0
"""No limit: a call waits as long as the session lasts."""
COMMITS_MAX = 1_000


class ZnodeOffsets:
    """Offsets of one group. `key` names its session's timers; `owner`: its node in events."""

    def __init__(
        self,
        key: str,
        owner: str,
        servers: list[str],
        operations: OperationLog,
        group: str,
        session_timeout_ms: float,
        chance: Chance,
    ) -> None:
        self._client = SessionClient(key, servers, session_timeout_ms, owner)
        self._session = RetryingSession(self._client)
        self._session.on_state = self._state_changed
        self._operations = operations
        self._group = group
        self._chance = chance
        self._under_way: list[GroupOperations] = []
        self._closing = False
        self._written: dict[TopicPartition, Offset] = {}
        """Offset as found or written last; -1: there was none."""
        self.handled: Due = lambda now, out: None
        self._client.handled = self._session_handled

    def look(self, now: Now, out: Outbox, partitions: list[TopicPartition], looked: Looked) -> None:
        """See OffsetStore."""
        found: dict[TopicPartition, Committed] = {}
        operations = look_operations(self._operations, out, self._group, partitions)
        operations.sent(out, SESSION_SERVICE, NO_TIMEOUT_MS)
        self._under_way.append(operations)

        def look_at(topic_partition: TopicPartition) -> Done:
            def answered(now: Now, out: Outbox, response: SessionResponse) -> None:
                result = response.results[0]
                known = result.error == SessionError.OK
                found[topic_partition] = Committed(
                    decode_consumer_offset(result.path, result.data) if known else NO_OFFSET
                )
                self._written[topic_partition] = found[topic_partition].offset
                if len(found) == len(partitions) and not self._closing:
                    self._under_way.remove(operations)
                    operations.attempt_ended(out, ErrorCode.NONE)
                    operations.end(out, ErrorCode.NONE, found)
                    looked(now, out, found, ErrorCode.NONE)

            return answered

        for topic_partition in partitions:
            self._ask(now, out, GetData(consumer_offset_path(self._group, *topic_partition)), look_at(topic_partition))

    def commit(
        self,
        now: Now,
        out: Outbox,
        offsets: Mapping[TopicPartition, Committed],
        ended: CommitEnded,
        timeout_ms: float | None,
    ) -> None:
        """See OffsetStore. It has no timeout of its own, and records no unchanged offset."""
        offsets = {
            topic_partition: each
            for topic_partition, each in offsets.items()
            if self._written.get(topic_partition) != each.offset
        }
        if not offsets:
            ended(now, out, ErrorCode.NONE)
            return
        assert len(self._under_way) < COMMITS_MAX, "too many commits wait for the session service"
        operations = GroupOperations(self._operations, out, "commit", self._group, offsets)
        operations.sent(out, SESSION_SERVICE, NO_TIMEOUT_MS)
        self._under_way.append(operations)
        left = set(offsets)

        def write(topic_partition: TopicPartition, offset: Offset) -> Callable[[Now, Outbox], None]:
            def written(now: Now, out: Outbox) -> None:
                self._written[topic_partition] = offset
                left.discard(topic_partition)
                if not left and not self._closing:
                    self._under_way.remove(operations)
                    operations.attempt_ended(out, ErrorCode.NONE)
                    operations.end(out, ErrorCode.NONE)
                    ended(now, out, ErrorCode.NONE)

            return written

        for topic_partition, committed in offsets.items():
            self._write(now, out, topic_partition, committed.offset, write(topic_partition, committed.offset))

    def may_pass(self, error: int | str) -> bool:
        """See OffsetStore. No commit fails here: each is tried until it is done."""
        return False

    def close(self, now: Now, out: Outbox) -> None:
        """See OffsetStore. The session ends, if its server responds."""
        self._closing = True
        for operations in self._under_way:
            operations.attempt_ended(out, NO_ANSWER, "the consumer was closed")
            operations.end(out, "ZkInterruptedException")
        self._under_way.clear()
        if self._client.state != "idle":
            self._client.close(now, out)

    @property
    def closed(self) -> bool:
        """See OffsetStore."""
        return self._closing and self._client.state in ("idle", "closed", "expired")

    # --- private --------------------------------------------------------------------------------------------

    def _session_handled(self, now: Now, out: Outbox) -> None:
        self.handled(now, out)

    def _ask(self, now: Now, out: Outbox, operation: Operation, done: Done) -> None:
        if self._client.state == "idle":
            self._client.start(now, out, self._chance)
        self._session.call(now, out, SessionRequest([operation]), done, ends_at_expiry=False)

    def _state_changed(self, now: Now, out: Outbox, state: str) -> None:
        if state == "expired" and not self._closing:
            self._client.restart(now, out)

    def _write(
        self,
        now: Now,
        out: Outbox,
        topic_partition: TopicPartition,
        offset: Offset,
        done: Callable[[Now, Outbox], None],
    ) -> None:
        """Set the znode; if it is absent, create it, parents first (ZkUtils.updatePersistentPath)."""
        path, data = consumer_offset_path(self._group, *topic_partition), encode_consumer_offset(offset)
        missing = parents(path)

        def set_again(now: Now, out: Outbox) -> None:
            self._ask(now, out, SetData(path, data), tried)

        def tried(now: Now, out: Outbox, response: SessionResponse) -> None:
            if response.results[0].error == SessionError.NO_NODE:
                make_next(now, out)
            else:
                done(now, out)

        def make_next(now: Now, out: Outbox) -> None:
            if missing:
                self._ask(now, out, Create(missing.pop(0)), lambda now, out, response: make_next(now, out))
            else:
                self._ask(now, out, Create(path, data), made)

        def made(now: Now, out: Outbox, response: SessionResponse) -> None:
            if response.results[0].error == SessionError.NODE_EXISTS:
                set_again(now, out)
            else:
                done(now, out)

        set_again(now, out)


def parents(path: str) -> list[str]:
    """Parents of an offset's znode, those below `/consumers`, outermost first."""
    names = path.removeprefix(f"{CONSUMERS}/").split("/")[:-1]
    return [f"{CONSUMERS}/{'/'.join(names[: count + 1])}" for count in range(len(names))]
