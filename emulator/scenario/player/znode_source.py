"""Observation of ZooKeeper's znodes: a source of the player's metadata view.

Of the session servers' copies the newest transaction counts, from any server.
"""

from collections.abc import Callable

from emulator.scenario.player.metadata_view import MetadataView
from emulator.topology import Topology
from protocol.ids import topic_partition_text
from protocol.machine import Now
from protocol.messages.message_base import Message
from protocol.messages.session_messages import Observed, ObservedZnode, ObserveRequest
from protocol.znodes import (
    BROKER_CONFIGS,
    BROKER_IDS,
    CONTROLLER,
    CONTROLLER_EPOCH,
    DELETE_TOPICS,
    TOPIC_CONFIGS,
    TOPICS,
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

PREFIXES = ("/brokers", CONTROLLER, CONTROLLER_EPOCH)
"""Znodes that a scenario's conditions need."""
CONFIGS = (TOPIC_CONFIGS, BROKER_CONFIGS)
OF_CLUSTERS = (DELETE_TOPICS, *CONFIGS)
"""Additional znodes of a long-running cluster."""


class ZnodeSource:
    """Applies the session servers' reports to `view`.

    `refused(server, reason)` is called for unreadable znodes: any client may write there, and the known state stays.
    """

    def __init__(
        self, topology: Topology, view: MetadataView, prefixes: tuple[str, ...], refused: Callable[[str, str], None]
    ) -> None:
        self.nodes = tuple(node.name for node in topology.with_role("session"))
        self._view = view
        self._prefixes = prefixes
        self._refused = refused
        self._zxid = 0

    def request(self) -> Message:
        return ObserveRequest(list(self._prefixes))

    def take(self, now: Now, node: str, message: Message) -> set[str] | None:
        """Kinds of data that changed; None: not a message of this source."""
        if not isinstance(message, Observed):
            return None
        serving = self._view.serving
        (serving.add if message.serving else serving.discard)(node)
        fresh = [change for change in message.changes if change.zxid > self._zxid]
        self._zxid = max(self._zxid, message.zxid)
        what: set[str] = set()
        for change in fresh:
            try:
                what |= self._apply(change)
            except UnreadableZnode as error:
                self._refused(node, f"an unreadable znode: {error}")
        return what

    def lost(self, now: Now, node: str) -> set[str]:
        """The connection to a session server has ended."""
        self._view.serving.discard(node)
        return set()

    def _apply(self, change: ObservedZnode) -> set[str]:
        path, data = change.path, change.data
        if path == CONTROLLER:
            self._view.controller = decode_controller(data) if data is not None else None
            return {"controller"}
        if path == CONTROLLER_EPOCH and data is not None:
            self._view.controller_epoch = decode_controller_epoch(data)
            return {"controller"}
        if path.startswith(BROKER_IDS + "/"):
            found = brokers_in([path[len(BROKER_IDS) + 1 :]])
            if not found:
                return set()
            (broker,) = found
            self._view.live = self._view.live - {broker} if data is None else self._view.live | {broker}
            if data:  # a znode may be created first and filled in the same transaction
                self._view.racks[broker] = decode_broker(broker, data, change.zxid).rack
            return {"live"}
        if path.startswith(DELETE_TOPICS + "/"):
            (self._view.marked.discard if data is None else self._view.marked.add)(path[len(DELETE_TOPICS) + 1 :])
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
                self._view.states.pop(name, None)
            else:
                self._view.states[name] = decode_state(*topic_partition, data, change.version)
            return {"states"}
        topic = path[len(TOPICS) + 1 :]
        if "/" not in topic and data is None:
            for name in [name for name in self._view.assignments if _topic_of(name) == topic]:
                del self._view.assignments[name]
            return {"states"}
        if "/" not in topic and data is not None:
            known = topic_partition_text(topic, 0) in self._view.assignments
            for partition, assigned in decode_topic(topic, data).items():
                self._view.assignments[topic_partition_text(topic, partition)] = assigned.replicas
            return {"states"} if known else set()  # a new topic is there when it has states
        return set()

    def _configured(self, path: str, data: bytes | None) -> None:
        if data:
            self._view.configs[path] = decode_config(path, data)
        else:  # deleted, or one of the two folders
            self._view.configs.pop(path, None)


def _topic_of(name: str) -> str:
    return name.rpartition("-")[0]
