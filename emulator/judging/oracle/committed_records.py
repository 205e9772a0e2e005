"""History of ZooKeeper's commits while the world ran: states of partitions, deleted topics.

The first server that applies a transaction shows it: a majority has it on disk by then. This module applies it to its
own tree, because only the tree shows whether a write succeeded.
"""

from collections.abc import Iterator

from emulator.judging.oracle.partition_incarnations import Incarnations
from emulator.judging.oracle.truth import State
from emulator.machines.session.server import SessionServer
from emulator.machines.session.tree import Tree
from emulator.machines.session.znode import Change, parent_of
from protocol.ids import TopicPartition
from protocol.znodes import (
    CONTROLLER_EPOCH,
    TOPICS,
    UnreadableZnode,
    decode_controller_epoch,
    decode_state,
    decode_topic,
    state_partition,
    topic_id_of,
)

STATE = "/state"


class Committed:
    """States of partitions in the order of their zxids.

    `missing`: why some states are unknown; "" if none is. `assigned_ms`: {topic: last write of its partitions'
    replicas}.
    """

    def __init__(self, incarnations: Incarnations | None = None) -> None:
        self._incarnations = Incarnations() if incarnations is None else incarnations
        self._tree = Tree()
        self.zxid = 0
        """Zxid of the newest transaction seen."""
        self.states: list[State] = []
        self.missing = ""
        self._controller_epoch = 0
        self.assigned_ms: dict[str, float] = {}
        self._now_ms = 0.0
        self._newest: dict[str, State] = {}
        self._last: dict[TopicPartition, State] = {}
        self._unclean: dict[tuple[TopicPartition, int], bool] = {}
        """{leader epoch: whether its leader had not been in sync}; avoids a quadratic scan."""

    def catch_up(self, server: SessionServer, now_ms: float) -> Iterator[str]:
        """Apply the transactions of `server` that are new here. Yields each topic that they delete."""
        self._now_ms = now_ms
        transactions = server.committed_after(self._tree.zxid)
        if transactions is None:
            self.missing = f"what {server.name} has committed does not follow on transaction {self._tree.zxid:#x}"
            before, self._tree = self._tree, Tree.restored(server.tree.snapshot())
            self.zxid = self._tree.zxid
            for zxid, change in before.changes_to(self._tree):
                yield from self._changed(zxid, change)
            return
        for transaction in transactions:
            _, changes = self._tree.apply(transaction)
            self.zxid = transaction.zxid
            for change in changes:
                yield from self._changed(transaction.zxid, change)

    def assignments(self) -> dict[TopicPartition, tuple[int, ...]]:
        """{partition: its final replicas}."""
        topics = [path for path in self._tree.znodes if parent_of(path) == TOPICS]
        return {
            (path.removeprefix(f"{TOPICS}/"), partition): assigned.replicas
            for path in topics
            for partition, assigned in decode_topic(path, self._tree.znodes[path].data).items()
        }

    def elected_uncleanly(self, topic_partition: TopicPartition, leader_epoch: int) -> bool:
        """Whether the epoch began with a leader that had not been in sync."""
        return self._unclean.get((topic_partition, leader_epoch), False)

    def _changed(self, zxid: int, change: Change) -> Iterator[str]:
        path = change.path
        if path == CONTROLLER_EPOCH and change.kind != "deleted":
            self._controller_epoch = decode_controller_epoch(change.data)
        if not path.startswith(TOPICS):
            return
        if path in self._newest:
            self._newest.pop(path).until_ms = self._now_ms
        if parent_of(path) == TOPICS:
            self.assigned_ms[path.removeprefix(f"{TOPICS}/")] = self._now_ms
        if change.kind == "created" and parent_of(path) == TOPICS:
            self._incarnations.created(path.removeprefix(f"{TOPICS}/"), topic_id_of(change.czxid))
        if change.kind == "deleted":
            if parent_of(path) == TOPICS:
                yield path.removeprefix(f"{TOPICS}/")
        elif path.endswith(STATE):
            topic_partition = state_partition(path)
            if topic_partition is not None:
                self._state(zxid, change, topic_partition)

    def _state(self, zxid: int, change: Change, topic_partition: TopicPartition) -> None:
        try:
            state = decode_state(*topic_partition, change.data, change.version)
        except UnreadableZnode as error:
            self.missing = str(error)
            return
        newest = self._newest[change.path] = State(
            topic_partition=(self._incarnations.name(topic_partition[0]), topic_partition[1]),
            zxid=zxid,
            leader=state.leader,
            leader_epoch=state.leader_epoch,
            isr=state.isr,
            controller_epoch=state.controller_epoch,
            created=change.kind == "created",
            version=change.version,
            reached=self._controller_epoch,
            from_ms=self._now_ms,
        )
        self.note(newest)

    def note(self, state: State) -> None:
        """Add the next state. The first one of a leader epoch shows how its leader was elected."""
        self.states.append(state)
        last, self._last[state.topic_partition] = self._last.get(state.topic_partition), state
        if (state.topic_partition, state.leader_epoch) not in self._unclean:
            elected = last is not None and not state.created and state.leader >= 0
            eligible = (*last.isr, *last.elr) if last is not None else ()
            unclean = elected and last is not None and state.leader != last.leader and state.leader not in eligible
            self._unclean[state.topic_partition, state.leader_epoch] = unclean
