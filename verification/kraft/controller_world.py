"""Three controllers on one log: a seed's brokers, requests and failovers, each step judged.

The log commits its batches late, or loses them in a failover. A broker restarts, stops in order, and proposes ISRs with
old epochs and with brokers that are gone.
"""

from typing import Final

from controller.kraft.metadata_image import MetadataImage
from controller.kraft.quorum_controller import QuorumController, make_quorum_controller
from protocol.chance import Chance
from protocol.events import Event
from protocol.ids import NO_BROKER, BrokerId, LeaderEpoch, Offset
from protocol.machine import Now
from protocol.messages.administration import CreateTopicsRequest, NewTopic
from protocol.messages.configuration import AlteredResource, AlteredSetting, IncrementalAlterConfigsRequest
from protocol.messages.kraft_messages import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from protocol.messages.leadership_messages import AlterIsrRequest, IsrChange
from protocol.messages.message_base import Message
from protocol.messages.placement import AlterPartitionReassignmentsRequest, ElectLeadersRequest, Reassigned
from protocol.records.compact_fields import uuid_text
from verification.kraft.controller_invariants import (
    Committed,
    fenced_by,
    hold,
    refusal_due,
    stays_fenced_after,
    succeeded,
)
from verification.kraft.shared_log import SharedLog

BROKERS: Final = tuple(BrokerId(one) for one in range(4))
STEPS: Final = 1_200
TOPICS: Final = ("t", "u")
SESSION_MS: Final = 900
CONTROLLERS: Final = 3
VERSIONS: Final = ("3.3", "3.6", "3.9", "4.1", "4.4")
FIRST_CONTROLLER: Final = 100


