"""An admin tool's requests in KRaft: topics, settings, moves and elections.

A request goes to a running broker, which forwards it to the active controller (KIP-590). After a failure, or while no
controller is active, it goes to another broker, for `LIMIT_S` at most.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from emulator.machines.client.client_state import Failure
from emulator.scenario.player.player_context import Stage
from emulator.scenario.player.tasks import Order, StepFailed
from emulator.topology import broker_name
from protocol.errors import ErrorCode
from protocol.ids import BrokerId
from protocol.messages.administration import (
    AS_CONFIGURED,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    GrownTopic,
    NewTopic,
    PlacedPartition,
)
from protocol.messages.configuration import (
    BROKER_RESOURCE,
    DELETE,
    SET,
    TOPIC_RESOURCE,
    AlteredResource,
    AlteredSetting,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from protocol.messages.message_base import Message
from protocol.messages.placement import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionNamed,
    Reassigned,
)
from protocol.work import Work

LIMIT_S: Final = 60.0
"""`default.api.timeout.ms` of Kafka's admin client."""
SOCKET_TIMEOUT_MS: Final = 30_000.0
"""`request.timeout.ms` of Kafka's admin client."""
RETRY_MS: Final = 100.0
"""`retry.backoff.ms` of Kafka's admin client."""
TIMED_OUT: Final = "TimeoutException"
RETRIABLE: Final = frozenset({
    ErrorCode.NOT_CONTROLLER.value,
    ErrorCode.REQUEST_TIMED_OUT.value,
})  # fmt: skip

Outcome = tuple[int, str]
"""(Kafka's error code, its text)"""


class AdminFailed(StepFailed):
    """A command that an admin tool could not do.

    `error`: Kafka's code, or the name of the tool's exception."""

    def __init__(self, why: str, error: int | str) -> None:
        super().__init__(why)
        self.error = error


