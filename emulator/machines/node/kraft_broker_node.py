"""Machine of a KRaft broker's process: broker, its node in the quorum, its registration.

    Started -> metadata log loaded, the quorum observed -> caught up with the high watermark
    -> logs loaded, first image published -> registered -> unfenced -> connections accepted

The registration is sent meanwhile. It may be refused for a while, as long as a former life's session lasts. Up to 3.4
the logs are loaded after it.

There is no session. Without a controller the broker goes on with its last image. In a combined process (roles broker
and controller) the node also holds the controller's part.

Source: BrokerServer, SharedServer.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from controller.session_calls import Procedures
from emulator.machines.broker.broker import Broker, ControllerReply, ControllerRequest
from emulator.machines.broker.broker_context import BrokerContext, SessionDone
from emulator.machines.broker.request_channel import Request
from emulator.machines.broker.settings import BrokerSettings
from emulator.machines.node.broker_lifecycle import BrokerLifecycle, LifecycleSettings
from emulator.machines.node.broker_status import kraft_broker_status
from emulator.machines.node.controller_part import ControllerPart
from emulator.machines.node.forwarding import Forwarding
from emulator.machines.node.image_settings import ImageSettings
from emulator.machines.node.metadata_publishing import MetadataPublishing
from emulator.machines.node.node_channels import NodeChannels
from emulator.machines.node.quorum_member import QuorumMember
from emulator.settings.setting import Value
from emulator.storage.files import Files, StorageError
from emulator.storage.log_directory import METADATA_LOG
from emulator.topology import Node, Topology, identifier_of
from protocol.chance import Chance
from protocol.conversations import ACCEPTED_BY_COMBINED_NODE, ACCEPTED_BY_KRAFT_BROKER
from protocol.gates import Gates
from protocol.ids import BrokerId, LeaderEpoch
from protocol.kinds import ExitKind
from protocol.machine import (
    ConnectionAccepted,
    ConnectionEvent,
    Effect,
    Input,
    MessageReceived,
    Now,
    Started,
    StopRequested,
)
from protocol.messages.configuration import DescribeConfigsRequest
from protocol.messages.kraft_messages import DescribeQuorumRequest, ObserveQuorumRequest
from protocol.messages.session_messages import SessionRequest
from protocol.messages.status_messages import NodeStatus
from protocol.messages.voter_messages import AddRaftVoterRequest, RemoveRaftVoterRequest
from protocol.outbox import Outbox
from protocol.purposes import NODE_TO_CONTROLLER, OBSERVE, QUORUM
from protocol.records.compact_fields import uuid_text
from protocol.records.metadata_records import TOPIC_CONFIG, MetadataBatch

QUORUM_REQUESTS: Final = (
    ObserveQuorumRequest, DescribeQuorumRequest, AddRaftVoterRequest, RemoveRaftVoterRequest,
)  # fmt: skip
"""Requests of an observer's connection that are the controller's."""
UUID_BYTES: Final = 16
OF_QUORUM: Final = ("quorum-", "kraft-controller-")
"""Prefixes of the timers of the quorum's node and of a combined process' controller."""
SHUTDOWN_MS: Final = 5_000
"""Limit of the quorum node's shutdown: KafkaRaftManager.shutdown."""


class NoSessions:
    """ZooKeeper calls of a broker that has none."""

    def call(
        self, now: Now, out: Outbox, request: SessionRequest, done: SessionDone, *, ends_with_session: bool = False
    ) -> None:
        raise AssertionError(f"KRaft broker: a call of ZooKeeper, {request}; ask the image of the metadata log")