class ControllerWorld:
    """A seed's world. `run` raises InvariantBroken."""

    def __init__(self, version: str, seed: int, steps: int = STEPS) -> None:
        self.version = version
        self._steps = steps
        self.chance = Chance(seed)
        self.log = SharedLog()
        self.now_ms = 0.0
        self.committed = Committed()
        self.appended = MetadataImage()
        self._seen = 0
        events: list[Event] = []
        settings = {
            "broker.session.timeout.ms": SESSION_MS,
            "min.insync.replicas": 1 + self.chance.below(3),
            "unclean.leader.election.enable": self.chance.below(2) == 0,
            "leader.imbalance.check.interval.seconds": 2,
            "unclean.leader.election.interval.ms": 3_000,
            "eligible.leader.replicas.version": int(version >= "4" and self.chance.below(4) > 0),
        }
        self.controllers: list[QuorumController] = [
            make_quorum_controller(
                BrokerId(FIRST_CONTROLLER + one), version, settings, self.log, Chance(seed + one), events.append
            )
            for one in range(CONTROLLERS)
        ]
        self._delivered = [0] * CONTROLLERS
        self._applied = 0
        self._contacts: dict[BrokerId, float] = {}
        """{broker: its last heartbeat at the active controller, or that one's claim}"""
        self._lives = dict.fromkeys(BROKERS, 1)
        self._epochs = dict.fromkeys(BROKERS, -1)
        self._stopping: set[BrokerId] = set()
        self._waiting: dict[int, QuorumController] = {}
        """{number of a request without a response: its controller}"""
        self._sent = 0

    @property
    def now(self) -> Now:
        return Now(self.now_ms, self.now_ms)

    # --- steps ---

    def run(self) -> None:
        """Play the seed. Raises InvariantBroken."""
        self._fail_over()
        for _ in range(self._steps):
            draw = self.chance.below(100)
            if draw < 3:
                self._fail_over()
            elif draw < 35:
                self._commit()
            elif draw < 50:
                self._pass_time()
            else:
                self._request()
            self._look()
        self._commit(everything=True)
        hold("answered-once", not self._waiting, f"{len(self._waiting)} requests have no response")

    def _fail_over(self) -> None:
        """Elect another leader, or the same again; the uncommitted tail survives or not.

        The old leader gets a notice, or its next append fails.
        """
        self.log.leads = False
        epoch = self.log.epoch
        for old in self.controllers:
            if not old.active:
                continue
            if self.chance.below(2):
                old.leader_changed(self.now, NO_BROKER, LeaderEpoch(epoch + 1))
            else:
                old.due(Now(self.now_ms + 1_000_000, 0.0))
            hold("one-active", not old.active, "it does not renounce")
            hold("resigns", epoch in self.log.resigned, f"epoch {epoch}")
            hold("answered-once", old not in self._waiting.values(), "it renounced with requests unanswered")
        if self.chance.below(2):
            self.log.truncate()
            self._seen = 0
            self.appended = MetadataImage()
        self.log.lead()
        self._commit(everything=True)
        self._contacts = dict.fromkeys(BROKERS, self.now_ms)
        leader = self.chance.below(CONTROLLERS)
        for controller in self.controllers:
            controller.leader_changed(self.now, BrokerId(FIRST_CONTROLLER + leader), self.log.epoch)

    def _commit(self, *, everything: bool = False) -> None:
        behind = len(self.log.batches) - self.log.committed
        self.log.committed += behind if everything or behind == 0 else self.chance.below(behind + 1)
        for batch in self.log.batches[self._applied : self.log.committed]:
            self.committed.apply(batch, self.version)
        self._applied = self.log.committed
        for index, controller in enumerate(self.controllers):
            batches = self.log.batches[self._delivered[index] : self.log.committed]
            self._delivered[index] = self.log.committed
            if batches:
                controller.committed(self.now, batches)

    def _pass_time(self) -> None:
        self.now_ms += self.chance.below(400)
        for controller in self.controllers:
            if controller.due_at_ms <= self.now_ms:
                before = len(self.log.batches)
                controller.due(self.now)
                for broker in fenced_by(self.log.batches[before:]):
                    quiet_ms = self.now_ms - self._contacts[broker]
                    hold("session-kept", quiet_ms >= SESSION_MS, f"{broker} fenced {quiet_ms:.0f} ms after a contact")

    def _look(self) -> None:
        """Check the controllers between two steps."""
        hold("one-active", sum(controller.active for controller in self.controllers) <= 1)
        image = self.committed.image
        for controller in self.controllers:
            mine = controller.image
            same = mine.brokers == image.brokers and mine.configs == image.configs and mine.topics == image.topics
            hold("committed-image", same and mine.next_offset == image.next_offset, mine.topics)

    def _append_seen(self) -> MetadataImage:
        for batch in self.log.batches[self._seen :]:
            self.appended.apply_batch(batch)
        self._seen = len(self.log.batches)
        return self.appended

    # --- requests ---

    def _request(self) -> None:
        chance = self.chance
        broker = BROKERS[chance.below(len(BROKERS))]
        draw = chance.below(20)
        if draw < 3:
            self._register(broker)
        elif draw < 10:
            if chance.below(30) == 0:
                self._stopping.add(broker)
            at = Offset(self.committed.image.next_offset - 1 - chance.below(3) * chance.below(10))
            stopping, epoch = broker in self._stopping, self._epochs[broker] - (chance.below(12) == 0)
            self._send(BrokerHeartbeatRequest(broker, epoch, at, chance.below(12) == 0, stopping))
        elif draw < 15:
            self._propose()
        elif draw < 17:
            new = NewTopic(TOPICS[chance.below(2)], 2, 1 + chance.below(3))
            self._send(CreateTopicsRequest([new], timeout_ms=1))
        elif draw < 18:
            self._send(ElectLeadersRequest(None, 1, chance.below(2)))
        elif draw < 19:
            target = [one for one in chance.shuffled(BROKERS) if chance.below(2)] or None
            self._send(AlterPartitionReassignmentsRequest([Reassigned(TOPICS[chance.below(2)], 0, target)]))
        else:
            setting = AlteredSetting("min.insync.replicas", str(1 + chance.below(3)))
            self._send(IncrementalAlterConfigsRequest([AlteredResource(2, "t", [setting])]))

    def _register(self, broker: BrokerId) -> None:
        previous = -1 if self.chance.below(2) else self._epochs[broker]
        if broker in self._stopping or self.chance.below(3) == 0:
            self._lives[broker] += 1
            self._stopping.discard(broker)
            self._epochs[broker] = -1
        incarnation = self._incarnation(broker)
        if previous != -1:
            self.committed.perhaps_clean.add(incarnation)
        self._send(BrokerRegistrationRequest(broker, incarnation, f"broker-{broker}", "", previous))

    def _incarnation(self, broker: BrokerId) -> str:
        return uuid_text(bytes([broker] * 8) + self._lives[broker].to_bytes(8, "big"))

    def _propose(self) -> None:
        """Send an ISR change of a leader by the committed state, maybe with old epochs."""
        chance, partitions = self.chance, list(self.committed.image.partitions())
        if not partitions:
            return
        topic, number, state = partitions[chance.below(len(partitions))]
        others = [one for one in state.replicas if one != state.leader and chance.below(2)]
        isr = chance.shuffled([state.leader, *others])
        epochs = [self._epochs.get(one, -1) - (chance.below(15) == 0) for one in isr] if chance.below(2) else []
        change = IsrChange(
            topic.topic, number, state.leader, LeaderEpoch(state.leader_epoch - (chance.below(10) == 0)),
            isr, state.partition_epoch - (chance.below(10) == 0), topic.topic_id, broker_epochs=epochs,
        )  # fmt: skip
        epoch = self._epochs.get(state.leader, -1) - (chance.below(10) == 0)
        self._send(AlterIsrRequest(state.leader, epoch, [change]))

    def _send(self, request: Message) -> None:
        """Send a request to a controller, mostly the active one, and check its response."""
        active = [controller for controller in self.controllers if controller.active]
        among = active if active and self.chance.below(5) else self.controllers
        controller = among[self.chance.below(len(among))]
        appended = self._append_seen()
        forbidden = refusal_due(appended, request) if controller.active else ""
        stays_fenced = stays_fenced_after(appended, request)
        self._sent += 1
        number = self._sent
        self._waiting[number] = controller

        def reply(response: Message) -> None:
            hold("answered-once", self._waiting.pop(number, None) is not None, (request, response))
            if forbidden:
                hold(forbidden, not succeeded(response), (request, response))
            if stays_fenced and isinstance(response, BrokerHeartbeatResponse):
                hold("unfenced-caught-up", bool(response.error) or response.is_fenced, (request, response))
            self.committed.check_response(request, response)
            self._learn(request, response)

        if isinstance(request, BrokerHeartbeatRequest) and controller.active and not forbidden:
            self._contacts[request.broker] = self.now_ms
        controller.handle(self.now, request, reply)

    def _learn(self, request: Message, response: Message) -> None:
        """Adopt the broker epoch of a registration."""
        if not isinstance(response, BrokerRegistrationResponse) or not isinstance(request, BrokerRegistrationRequest):
            return
        if not response.error and request.incarnation == self._incarnation(request.broker):
            self._epochs[request.broker] = response.broker_epoch


def play_controllers(seed: int) -> None:
    """Play a seed with the version that belongs to it. Raises InvariantBroken."""
    ControllerWorld(VERSIONS[seed % len(VERSIONS)], seed).run()
