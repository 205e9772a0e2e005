"""The player's observations: the session service's znodes and each broker's metadata.

Both are pushed as they change. Connections of purpose "observe" to every session server and every running broker; the
player is outside every AZ, so no cut affects them. Of the session servers' copies the newest transaction counts, from
any server.
"""

from collections.abc import Callable

from emulator.faults import targets
from emulator.scenario.conditions import PartitionView
from emulator.topology import Topology
from protocol.events import FrameRefused
from protocol.ids import BrokerId, topic_partition_text
from protocol.machine import ConnectionEvent, ConnectionLost, ConnectionOpened, Now
from protocol.messages.leadership_messages import MetadataObserved, MetadataResponse, ObserveMetadataRequest
from protocol.messages.session_messages import Observed, ObservedZnode, ObserveRequest
from protocol.outbox import Outbox
from protocol.purposes import OBSERVE
from protocol.znodes import (
    BROKER_CONFIGS,
    BROKER_IDS,
    CONTROLLER,
    CONTROLLER_EPOCH,
    DELETE_TOPICS,
    TOPIC_CONFIGS,
    TOPICS,
    Leadership,
    UnreadableZnode,
    brokers_in,
    decode_broker,
    decode_config,
    decode_controller,
    decode_controller_epoch,
    decode_state,
    decode_topic,
    state_partition,
)

RETRY_MS = 200.0
PREFIXES = ("/brokers", CONTROLLER, CONTROLLER_EPOCH)
"""Znodes that a scenario's conditions need."""
CONFIGS = (TOPIC_CONFIGS, BROKER_CONFIGS)
OF_CLUSTERS = (DELETE_TOPICS, *CONFIGS)
"""Additional znodes of a long-running cluster."""