class AdminRequests:
    """Requests of one player's steps. Each method raises AdminFailed."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._next = 0

    def create_topic(
        self, topic: str, assignment: Sequence[Sequence[BrokerId]], partitions: int, replicas: int,
        configs: Mapping[str, str],
    ) -> Work[None]:  # fmt: skip
        """Create a topic.

        Without `assignment` the controller places it; a count of 0 is the cluster's default.
        """
        placed = [PlacedPartition(number, list(brokers)) for number, brokers in enumerate(assignment)]
        counts = (AS_CONFIGURED, AS_CONFIGURED) if placed else (partitions or AS_CONFIGURED, replicas or AS_CONFIGURED)
        new = NewTopic(topic, *counts, placed, dict(configs))
        what = f"create-topic {topic}"
        answer, repeated = yield from self._answer(what, CreateTopicsRequest([new], int(SOCKET_TIMEOUT_MS)))
        assert isinstance(answer, CreateTopicsResponse), answer
        done_before = ErrorCode.TOPIC_ALREADY_EXISTS.value if repeated else None
        _check(what, ((one.error, one.message) for one in answer.topics), done_before)

    def delete_topic(self, topic: str) -> Work[None]:
        what = f"delete-topic {topic}"
        answer, repeated = yield from self._answer(what, DeleteTopicsRequest([topic], int(SOCKET_TIMEOUT_MS)))
        assert isinstance(answer, DeleteTopicsResponse), answer
        done_before = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.value if repeated else None
        _check(what, ((one.error, one.message) for one in answer.topics), done_before)

    def add_partitions(self, topic: str, total: int, assignment: Sequence[Sequence[BrokerId]]) -> Work[None]:
        """Grow a topic to `total` partitions.

        Without `assignment` the controller places the new ones.
        """
        grown = GrownTopic(topic, total, [list(brokers) for brokers in assignment] or None)
        what = f"add-partitions {topic}"
        answer, repeated = yield from self._answer(what, CreatePartitionsRequest([grown], int(SOCKET_TIMEOUT_MS)))
        assert isinstance(answer, CreatePartitionsResponse), answer
        done_before = ErrorCode.INVALID_PARTITIONS.value if repeated else None
        _check(what, ((one.error, one.message) for one in answer.topics), done_before)

    def alter(
        self, what: str, kind: int, name: str, configs: Mapping[str, str], removed: Iterable[str]
    ) -> Work[None]:
        """Change settings of a topic or broker; `name` "": of all brokers."""
        settings = [AlteredSetting(key, value, SET) for key, value in configs.items()]
        settings += [AlteredSetting(key, None, DELETE) for key in removed]
        request = IncrementalAlterConfigsRequest([AlteredResource(kind, name, settings)])
        answer, _ = yield from self._answer(what, request)
        assert isinstance(answer, IncrementalAlterConfigsResponse), answer
        _check(what, ((one.error, one.message) for one in answer.resources))

    def alter_topic(self, topic: str, configs: Mapping[str, str], removed: Iterable[str]) -> Work[None]:
        yield from self.alter(f"alter-topic {topic}", TOPIC_RESOURCE, topic, configs, removed)

    def alter_broker(self, name: str, configs: Mapping[str, str], removed: Iterable[str]) -> Work[None]:
        """Change settings of a broker, "0", or of all, ""."""
        yield from self.alter(f"alter-broker {name}".rstrip(), BROKER_RESOURCE, name, configs, removed)

    def reassign(self, targets: Mapping[tuple[str, int], Sequence[BrokerId]]) -> Work[None]:
        moves = [Reassigned(topic, number, list(replicas)) for (topic, number), replicas in targets.items()]
        answer, _ = yield from self._answer("reassign", AlterPartitionReassignmentsRequest(moves))
        assert isinstance(answer, AlterPartitionReassignmentsResponse), answer
        _check("reassign", [(answer.error, ""), *((one.error, one.message) for one in answer.partitions)])

    def elect_preferred(self, partitions: Iterable[tuple[str, int]]) -> Work[ElectLeadersResponse]:
        """The response; errors of single partitions are results."""
        named = [PartitionNamed(topic, number) for topic, number in partitions]
        answer, _ = yield from self._answer("elect-preferred", ElectLeadersRequest(named, int(SOCKET_TIMEOUT_MS)))
        assert isinstance(answer, ElectLeadersResponse), answer
        return answer

    # --- requests ---

    def _answer(self, what: str, request: Message) -> Work[tuple[Message, bool]]:
        """(the response, whether an attempt before it may have been carried out).

        Raises AdminFailed.
        """
        stage = self._stage
        began_ms = stage.now.mono_ms
        repeated = False
        while True:
            broker = self._broker()
            answer: Message | Failure = yield Order(f"{what} at {broker}", self._ask(broker, request))
            if not isinstance(answer, Failure) and not _retriable(answer):
                return answer, repeated
            repeated = repeated or not isinstance(answer, Failure) or answer.sent
            if stage.now.mono_ms - began_ms >= LIMIT_S * 1000.0:
                why = answer.reason if isinstance(answer, Failure) else "no controller is active"
                raise AdminFailed(f"{what}: no answer within {LIMIT_S:g} s ({why}); wait until a controller is active",
                                  TIMED_OUT)  # fmt: skip
            yield stage.sleep(RETRY_MS)

    def _ask(self, broker: str, request: Message) -> Callable[[Callable[[Any], None]], None]:
        def begin(done: Callable[[Any], None]) -> None:
            self._stage.admin_exchanges.ask(
                self._stage.out, node=broker, request=request, timeout_ms=SOCKET_TIMEOUT_MS,
                answered=lambda now, out, answer: done(answer),
            )  # fmt: skip

        return begin

    def _broker(self) -> str:
        """In turn: live brokers that answer, else all that answer, else all."""
        seen = self._stage.seen
        answering = sorted(seen.metadata)
        brokers = [b for b in answering if b in seen.live] or answering
        brokers = brokers or sorted(node.number for node in self._stage.topology.with_role("broker"))
        self._next += 1
        return broker_name(brokers[(self._next - 1) % len(brokers)])


def _retriable(answer: Message) -> bool:
    errors = {getattr(answer, "error", 0)}
    for field in ("topics", "resources"):
        errors |= {one.error for one in getattr(answer, field, ())}
    return bool(errors & RETRIABLE)


def _check(what: str, outcomes: Iterable[Outcome], done_before: int | None = None) -> None:
    """Raises AdminFailed for the first error.

    `done_before`: the error that says so of a repeated request.
    """
    for error, message in outcomes:
        if error not in (ErrorCode.NONE.value, done_before):
            raise AdminFailed(f"{what}: {message or _named(error)}", error)


def _named(error: int) -> str:
    try:
        return ErrorCode(error).name
    except ValueError:
        return f"error {error}"
