"""Machine of a dedicated controller of KRaft: a voter, and the controller on its log.

    Started -> metadata log loaded -> elections among the voters -> the leader's controller claims

Its id is one of `controller.quorum.voters`. It has no broker. Brokers fetch the metadata log from it, and send it their
registrations, heartbeats and changes.

Source: ControllerServer, SharedServer, KafkaRaftServer.
"""

from collections.abc import Mapping
from typing import Any, Final

from emulator.machines.node.controller_part import ControllerPart, MakeController
from emulator.machines.node.quorum_member import QuorumMember
from emulator.storage.files import Files
from emulator.topology import Node, Topology
from protocol.chance import Chance
from protocol.conversations import ACCEPTED_BY_KRAFT_CONTROLLER
from protocol.kinds import ExitKind
from protocol.machine import ConnectionAccepted, Effect, Input, Now, Started, StopRequested
from protocol.messages.status_messages import NodeStatus
from protocol.outbox import Outbox
from protocol.purposes import QUORUM

SHUTDOWN_MS: Final = 5_000
"""Limit of a leader's search for a successor.

Source: KafkaRaftManager.shutdown, KafkaRaftClient.shutdown(5000).
"""


class KraftControllerNode:
    """One life of a controller's process. `files` survive it."""

    ACCEPTED_MESSAGES = ACCEPTED_BY_KRAFT_CONTROLLER

    def __init__(
        self,
        node: Node,
        topology: Topology,
        settings: Mapping[str, Any],
        version: str,
        files: Files,
        make_controller: MakeController,
    ) -> None:
        self._name = node.name
        self._out = Outbox()
        self.member = QuorumMember(node, topology, settings, version, files)
        self.part = ControllerPart(settings, version, self.member, self._out, make_controller)
        self.member.on_batches = self.part.committed
        self.member.image = lambda: self.part.image
        self.member.on_leader = self.part.leader_changed
        self.member.on_failed = self._failed
        self._stopping = False

    def step(self, now: Now, event: Input) -> list[Effect]:
        """Handle one input."""
        out = self._out
        match event:
            case Started(seed):
                self.part.begin(Chance(seed + 1))
                self.member.start(now, out, Chance(seed))
            case StopRequested():
                self._stop(now, out)
            case ConnectionAccepted(purpose=purpose) if purpose == QUORUM:
                self.member.accept(event, out)
            case ConnectionAccepted(connection) if self._stopping:
                out.close(connection)
            case ConnectionAccepted():
                self.part.accept(event, out)
            case _:
                out.route(now, event)  # no owner if its connection was closed meanwhile
        self.part.finish_step(now)
        return out.take()

    def status(self, now: Now) -> NodeStatus:
        """Status as this controller knows it. Reading changes nothing."""
        return self.part.status(now)

    def _stop(self, now: Now, out: Outbox) -> None:
        """Stop in order: brokers leave at once, a leader hands over first."""
        if not self._stopping:
            self._stopping = True
            self.part.close(out)
            self.member.shut_down(now, out, SHUTDOWN_MS, lambda: out.exit(0, "stopped"))

    def _failed(self, now: Now, reason: str) -> None:
        self._out.exit(1, f"{self._name}: metadata log: {reason}", ExitKind.METADATA_LOG_FAILED)
