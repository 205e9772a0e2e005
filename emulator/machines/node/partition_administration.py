"""CreatePartitions at the controller's broker (AdminManager.createPartitions, KIP-195).

It writes the topics' znodes with their new partitions, one topic after the other. The response waits until every
partition has a leader that this broker knows, or until the time limit. controller/growth.py assigns the partitions.
"""

from collections import Counter
from collections.abc import Callable

from controller.growth import RefusedGrowth, more_partitions
from controller.session_calls import Procedure, Procedures, perform, perform_all
from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.broker_metadata import MetadataCache
from emulator.machines.broker.request_channel import Request
from emulator.machines.node.administration_work import AdministrationWork
from emulator.machines.node.topic_administration import lost, timed_out
from protocol.errors import ErrorCode
from protocol.ids import BrokerId
from protocol.messages.administration import (
    PARTITIONS_MAX,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    GrownTopic,
    TopicResult,
)
from protocol.messages.session_messages import Exists, GetChildren, GetData, SessionError, SetData
from protocol.znodes import (
    BROKER_IDS,
    REASSIGN_PARTITIONS,
    ReplicaAssignment,
    UnreadableZnode,
    broker_path,
    brokers_in,
    decode_broker,
    decode_topic,
    encode_topic,
    topic_path,
)


class PartitionAdministration:
    """Handler of CreatePartitions.

    `active`: whether this node is the controller. `deleting`: whether a topic is marked for deletion.
    """

    def __init__(
        self,
        context: BrokerContext,
        metadata: MetadataCache,
        active: Callable[[], bool],
        deleting: Callable[[str], bool],
        procedures: Procedures,
    ) -> None:
        self._gates = context.gates
        self._active = active
        self._deleting = deleting
        self._work = AdministrationWork("partition-administration", context, metadata, procedures)

    def takes(self, request: Request) -> None:
        """Handle CreatePartitions."""
        body = request.message
        assert isinstance(body, CreatePartitionsRequest), body
        if not self._active():
            refused = [TopicResult(one.topic, ErrorCode.NOT_CONTROLLER) for one in body.topics]
            request.answer(CreatePartitionsResponse(refused))
            return

        def made(results: list[TopicResult]) -> None:
            grown = {} if body.validate_only else {r.topic: r.partitions for r in results if not r.error}
            self._work.wait(
                body.timeout_ms,
                lambda: [topic for topic, partitions in grown.items() if not self._work.is_led(topic, partitions)],
                lambda late: request.answer(CreatePartitionsResponse(timed_out(results, late))),
            )

        self._work.begin(self._made(body), made, lambda: [lost(one.topic) for one in body.topics])

    def _made(self, body: CreatePartitionsRequest) -> Procedure[list[TopicResult]]:
        results: list[TopicResult] = []
        times = Counter(one.topic for one in body.topics)
        racks = yield from self._racks()
        # Up to 2.3 the znode shows any reassignment; later each topic its own.
        moving = False
        if not self._gates.topic_znode_keeps_reassignment:
            moving = (yield from perform(Exists(REASSIGN_PARTITIONS))).error == SessionError.OK
        for one in body.topics:
            if times[one.topic] > 1:
                results.append(TopicResult(one.topic, ErrorCode.INVALID_REQUEST, "Duplicate topic in request."))
            elif self._deleting(one.topic):
                why = "The topic is queued for deletion."
                results.append(TopicResult(one.topic, ErrorCode.INVALID_TOPIC_EXCEPTION, why))
            elif moving:
                why = "A partition reassignment is in progress."
                results.append(TopicResult(one.topic, ErrorCode.REASSIGNMENT_IN_PROGRESS, why))
            else:
                results.append((yield from self._grow(one, racks, validate_only=body.validate_only)))
        return results

    def _racks(self) -> Procedure[dict[BrokerId, str]]:
        """Racks of the registered brokers."""
        ids = brokers_in((yield from perform(GetChildren(BROKER_IDS))).children)
        found = yield from perform_all([GetData(broker_path(broker)) for broker in ids])
        there = [(broker, one) for broker, one in zip(ids, found, strict=True) if one.error == SessionError.OK]
        racks: dict[BrokerId, str] = {}
        for broker, one in there:
            try:
                racks[broker] = decode_broker(broker, one.data, one.czxid).rack
            except UnreadableZnode:
                continue  # written by another client: no broker's registration
        return racks

    def _grow(
        self, one: GrownTopic, racks: dict[BrokerId, str], *, validate_only: bool
    ) -> Procedure[TopicResult]:
        found = yield from perform(GetData(topic_path(one.topic)))
        try:
            existing = decode_topic(one.topic, found.data) if found.error == SessionError.OK else {}
            if any(assignment.being_reassigned for assignment in existing.values()):
                why = f"A partition reassignment is in progress for the topic '{one.topic}'."
                return TopicResult(one.topic, ErrorCode.REASSIGNMENT_IN_PROGRESS, why)
            if one.partitions > PARTITIONS_MAX:
                why = f"{one.partitions} partitions: at most {PARTITIONS_MAX} are emulated"
                return TopicResult(one.topic, ErrorCode.INVALID_PARTITIONS, why)
            added = more_partitions(one.topic, existing, one.partitions, one.assignment, racks)
        except RefusedGrowth as refused:
            return TopicResult(one.topic, refused.error, str(refused))
        except UnreadableZnode as error:
            return TopicResult(one.topic, ErrorCode.UNKNOWN_SERVER_ERROR, str(error))
        if not validate_only:
            after = existing | {number: ReplicaAssignment(tuple(brokers)) for number, brokers in added.items()}
            content = encode_topic(after, with_reassignment=self._gates.topic_znode_keeps_reassignment)
            written = yield from perform(SetData(topic_path(one.topic), content))
            if written.error != SessionError.OK:
                why = f"The topic '{one.topic}' does not exist."
                return TopicResult(one.topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, why)
        return TopicResult(one.topic, ErrorCode.NONE, "", one.partitions)