class KraftBrokerNode:
    """One life of a broker's process. Only `files` survive it.

    `given`: the explicit ones of `settings`, and explicit ones without effect. `version`: of its binary. `make_part`
    makes the controller of a combined process, from the process' node in the quorum and its outbox.
    """

    ACCEPTED_MESSAGES = ACCEPTED_BY_KRAFT_BROKER

    def __init__(
        self,
        node: Node,
        topology: Topology,
        gates: Gates,
        settings: Mapping[str, Any],
        files: Files,
        given: Mapping[str, Value] | None = None,
        version: str = "",
        make_part: Callable[[QuorumMember, Outbox], ControllerPart] | None = None,
    ) -> None:
        self.node = node
        self._gates = gates
        self._out = Outbox()
        self._files = files
        self._settings = BrokerSettings.from_settings(settings)
        self._lifecycle_settings = lifecycle_settings = LifecycleSettings.from_settings(settings)
        self.member = QuorumMember(node, topology, settings, version or gates.binary, files)
        sessions = NoSessions()
        self.context = BrokerContext(identifier_of(node), gates, self._settings, files, sessions, self._out)
        self.channels = NodeChannels(self.context, lifecycle_settings, self._controller_node)
        self.forwarding = Forwarding(self.context, self.channels.forwarding)
        self.broker = Broker(
            self.context, self._refuse, self.forwarding.create_topic, channel=self.channels.alter_partition
        )
        self.broker.producer_ids.ask_controller = self.forwarding.ask
        self.publishing = MetadataPublishing(self.context, self.broker)
        self.lifecycle = BrokerLifecycle(
            self.context, lifecycle_settings, node.name, node.az, self.channels.heartbeat,
            lambda: self.publishing.offset, self,
        )  # fmt: skip
        self.file = _server_properties(node, topology, given or {})
        """The broker's settings file, as DescribeConfigs reports it."""
        self._image_settings = ImageSettings(
            self.context, self.broker.metadata, self.broker.dynamic, self.file, Procedures(sessions),
            lambda topic: self.publishing.image.configs.get((TOPIC_CONFIG, topic)),
        )  # fmt: skip
        self.broker.administers = self._administer
        self.controller_part = make_part(self.member, self._out) if make_part is not None else None
        """The controller of a combined process."""
        self.booted = False
        """The logs are loaded."""
        self._listens = False
        self._stopping = False
        self._ending = False
        self.member.on_batches = self._committed
        self.member.image = lambda: self.publishing.image
        self.member.on_leader = self._leader_changed
        self.member.on_failed = self._member_failed

    def step(self, now: Now, event: Input) -> list[Effect]:
        """Handle one input."""
        out, context = self._out, self.context
        context.now = now
        try:
            if not out.route(now, event):
                self._handle(now, event, out)
            self._finish_step(now, out)
        except StorageError as error:
            self._storage_failed(error)
            context.threads.go_on()
        return out.take()

    def _finish_step(self, now: Now, out: Outbox) -> None:
        if self.controller_part is not None and not self.member.ended:
            self.controller_part.finish_step(now)
        self.member.deliver(now, out)
        if self.context.threads.ready:
            self.context.threads.go_on()

    def status(self, now: Now) -> NodeStatus:
        """Status as this broker knows it. Reading changes nothing."""
        state = self.lifecycle.state.value
        return kraft_broker_status(self.broker, self.member, state, now.mono_ms, self.controller_part)

    @property
    def listens(self) -> bool:
        """Whether its port accepts connections: it is unfenced, up to 3.4 its logs are loaded."""
        return self._listens

    @property
    def reads_requests(self) -> bool:
        return self._listens

    @property
    def knows_cluster(self) -> bool:
        """Whether its metadata are not empty."""
        return bool(self.broker.metadata.live)

    # --- inputs ---

    def _handle(self, now: Now, event: Input, out: Outbox) -> None:
        match event:
            case Started(seed, incarnation):
                self._start(now, out, seed, incarnation)
            case ConnectionAccepted(connection) if self._ending:
                out.refuse(connection)
            case ConnectionAccepted():
                self._accepted(event, out)
            case StopRequested():
                self._stop()
            case _:
                pass  # of a connection that was closed meanwhile

    def _start(self, now: Now, out: Outbox, seed: int, incarnation: int) -> None:
        self.broker.producer_ids.incarnation = self.broker.replicas.incarnation = incarnation
        self.context.chance = Chance(seed + 1)
        self.broker.metadata.chance = Chance(seed + 4)
        self.broker.metadata.hide()
        draws = Chance(seed + 2)
        life = uuid_text(bytes(draws.below(256) for _ in range(UUID_BYTES)))
        previous_epoch = self.broker.replicas.marked_epoch()
        if self.controller_part is not None:
            self.controller_part.begin(Chance(seed + 3))
        self.member.start(now, out, Chance(seed))
        if not self._ending:
            self.lifecycle.start(life, previous_epoch)

    def _accepted(self, event: ConnectionAccepted, out: Outbox) -> None:
        part = self.controller_part
        if event.purpose == QUORUM:
            if self.member.may_vote:
                self.member.accept(event, out)
            else:
                out.close(event.connection)
        elif event.purpose == NODE_TO_CONTROLLER:
            if part is not None:
                part.accept(event, out)
            else:
                out.close(event.connection)
        elif event.purpose == OBSERVE and part is not None:
            self._choose(event, part, out)
        elif event.purpose == OBSERVE or self._listens:
            self.broker.accepted(event)
        elif self._gates.serves_after_unfenced:
            out.refuse(event.connection)
        else:
            out.close(event.connection)

    def _choose(self, accepted: ConnectionAccepted, part: ControllerPart, out: Outbox) -> None:
        """Give an observer's connection to the broker or the controller, by its first message."""

        def on_event(now: Now, event: ConnectionEvent, out: Outbox) -> None:
            if not isinstance(event, MessageReceived):
                return
            if isinstance(event.message, QUORUM_REQUESTS):
                part.accept(accepted, out)
            else:
                self.broker.accepted(accepted)
            out.route(now, event)

        out.own(accepted.connection, on_event)

    def _administer(self, request: Request) -> None:
        if isinstance(request.message, DescribeConfigsRequest):
            self._image_settings.describe(request)
        else:
            self.forwarding.forward(request)

    def _refuse(self, request: ControllerRequest, reply: ControllerReply) -> None:
        raise AssertionError(f"KRaft broker: {type(request).__name__} is a controller's; no connection accepts it")

    # --- the quorum ---

    def _controller_node(self) -> str | None:
        return self.member.voter_name(self.member.leader)

    def _committed(self, now: Now, batches: Sequence[MetadataBatch]) -> None:
        self.context.now = now
        if self.controller_part is not None:
            self.controller_part.committed(now, batches)
        if not self._ending:
            self.publishing.committed(batches)
            caught_up = self.publishing.has_records and self.publishing.offset + 1 >= self.member.high_watermark
            if caught_up and not self.booted and self._gates.publishes_before_registered:
                self._load()

    def _leader_changed(self, now: Now, leader: BrokerId, epoch: LeaderEpoch) -> None:
        self.context.now = now
        if self.controller_part is not None:
            self.controller_part.leader_changed(now, leader, epoch)
        self.publishing.leader_changed(leader, epoch)

    def _member_failed(self, now: Now, reason: str) -> None:
        self._exit_failed(reason)

    def _exit_failed(self, reason: str) -> None:
        if not self._ending:
            self._ending = True
            self._out.exit(1, f"{self.node.name}: metadata log: {reason}", ExitKind.METADATA_LOG_FAILED)

    def _storage_failed(self, error: StorageError) -> None:
        """End the process: any failed directory ends a broker of KRaft."""
        if error.path.startswith(METADATA_LOG):
            self._exit_failed(str(error))
        else:
            self.broker.replicas.storage_failed(error)

    # --- the lifecycle's calls (LifecycleListener) ---

    def _load(self) -> None:
        """Load the logs, and publish the image. Source: BrokerMetadataPublisher, first publication."""
        self.broker.start(self.publishing.topic_configs)
        if self.broker.replicas.failed:
            return
        self.booted = True
        self.publishing.begin()

    def caught_up(self) -> None:
        """Load the logs, if they are not loaded yet, and ask to be unfenced."""
        if not self.booted:
            self._load()
        if self.broker.replicas.failed:
            return
        if not self._gates.serves_after_unfenced:
            self._listen()
        self.lifecycle.ready_to_unfence()

    def unfenced(self) -> None:
        """Accept connections."""
        self._listen()

    def _listen(self) -> None:
        self._listens = True
        self.broker.metadata.show()

    def registration_timed_out(self) -> None:
        """Exit, as Kafka does when its start fails."""
        limit_ms = self._lifecycle_settings.initial_broker_registration_timeout_ms
        why = f"not registered within {limit_ms} ms (initial.broker.registration.timeout.ms)"
        self._shut_down(1, why, ExitKind.NOT_REGISTERED)

    def may_shut_down(self) -> None:
        """End an orderly stop."""
        self._shut_down(0, "stopped", ExitKind.REQUESTED)

    # --- an orderly stop ---

    def _stop(self) -> None:
        if self._stopping:
            return
        self._stopping = True
        if self._settings.controlled_shutdown_enable:
            self.context.stopping = True
            self.lifecycle.begin_shutdown()
        else:
            self.lifecycle.close()
            self.may_shut_down()

    def _shut_down(self, code: int, reason: str, kind: ExitKind) -> None:
        """Close the broker, then leave the quorum. Logs that were not loaded stay as they are."""
        if self._ending:
            return
        self._ending = True
        self._listens = False
        self.lifecycle.close()
        now, out = self.context.now, self._out
        self.channels.close()
        if self.booted:
            self.broker.stop()
        if self.broker.replicas.failed:
            return
        if self.controller_part is not None:
            self.controller_part.close(out)
        out.cancel_timers_but(OF_QUORUM)  # a combined node's quorum takes a while, and the broker has ended
        self.member.shut_down(now, out, SHUTDOWN_MS, lambda: out.exit(code, reason, kind))


class CombinedNode(KraftBrokerNode):
    """One life of a process with both roles (process.roles=broker,controller)."""

    ACCEPTED_MESSAGES = ACCEPTED_BY_COMBINED_NODE


def _server_properties(node: Node, topology: Topology, given: Mapping[str, Value]) -> dict[str, Value]:
    """Contents of the broker's server.properties, if it had one."""
    voters = ",".join(f"{voter}@{name}:9093" for voter, name in sorted(topology.voters.items()))
    topologys: dict[str, Value] = {
        "node.id": node.number,
        "process.roles": ",".join(role for role in ("broker", "controller") if role in node.roles),
        "controller.quorum.voters": voters,
    }
    if node.az:
        topologys["broker.rack"] = node.az
    return {**given, **topologys}
