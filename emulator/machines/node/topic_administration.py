"""CreateTopics and DeleteTopics at the controller's broker (Kafka's AdminManager).

It writes topics into ZooKeeper like any admin tool, one after the other. The response waits until this broker's own
metadata show the result, or until the time limit.
"""

from collections import Counter
from collections.abc import Callable, Mapping

from controller.session_calls import Procedure, Procedures, perform
from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.broker_metadata import MetadataCache
from emulator.machines.broker.request_channel import Request
from emulator.machines.node.administration_work import AdministrationWork
from emulator.machines.node.topic_creation import create_topic
from emulator.settings.setting_registry import UnusableSetting, of_topic
from protocol.chance import Chance
from protocol.errors import ErrorCode
from protocol.ids import BrokerId, can_be_topic
from protocol.messages.administration import (
    AS_CONFIGURED,
    PARTITIONS_MAX,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    NewTopic,
    TopicResult,
)
from protocol.messages.configuration import DescribedSetting
from protocol.messages.session_messages import Create, SessionError
from protocol.records.offset_commits import OFFSETS_TOPIC
from protocol.znodes import delete_topic_path

FIRST_WITH_DISABLED = 3
"""First version of DELETE_TOPICS with TOPIC_DELETION_DISABLED."""


class TopicAdministration:
    """Handler of CreateTopics and DeleteTopics.

    `active`: whether this node is the controller. `placing`: the chance that places replicas. `described`: the
    settings of a topic with the given own ones.
    """

    def __init__(
        self,
        context: BrokerContext,
        metadata: MetadataCache,
        active: Callable[[], bool],
        placing: Callable[[], Chance],
        described: Callable[[Mapping[str, str]], list[DescribedSetting]],
        procedures: Procedures,
    ) -> None:
        self._context = context
        self._metadata = metadata
        self._active = active
        self._placing = placing
        self._described = described
        self._work = AdministrationWork("topic-administration", context, metadata, procedures)

    def takes(self, request: Request) -> None:
        """Handle CreateTopics or DeleteTopics."""
        match request.message:
            case CreateTopicsRequest() as body:
                self._create(request, body)
            case DeleteTopicsRequest() as body:
                self._delete(request, body)
            case other:
                raise AssertionError(f"{type(other).__name__} is no request about topics")

    # --- creation ---

    def _create(self, request: Request, body: CreateTopicsRequest) -> None:
        if not self._active():
            refused = [TopicResult(one.topic, ErrorCode.NOT_CONTROLLER) for one in body.topics]
            request.answer(CreateTopicsResponse(refused))
            return

        def made(results: list[TopicResult]) -> None:
            new = {} if body.validate_only else {r.topic: r.partitions for r in results if not r.error}
            self._work.wait(
                body.timeout_ms,
                lambda: [topic for topic, partitions in new.items() if not self._work.is_led(topic, partitions)],
                lambda late: request.answer(CreateTopicsResponse(timed_out(results, late))),
            )

        self._work.begin(self._made(body), made, lambda: [lost(one.topic) for one in body.topics])

    def _made(self, body: CreateTopicsRequest) -> Procedure[list[TopicResult]]:
        results: list[TopicResult] = []
        times = Counter(one.topic for one in body.topics)
        for one in body.topics:
            if times[one.topic] > 1:
                results.append(TopicResult(one.topic, ErrorCode.INVALID_REQUEST, "Duplicate topic name."))
                continue
            result = self._refused(one)
            if result is None:
                result = yield from self._make(one, validate_only=body.validate_only)
            results.append(result)
        return results

    def _make(self, one: NewTopic, *, validate_only: bool) -> Procedure[TopicResult]:
        settings = self._context.settings
        placed = {each.partition: [BrokerId(broker) for broker in each.brokers] for each in one.assignment}
        partitions = len(placed) or (settings.num_partitions if one.partitions == AS_CONFIGURED else one.partitions)
        factor = one.replication_factor
        if placed:
            factor = len(placed[0])
        elif factor == AS_CONFIGURED:
            factor = settings.default_replication_factor
        configs = {name: value or "" for name, value in one.configs.items()}
        made = yield from create_topic(
            self._context.gates, self._placing(), one.topic, partitions, factor, configs, placed or None,
            validate_only=validate_only,
        )  # fmt: skip
        if made.error:
            return TopicResult(one.topic, made.error, made.why)
        return TopicResult(one.topic, ErrorCode.NONE, "", partitions, factor, self._described(configs))

    def _refused(self, one: NewTopic) -> TopicResult | None:
        """Error of a request that is invalid in any state; None if it is valid."""
        if not can_be_topic(one.topic):
            return TopicResult(one.topic, ErrorCode.INVALID_TOPIC_EXCEPTION, "The topic name is invalid.")
        if one.partitions > PARTITIONS_MAX:
            why = f"{one.partitions} partitions: at most {PARTITIONS_MAX} are emulated"
            return TopicResult(one.topic, ErrorCode.INVALID_PARTITIONS, why)
        try:
            for name, value in one.configs.items():
                of_topic(name, value or "", self._context.gates.binary)
        except UnusableSetting as error:
            return TopicResult(one.topic, ErrorCode.INVALID_CONFIG, str(error))
        if one.assignment:
            both = one.partitions != AS_CONFIGURED or one.replication_factor != AS_CONFIGURED
            if both:
                why = "Both numPartitions or replicationFactor and replicasAssignments were set."
                return TopicResult(one.topic, ErrorCode.INVALID_REQUEST, why)
            return self._misplaced(one)
        return None

    def _misplaced(self, one: NewTopic) -> TopicResult | None:
        numbers = sorted(each.partition for each in one.assignment)
        sizes = {len(each.brokers) for each in one.assignment}
        unknown = {broker for each in one.assignment for broker in each.brokers} - set(self._metadata.live)
        twice = any(len(set(each.brokers)) < len(each.brokers) for each in one.assignment)
        if numbers == list(range(len(numbers))) and len(sizes) == 1 and sizes != {0} and not unknown and not twice:
            return None
        why = "replica assignment: partitions must be 0, 1, ..., each with the same number of distinct live brokers"
        return TopicResult(one.topic, ErrorCode.INVALID_REPLICA_ASSIGNMENT, why)

    # --- deletion ---

    def _delete(self, request: Request, body: DeleteTopicsRequest) -> None:
        error = ErrorCode.NONE
        if not self._active():
            error = ErrorCode.NOT_CONTROLLER
        elif not self._context.settings.delete_topic_enable:
            known = request.version >= FIRST_WITH_DISABLED
            error = ErrorCode.TOPIC_DELETION_DISABLED if known else ErrorCode.INVALID_REQUEST
        if error:
            request.answer(DeleteTopicsResponse([TopicResult(topic, error) for topic in body.topics]))
            return

        def marked(results: list[TopicResult]) -> None:
            gone = [result.topic for result in results if not result.error]
            self._work.wait(
                body.timeout_ms,
                lambda: [topic for topic in gone if self._metadata.partition_count(topic)],
                lambda late: request.answer(DeleteTopicsResponse(timed_out(results, late))),
            )

        self._work.begin(self._marked(body), marked, lambda: [lost(topic) for topic in body.topics])

    def _marked(self, body: DeleteTopicsRequest) -> Procedure[list[TopicResult]]:
        results: list[TopicResult] = []
        for topic in body.topics:
            if topic == OFFSETS_TOPIC or not self._metadata.partition_count(topic):
                results.append(TopicResult(topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
                continue
            marked = yield from perform(Create(delete_topic_path(topic)))
            there = marked.error in (SessionError.OK, SessionError.NODE_EXISTS)
            results.append(TopicResult(topic, ErrorCode.NONE if there else ErrorCode.UNKNOWN_SERVER_ERROR))
        return results


def timed_out(results: list[TopicResult], late: list[str]) -> list[TopicResult]:
    return [TopicResult(one.topic, ErrorCode.REQUEST_TIMED_OUT) if one.topic in late else one for one in results]


def lost(topic: str) -> TopicResult:
    """Result of a topic whose outcome is unknown: the session expired meanwhile."""
    return TopicResult(topic, ErrorCode.REQUEST_TIMED_OUT)