class Observing:
    """Observes znodes and brokers' metadata.

    `changed(now, what)` is called after every change: `states`, `controller`, `live` or `views`. `prefixes`: of the
    observed znodes.
    """

    def __init__(
        self, topology: Topology, changed: Callable[[Now, str], None], prefixes: tuple[str, ...] = PREFIXES
    ) -> None:
        self._changed = changed
        self._prefixes = prefixes
        self._sessions = [node.name for node in topology.with_role("session")]
        self._targets: dict[int, str] = {}
        self._wanted: set[str] = set()
        self._zxid = 0
        self.serving: set[str] = set()
        self.states: dict[str, Leadership] = {}
        self.assignments: dict[str, tuple[BrokerId, ...]] = {}
        self.controller: BrokerId | None = None
        self.controller_epoch = 0
        self.live: frozenset[BrokerId] = frozenset()
        self.racks: dict[BrokerId, str] = {}
        self.metadata: dict[int, MetadataResponse] = {}
        self.marked: set[str] = set()
        """Topics that are marked for deletion, if that is observed."""
        self.configs: dict[str, dict[str, str]] = {}
        """{path: settings} of topics and brokers that have their own, if that is observed."""

    def start(self, out: Outbox) -> None:
        """Observe the session servers."""
        for name in self._sessions:
            self.watch(out, name)

    def watch(self, out: Outbox, node: str) -> None:
        """Observe a node from now on, through its restarts."""
        self._wanted.add(node)
        if node not in self._targets.values():
            self._targets[out.open(node, OBSERVE, self._input)] = node

    def unwatch(self, node: str) -> None:
        """Stopped on purpose: no connection attempts."""
        self._wanted.discard(node)

    # --- inputs ---

    def _input(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        connection = event.connection
        if isinstance(event, ConnectionOpened):
            sessions = self._targets[connection] in self._sessions
            out.send(connection, ObserveRequest(list(self._prefixes)) if sessions else ObserveMetadataRequest())
        elif isinstance(event, ConnectionLost):
            self._lost(now, self._targets.pop(connection), out)
        elif isinstance(event.message, Observed):
            self._observed(now, self._targets[connection], event.message, out)
        elif isinstance(event.message, MetadataObserved):
            self.metadata[event.message.broker] = event.message.metadata
            self._changed(now, "views")
        else:
            out.close(connection)  # not a message for an observer
            self._lost(now, self._targets.pop(connection), out)

    def _again(self, out: Outbox, node: str) -> None:
        if node in self._wanted:
            self.watch(out, node)

    def _lost(self, now: Now, node: str, out: Outbox) -> None:
        self.serving.discard(node)
        for broker in [b for b in self.metadata if node == f"broker-{b}"]:
            del self.metadata[broker]
            self._changed(now, "views")
        if node in self._wanted:
            out.set_timer(("observe", node), RETRY_MS, lambda now, out: self._again(out, node))

    def _observed(self, now: Now, server: str, observed: Observed, out: Outbox) -> None:
        (self.serving.add if observed.serving else self.serving.discard)(server)
        fresh = [change for change in observed.changes if change.zxid > self._zxid]
        self._zxid = max(self._zxid, observed.zxid)
        what: set[str] = set()
        for change in fresh:
            try:
                what |= self._apply(change)
            except UnreadableZnode as error:  # any client may write there: keep the known state
                out.emit(FrameRefused(connection="", peer=server, reason=f"an unreadable znode: {error}"))
        for kind in ("states", "controller", "live"):
            if kind in what:
                self._changed(now, kind)

    def _apply(self, change: ObservedZnode) -> set[str]:
        path, data = change.path, change.data
        if path == CONTROLLER:
            self.controller = decode_controller(data) if data is not None else None
            return {"controller"}
        if path == CONTROLLER_EPOCH and data is not None:
            self.controller_epoch = decode_controller_epoch(data)
            return {"controller"}
        if path.startswith(BROKER_IDS + "/"):
            found = brokers_in([path[len(BROKER_IDS) + 1 :]])
            if not found:
                return set()
            (broker,) = found
            self.live = self.live - {broker} if data is None else self.live | {broker}
            if data:  # a znode may be created first and filled in the same transaction
                self.racks[broker] = decode_broker(broker, data, change.zxid).rack
            return {"live"}
        if path.startswith(DELETE_TOPICS + "/"):
            (self.marked.discard if data is None else self.marked.add)(path[len(DELETE_TOPICS) + 1 :])
            return set()
        if path.startswith(CONFIGS):
            self._configured(path, data)
            return set()
        if not path.startswith(TOPICS + "/"):
            return set()
        topic_partition = state_partition(path)
        if topic_partition is not None:
            name = topic_partition_text(*topic_partition)
            if data is None:
                self.states.pop(name, None)
            else:
                self.states[name] = decode_state(*topic_partition, data, change.version)
            return {"states"}
        topic = path[len(TOPICS) + 1 :]
        if "/" not in topic and data is None:
            for name in [name for name in self.assignments if _topic_of(name) == topic]:
                del self.assignments[name]
            return {"states"}
        if "/" not in topic and data is not None:
            known = topic_partition_text(topic, 0) in self.assignments
            for partition, assigned in decode_topic(topic, data).items():
                self.assignments[topic_partition_text(topic, partition)] = assigned.replicas
            return {"states"} if known else set()  # a new topic is there when it has states
        return set()

    def _configured(self, path: str, data: bytes | None) -> None:
        if data:
            self.configs[path] = decode_config(path, data)
        else:  # deleted, or one of the two folders
            self.configs.pop(path, None)

    # --- as conditions see it ---

    @property
    def topics(self) -> frozenset[str]:
        """Those that the session service knows."""
        return frozenset(map(_topic_of, self.assignments))

    def partition_views(self) -> dict[str, PartitionView]:
        return {
            name: PartitionView(seen.leader, seen.isr, seen.leader_epoch, self.assignments.get(name, ()))
            for name, seen in self.states.items()
        }

    def node_of(self, target: str) -> str:
        """The node that a target means now. Raises NoTarget."""
        leaders = {name: state.leader for name, state in self.states.items()}
        return targets.resolved(target, leaders, self.controller)

    def broker_views(self) -> dict[int, dict[str, int]]:
        """{broker: {"t-0": leader}}"""
        return {
            broker: {topic_partition_text(p.topic, p.partition): p.leader for p in metadata.partitions}
            for broker, metadata in self.metadata.items()
        }


def _topic_of(name: str) -> str:
    return name.rpartition("-")[0]
