"""Single commands with a group's name: consume from its offsets, commit, look up a commit.

Each has a consumer or a store of its own, which is closed at the command's end.
"""

from collections.abc import Callable

import msgspec

from emulator.machines.client.client_operations import OperationLog
from emulator.machines.client.client_settings import ConsumerSettings, consumer_settings, old_consumer_settings
from emulator.machines.client.client_state import FetchedEntry
from emulator.machines.client.consumer import Consumer
from emulator.machines.client.consumer_position import ReadProblem
from emulator.machines.client.coordinator_offsets import CoordinatorOffsets
from emulator.machines.client.offset_store import TIMED_OUT, Committed, OffsetStore
from emulator.machines.client.znode_offsets import ZnodeOffsets
from protocol.chance import Chance
from protocol.ids import NO_OFFSET, TopicPartition
from protocol.machine import Now
from protocol.messages.consuming import (
    ClientCommitRequest,
    ClientCommitResponse,
    ClientCommittedRequest,
    ClientCommittedResponse,
    ClientConsumeRequest,
    ClientConsumeResponse,
    ReadingReport,
)
from protocol.messages.message_base import Message
from protocol.messages.workload_messages import RecordReport, SettingValue
from protocol.outbox import Outbox

ERRANDS_MAX = 64
"""Bound of commands at a time."""
RECORDS_MAX = 10_000
"""Bound of one command's records in its response; reading then ends."""

Reply = Callable[[Outbox, Message], None]


class TooManyCommands(RuntimeError):
    """More commands of groups at once than ERRANDS_MAX."""


class _Reading(msgspec.Struct):
    """A consume under way. `leaving`: its last commit is under way."""

    request: ClientConsumeRequest
    reply: Reply
    readings: dict[TopicPartition, ReadingReport]
    began_ms: float
    leaving: bool = False
    consumer: Consumer | None = None


