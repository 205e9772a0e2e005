"""What the session service has committed while the world ran: states of partitions, topics that went.

The first server to apply a transaction shows it: by then it lies on a majority's disks. It is applied here to a tree of
our own, for only that tells whether a write succeeded.
"""

from collections.abc import Iterator

import msgspec

from emulator.machines.session.server import SessionServer
from emulator.machines.session.tree import Tree
from emulator.machines.session.znodes import Change, parent_of
from protocol.ids import TopicPartition
from protocol.znodes import TOPICS, UnreadableZnode, decode_state, state_partition

STATE = "/state"


class State(msgspec.Struct):
    """A partition's state as it was committed. `created`: it follows on none."""

    topic_partition: TopicPartition
    zxid: int
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int
    created: bool = False


class Committed:
    """`states`: in order of their zxids. `missing`: why some are not known; "" if all are."""

    def __init__(self) -> None:
        self._tree = Tree()
        self.states: list[State] = []
        self.missing = ""

    @property
    def zxid(self) -> int:
        """Of the newest transaction seen."""
        return self._tree.zxid

    def catch_up(self, server: SessionServer) -> Iterator[str]:
        """`server` has applied more than was seen. Yields each topic that is gone, when it goes."""
        transactions = server.committed_after(self._tree.zxid)
        if transactions is None:
            self.missing = f"what {server.name} has committed does not follow on transaction {self._tree.zxid:#x}"
            before, self._tree = self._tree, Tree.restored(server.tree.snapshot())
            for zxid, change in before.changes_to(self._tree):
                yield from self._changed(zxid, change)
            return
        for transaction in transactions:
            _, changes = self._tree.apply(transaction)
            for change in changes:
                yield from self._changed(transaction.zxid, change)

    def renamed(self, topic: str, name: str) -> None:
        """What was of `topic` is called `name` from now on."""
        for state in self.states:
            if state.topic_partition[0] == topic:
                state.topic_partition = (name, state.topic_partition[1])

    def _changed(self, zxid: int, change: Change) -> Iterator[str]:
        path = change.path
        if not path.startswith(TOPICS):
            return
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
        self.states.append(
            State(
                topic_partition=topic_partition,
                zxid=zxid,
                leader=state.leader,
                leader_epoch=state.leader_epoch,
                isr=state.isr,
                controller_epoch=state.controller_epoch,
                created=change.kind == "created",
            )
        )
