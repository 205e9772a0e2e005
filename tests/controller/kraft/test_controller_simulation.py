"""Three controllers of KRaft on one log: invariants under random requests and failovers."""

from typing import Final

import pytest

from controller.kraft.metadata_image import MetadataImage, PartitionRegistration
from controller.kraft.quorum_controller import QuorumController, make_quorum_controller
from protocol.chance import Chance
from protocol.errors import ErrorCode
from protocol.events import Event
from protocol.ids import NO_BROKER, NO_LEADER, BrokerId, LeaderEpoch, Offset
from protocol.machine import Now
from protocol.messages.administration import CreateTopicsRequest, CreateTopicsResponse, NewTopic
from protocol.messages.configuration import AlteredResource, AlteredSetting, IncrementalAlterConfigsRequest
from protocol.messages.kraft_messages import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from protocol.messages.leadership_messages import AlterIsrRequest, AlterIsrResponse, IsrChange
from protocol.messages.message_base import Message
from protocol.messages.placement import (
    AlterPartitionReassignmentsRequest,
    ElectLeadersRequest,
    Reassigned,
)
from protocol.records.compact_fields import uuid_text
from protocol.records.metadata_records import MetadataBatch
from verification.kraft.shared_log import SharedLog

BROKERS: Final = tuple(BrokerId(one) for one in range(4))
STEPS: Final = 1_500
TOPICS: Final = ("t", "u")


