"""The player's observations: the cluster's metadata, and each broker's own.

Both are pushed as they change. Connections of purpose "observe" to every session server or controller, and to every
running broker; the player is outside every AZ, so no cut affects them.
"""

from collections.abc import Callable
from typing import Any

from emulator.scenario.player.metadata_log_source import MetadataLogSource, Noted
from emulator.scenario.player.metadata_view import MetadataView
from emulator.scenario.player.znode_source import OF_CLUSTERS, PREFIXES, ZnodeSource
from emulator.topology import KRAFT, Topology
from protocol.events import FrameRefused
from protocol.machine import ConnectionEvent, ConnectionLost, ConnectionOpened, Now
from protocol.messages.leadership_messages import MetadataObserved, ObserveMetadataRequest
from protocol.outbox import Outbox
from protocol.purposes import OBSERVE
from protocol.znodes import Leadership

__all__ = ["OF_CLUSTERS", "PREFIXES", "Observing"]

RETRY_MS = 200.0
CHANGES = ("states", "controller", "live")
"""Kinds of changed data, in the order of their reports."""


def _ignored(now: Now, kind: str, entry: dict[str, Any]) -> None:
    """A committed change that nothing keeps."""


class Observing(MetadataView):
    """Observes the cluster's metadata and brokers' own.

    `changed(now, what)` is called after every change: `states`, `controller`, `live` or `views`. `prefixes`: of the
    observed znodes. `noted`: receives what the metadata log commits.
    """

    def __init__(
        self, topology: Topology, changed: Callable[[Now, str], None], prefixes: tuple[str, ...] = PREFIXES,
        noted: Noted = _ignored,
    ) -> None:  # fmt: skip
        super().__init__()
        self._changed = changed
        self._refusals: list[tuple[str, str]] = []

        def refused(node: str, reason: str) -> None:
            self._refusals.append((node, reason))

        self._source: MetadataLogSource | ZnodeSource = (
            MetadataLogSource(topology, self, noted, refused)
            if topology.metadata == KRAFT
            else ZnodeSource(topology, self, prefixes, refused)
        )
        self._brokers = frozenset(node.name for node in topology.with_role("broker"))
        self._targets: dict[int, tuple[str, bool]] = {}
        """{connection: node, and whether it is for the source}"""
        self._wanted: set[str] = set()

    def start(self, out: Outbox) -> None:
        """Observe the nodes that hold the cluster's metadata, as far as they run from the start."""
        if isinstance(self._source, ZnodeSource):
            for name in self._source.nodes:
                self.watch(out, name)

    def watch(self, out: Outbox, node: str) -> None:
        """Observe a node from now on, through its restarts."""
        self._wanted.add(node)
        open_to = set(self._targets.values())
        for of_source in (True, False):
            has_role = node in (self._source.nodes if of_source else self._brokers)
            if has_role and (node, of_source) not in open_to:
                self._targets[out.open(node, OBSERVE, self._input)] = (node, of_source)

    def unwatch(self, node: str) -> None:
        """Stopped on purpose: no connection attempts."""
        self._wanted.discard(node)

    def watches(self, node: str) -> bool:
        """Whether a node is observed, or would be if it ran."""
        return node in self._wanted

    def shown_states(self) -> dict[str, Leadership]:
        return self._source.shown if isinstance(self._source, MetadataLogSource) else self.states

    # --- inputs ---

    def _input(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        connection = event.connection
        node, of_source = self._targets[connection]
        if isinstance(event, ConnectionOpened):
            out.send(connection, self._source.request() if of_source else ObserveMetadataRequest())
            return
        if isinstance(event, ConnectionLost):
            self._lost(now, connection, out)
            return
        if of_source:
            what = self._source.take(now, node, event.message)
            if what is not None:
                self._report(now, what, out)
                return
        elif isinstance(event.message, MetadataObserved):
            self.metadata[event.message.broker] = event.message.metadata
            if isinstance(self._source, MetadataLogSource):
                self._source.brokers_changed()
            self._changed(now, "views")
            return
        out.close(connection)  # not a message for an observer
        self._lost(now, connection, out)

    def _report(self, now: Now, what: set[str], out: Outbox) -> None:
        for node, reason in self._refusals:
            out.emit(FrameRefused(connection="", peer=node, reason=reason))
        self._refusals.clear()
        for kind in CHANGES:
            if kind in what:
                self._changed(now, kind)

    def _again(self, out: Outbox, node: str) -> None:
        if node in self._wanted:
            self.watch(out, node)

    def _lost(self, now: Now, connection: int, out: Outbox) -> None:
        node, of_source = self._targets.pop(connection)
        if of_source:
            self._report(now, self._source.lost(now, node), out)
        else:
            for broker in [b for b in self.metadata if node == f"broker-{b}"]:
                del self.metadata[broker]
                self._changed(now, "views")
        if node in self._wanted:
            out.set_timer(("observe", node), RETRY_MS, lambda now, out: self._again(out, node))
