"""Rendering of processes, sessions and connections as log lines."""

from abc import ABC, abstractmethod
from typing import Any, Final

from emulator.runs.kafka_log.process_texts import CONNECTIONS, PREFIXES
from emulator.topology import identifier_named
from protocol import events as e

STOPPED: Final = "stopped"
"""Reason of a process's end by SIGTERM; at a run's end processes end without a line."""
NODE_PORT: Final = 9092


class ProcessRendering(ABC):
    """Renders the events of one process that are about no partition."""

    def __init__(self) -> None:
        self._peers: dict[str, str] = {}

    @abstractmethod
    def _add(self, name: str, event: e.Event, **more: Any) -> None:
        """Add the line of this name, if the version writes it."""

    def _node_started(self, event: e.NodeStarted) -> None:
        self._peers.clear()
        self._add("process-begins", event)
        self._add("server-starts", event)

    def _node_stopped(self, event: e.NodeStopped) -> None:
        if event.code == 0 and event.reason == STOPPED:
            self._add("signal", event)
            self._add("shutting-down", event)

    def _session_changed(self, event: e.SessionChanged) -> None:
        names = {
            "disconnected": ("session-broken", "session-lost"),
            "expired": ("session-unknown", "session-expired"),
            "connected": ("session-connected",),
        }
        for name in names.get(event.state, ()):
            self._add(name, event, session_hex=f"{event.session:x}")

    def _connection_changed(self, event: e.ConnectionChanged, node: str, cause: str) -> None:
        """The end of a connection that this node opened. A timer's step closes what has timed out."""
        if event.purpose not in PREFIXES or not event.connection.startswith(f"{node}."):
            return
        if event.change in ("opening", "opened"):
            self._peers[event.connection] = event.peer
            return
        peer = self._peers.pop(event.connection, event.peer)
        if not peer:
            return
        if f"{event.purpose}-{event.change}" not in CONNECTIONS:
            return
        end = "timed-out" if event.change == "closed" and cause.startswith("timer:") else event.change
        more = {"peer": identifier_named(peer), "host": peer, "port": NODE_PORT}
        self._add(f"{event.purpose}-{end}", event, **more)