class Simulation:
    """Controllers 100 to 102; their log commits its batches, or loses them in a failover."""

    def __init__(self, version: str, seed: int) -> None:
        self.version = version
        self.chance = Chance(seed)
        self.log = SharedLog()
        self.now_ms = 0.0
        self.events: list[Event] = []
        settings = {
            "broker.session.timeout.ms": 900,
            "min.insync.replicas": 1 + self.chance.below(3),
            "unclean.leader.election.enable": self.chance.below(2) == 0,
            "leader.imbalance.check.interval.seconds": 2,
            "unclean.leader.election.interval.ms": 3_000,
            "eligible.leader.replicas.version": int(version >= "4" and self.chance.below(4) > 0),
        }
        self.controllers: list[QuorumController] = [
            make_quorum_controller(
                BrokerId(100 + one), version, settings, self.log, Chance(seed + one), self.events.append
            )
            for one in range(3)
        ]
        self.delivered = [0, 0, 0]
        self.image = MetadataImage()
        """The committed state, checked after each batch."""
        self.applied = 0
        self.states: dict[tuple[str, int, int], PartitionRegistration] = {}
        """{(topic id, partition, partition epoch): committed state}"""
        self.registered: set[tuple[BrokerId, int]] = set()
        self.lives = dict.fromkeys(BROKERS, 1)
        self.epochs = dict.fromkeys(BROKERS, -1)
        self.stopping: set[BrokerId] = set()
        """Brokers whose present life stops in order; it does not change its mind."""
        self.open = 0

    @property
    def now(self) -> Now:
        return Now(self.now_ms, self.now_ms)

    def pick(self, *items: int) -> int:
        return items[self.chance.below(len(items))]

    # --- steps ---

    def run(self) -> None:
        self.fail_over()
        for _ in range(STEPS):
            draw = self.chance.below(100)
            if draw < 3:
                self.fail_over()
            elif draw < 35:
                self.commit()
            elif draw < 50:
                self.pass_time()
            else:
                self.request()
            self.check_controllers()
        self.commit(everything=True)
        assert self.open == 0

    def fail_over(self) -> None:
        """Another leader, or the same again; the uncommitted tail survives or not.

        The old leader gets a notice, or its next append fails.
        """
        self.log.leads = False
        for old in self.controllers:
            if old.active and self.chance.below(2):
                old.leader_changed(self.now, NO_BROKER, LeaderEpoch(self.log.epoch + 1))
            elif old.active:
                old.due(Now(self.now_ms + 1_000_000, 0.0))
            assert not old.active
        if self.chance.below(2):
            self.log.truncate()
        self.log.lead()
        self.commit(everything=True)
        leader = self.chance.below(3)
        for controller in self.controllers:
            controller.leader_changed(self.now, BrokerId(100 + leader), self.log.epoch)

    def commit(self, *, everything: bool = False) -> None:
        behind = len(self.log.batches) - self.log.committed
        self.log.committed += behind if everything or behind == 0 else self.chance.below(behind + 1)
        for batch in self.log.batches[self.applied : self.log.committed]:
            self.apply(batch)
        self.applied = self.log.committed
        for index, controller in enumerate(self.controllers):
            batches = self.log.batches[self.delivered[index] : self.log.committed]
            self.delivered[index] = self.log.committed
            if batches:
                controller.committed(self.now, batches)

    def pass_time(self) -> None:
        self.now_ms += self.chance.below(400)
        for controller in self.controllers:
            if controller.due_at_ms <= self.now_ms:
                controller.due(self.now)
                assert controller.due_at_ms > self.now_ms

    # --- requests ---

    def request(self) -> None:
        broker = BROKERS[self.chance.below(len(BROKERS))]
        draw = self.chance.below(20)
        if draw < 3:
            previous = self.pick(-1, self.epochs[broker])
            if broker in self.stopping or self.chance.below(3) == 0:
                self.lives[broker] += 1
                self.stopping.discard(broker)
                self.epochs[broker] = -1
            self.send(BrokerRegistrationRequest(broker, self.incarnation(broker), f"broker-{broker}", "", previous))
        elif draw < 10:
            if self.chance.below(30) == 0:
                self.stopping.add(broker)
            wants_fence, at = self.chance.below(12) == 0, Offset(self.image.next_offset - 1)
            stopping = broker in self.stopping
            self.send(BrokerHeartbeatRequest(broker, self.epochs[broker], at, wants_fence, stopping))
        elif draw < 15:
            self.propose()
        elif draw < 17:
            new = NewTopic(TOPICS[self.chance.below(2)], 2, 1 + self.chance.below(3))
            self.send(CreateTopicsRequest([new], timeout_ms=1))
        elif draw < 18:
            self.send(ElectLeadersRequest(None, 1, self.chance.below(2)))
        elif draw < 19:
            target = [one for one in self.chance.shuffled(BROKERS) if self.chance.below(2)] or None
            self.send(AlterPartitionReassignmentsRequest([Reassigned(TOPICS[self.chance.below(2)], 0, target)]))
        else:
            setting = AlteredSetting("min.insync.replicas", str(1 + self.chance.below(3)))
            self.send(IncrementalAlterConfigsRequest([AlteredResource(2, "t", [setting])]))

    def incarnation(self, broker: BrokerId) -> str:
        return uuid_text(bytes([broker] * 8) + self.lives[broker].to_bytes(8, "big"))

    def propose(self) -> None:
        """Send an ISR change of a leader by the committed state, maybe with an old epoch."""
        partitions = list(self.image.partitions())
        if not partitions:
            return
        topic, number, state = partitions[self.chance.below(len(partitions))]
        others = [one for one in state.replicas if one != state.leader and self.chance.below(2)]
        change = IsrChange(
            topic.topic, number, state.leader, LeaderEpoch(state.leader_epoch - (self.chance.below(10) == 0)),
            self.chance.shuffled([state.leader, *others]), state.partition_epoch, topic.topic_id,
        )  # fmt: skip
        self.send(AlterIsrRequest(state.leader, self.epochs.get(state.leader, -1), [change]))

    def send(self, request: Message) -> None:
        """Send a request to a random controller; check its response against the committed state."""
        self.open += 1
        answered: list[Message] = []

        def reply(response: Message) -> None:
            assert not answered, (request, answered, response)
            answered.append(response)
            self.open -= 1
            self.check_response(request, response)

        active = [controller for controller in self.controllers if controller.active]
        controllers = active if active and self.chance.below(5) else self.controllers
        controllers[self.chance.below(len(controllers))].handle(self.now, request, reply)

    # --- what must hold ---

    def check_response(self, request: Message, response: Message) -> None:
        """A response without an error reports what is committed."""
        if isinstance(response, BrokerRegistrationResponse) and not response.error:
            assert isinstance(request, BrokerRegistrationRequest)
            assert (request.broker, response.broker_epoch) in self.registered
            if request.incarnation == self.incarnation(request.broker):
                self.epochs[request.broker] = response.broker_epoch
        elif isinstance(response, AlterIsrResponse):
            for one in response.partitions:
                if not one.error:
                    assert isinstance(request, AlterIsrRequest)
                    state = self.states[request.partitions[0].topic_id, one.partition, one.zk_version]
                    assert (list(state.isr), state.leader) == (one.isr, one.leader)
                    assert state.leader_epoch == one.leader_epoch
        elif isinstance(response, CreateTopicsResponse):
            for topic in response.topics:
                assert topic.error or topic.topic in self.image.topics
        elif isinstance(response, BrokerHeartbeatResponse):
            assert response.error in (0, ErrorCode.NOT_CONTROLLER, ErrorCode.STALE_BROKER_EPOCH)

    def apply(self, batch: MetadataBatch) -> None:
        """Apply a committed batch, and check the state after it."""
        before = {(topic.topic_id, number): state for topic, number, state in self.image.partitions()}
        self.image.apply_batch(batch)
        for broker, known in self.image.brokers.items():
            self.registered.add((broker, known.epoch))
        for topic, number, state in self.image.partitions():
            self.states[topic.topic_id, number, state.partition_epoch] = state
            self.check_partition(state, before.get((topic.topic_id, number)))

    def check_partition(self, state: PartitionRegistration, before: PartitionRegistration | None) -> None:
        elr_enabled = self.image.features.get("eligible.leader.replicas.version", 0) > 0
        assert state.isr or elr_enabled
        assert not set(state.isr) & set(state.elr)
        assert set(state.isr) <= set(state.replicas)  # an ELR may keep one that a cancelled reassignment removes
        if state.leader != NO_LEADER:
            assert state.leader in state.isr
            known = self.image.brokers[state.leader]
            elected = before is None or before.leader != state.leader
            if elected or self.version >= "4":
                assert known.is_active, (state, known)
        if before is not None:
            assert state.leader_epoch - before.leader_epoch in (0, 1)
            assert state.leader == before.leader or state.leader_epoch > before.leader_epoch
            assert state.partition_epoch - before.partition_epoch in ((0, 1) if state != before else (0,))

    def check_controllers(self) -> None:
        """Every controller has the committed state; the active one is at most one."""
        assert sum(controller.active for controller in self.controllers) <= 1
        for controller in self.controllers:
            assert controller.image.brokers == self.image.brokers
            assert controller.image.configs == self.image.configs
            assert controller.image.next_offset == self.image.next_offset


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("version", ["3.3", "3.7", "3.9", "4.1", "4.4"])
def test_random_brokers_and_failovers(version: str, seed: int) -> None:
    simulation = Simulation(version, seed)
    simulation.run()
    assert len(simulation.states) > 20, "too little has happened"