class GroupCommands:
    """Commands under way.

    `brokers` and `session_servers`: bootstrap nodes of consumers. `name`: the node's, for its sessions.
    """

    def __init__(
        self,
        name: str,
        brokers: list[str],
        session_servers: list[str],
        operations: OperationLog,
        kafka_version: str,
        chance: Chance,
    ) -> None:
        self._name = name
        self._brokers = brokers
        self._session_servers = session_servers
        self._operations = operations
        self._kafka_version = kafka_version
        self._chance = chance
        self._count = 0
        self._working: dict[int, Consumer | OffsetStore] = {}
        self._readings: dict[int, _Reading] = {}
        self._timed: dict[int, Callable[[Now, Outbox], None]] = {}

    def close(self, now: Now, out: Outbox) -> None:
        """End all commands now."""
        for one in self._working.values():
            one.close(now, out)

    # --- consume --------------------------------------------------------------------------------------------

    def consume(self, now: Now, out: Outbox, request: ClientConsumeRequest, reply: Reply) -> None:
        """Execute a consume. Raises UnusableSetting, TooManyCommands."""
        settings = self._settings(request.group, request.settings, old=request.old)
        number = self._next()
        readings = {(p.topic, p.partition): ReadingReport(p.topic, p.partition, NO_OFFSET) for p in request.partitions}
        reading = _Reading(request, reply, readings, now.mono_ms)

        def read(now: Now, out: Outbox, key: TopicPartition, entries: list[FetchedEntry]) -> None:
            records = [RecordReport(r.offset, r.leader_epoch, r.value) for entry in entries for r in entry.records]
            readings[key].records += records[: RECORDS_MAX - len(readings[key].records)]

        def stopped(now: Now, out: Outbox, problem: ReadProblem) -> None:
            readings[problem.topic, problem.partition].error = problem.error

        def reset(now: Now, out: Outbox, problem: ReadProblem) -> None:
            readings[problem.topic, problem.partition].resets.append(problem.error)

        store = self._store(number, settings)
        chance = Chance(self._chance.below(1 << 62))
        key = f"group-{number}"

        def handled(now: Now, out: Outbox) -> None:
            if number in self._readings:
                self._look_whether_read(now, out, number)

        consumer = Consumer(
            key, self._brokers, self._operations, settings, chance, read, stopped, reset, store, handled
        )
        reading.consumer = consumer
        self._working[number], self._readings[number] = consumer, reading
        out.set_timer(
            ("group-errand", number), float(request.at_most_ms), lambda now, out: self._time_is_over(now, out, number)
        )
        consumer.assign(now, out, dict.fromkeys(readings))

    def _look_whether_read(self, now: Now, out: Outbox, number: int) -> None:
        reading = self._readings[number]
        assert reading.consumer is not None
        over_ms = reading.began_ms + reading.request.at_least_ms
        full = any(len(each.records) >= RECORDS_MAX for each in reading.readings.values())
        if reading.leaving or (now.mono_ms < over_ms and not full):
            return
        if full or all(reading.consumer.is_at_end(*key) for key in reading.readings):
            out.cancel_timer(("group-errand", number))
            self._leave(now, out, number)

    def _leave(self, now: Now, out: Outbox, number: int) -> None:
        reading = self._readings[number]
        consumer = reading.consumer
        assert consumer is not None
        reading.leaving = True
        for key, each in reading.readings.items():
            each.committed, each.position = consumer.committed(*key), consumer.position(*key)

        def left(now: Now, out: Outbox, error: int | str) -> None:
            del self._readings[number]
            reading.reply(out, ClientConsumeResponse(list(reading.readings.values()), error))

        consumer.leave(now, out, left)

    # --- commit and look-up ---------------------------------------------------------------------------------

    def commit(self, now: Now, out: Outbox, request: ClientCommitRequest, reply: Reply) -> None:
        """Execute a commit. Raises UnusableSetting, TooManyCommands."""
        settings = self._settings(request.group, request.settings, old=request.old)
        number = self._next()
        store = self._working[number] = self._store(number, settings)

        def answer(now: Now, out: Outbox, error: int | str) -> None:
            if self._timed.pop(number, None) is not None:
                out.cancel_timer(("group-errand", number))
                store.close(now, out)
                reply(out, ClientCommitResponse(error))

        self._limit(out, number, request.timeout_ms, lambda now, out: answer(now, out, TIMED_OUT))
        offsets = {(request.topic, request.partition): Committed(request.offset, request.leader_epoch)}
        own_ms = settings.default_api_timeout_ms
        timeout_ms = float(request.timeout_ms) if own_ms is None else min(own_ms, request.timeout_ms)
        store.commit(now, out, offsets, answer, timeout_ms)

    def committed(self, now: Now, out: Outbox, request: ClientCommittedRequest, reply: Reply) -> None:
        """Execute a look-up of a commit. Raises UnusableSetting, TooManyCommands."""
        settings = self._settings(request.group, request.settings, old=request.old)
        number = self._next()
        store = self._working[number] = self._store(number, settings)
        topic_partition = (request.topic, request.partition)

        def answer(now: Now, out: Outbox, found: dict[TopicPartition, Committed], error: int | str) -> None:
            if self._timed.pop(number, None) is not None:
                out.cancel_timer(("group-errand", number))
                store.close(now, out)
                committed = found.get(topic_partition, Committed(NO_OFFSET))
                reply(out, ClientCommittedResponse(error, committed.offset, committed.leader_epoch))

        self._limit(out, number, request.timeout_ms, lambda now, out: answer(now, out, {}, TIMED_OUT))
        store.look(now, out, [topic_partition], answer)

    def _limit(self, out: Outbox, number: int, timeout_ms: int, over: Callable[[Now, Outbox], None]) -> None:
        self._timed[number] = over
        out.set_timer(("group-errand", number), float(timeout_ms), over)

    # --- private --------------------------------------------------------------------------------------------

    def _time_is_over(self, now: Now, out: Outbox, number: int) -> None:
        """End a consume at its time limit."""
        reading = self._readings[number]
        assert reading.consumer is not None
        for key, each in reading.readings.items():
            if reading.consumer.position(*key) < 0 and not each.error:
                each.error = TIMED_OUT  # no coordinator, or no broker that knows an offset
        self._leave(now, out, number)

    def _next(self) -> int:
        self._working = {number: one for number, one in self._working.items() if not one.closed}
        if len(self._working) >= ERRANDS_MAX:
            raise TooManyCommands(f"groups: {ERRANDS_MAX} consumers are active; wait until one ends")
        self._count += 1
        return self._count

    def _settings(self, group: str, given: dict[str, SettingValue], *, old: bool) -> ConsumerSettings:
        make = old_consumer_settings if old else consumer_settings
        return make(self._kafka_version, {**given, "group.id": group})

    def _store(self, number: int, settings: ConsumerSettings) -> OffsetStore:
        return offset_store(
            f"group-offsets-{number}",
            self._name,
            self._brokers,
            self._session_servers,
            self._operations,
            settings,
            Chance(self._chance.below(1 << 62)),
        )


def offset_store(
    key: str,
    owner: str,
    brokers: list[str],
    session_servers: list[str],
    operations: OperationLog,
    settings: ConsumerSettings,
    chance: Chance,
) -> OffsetStore:
    """The store of a consumer with these settings."""
    if settings.offsets_storage == "kafka":
        return CoordinatorOffsets(key, brokers, operations, settings, chance)
    timeout_ms = settings.zookeeper_session_timeout_ms
    return ZnodeOffsets(key, owner, session_servers, operations, settings.group_id, timeout_ms, chance)
