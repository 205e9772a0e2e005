"""Steps of an admin tool: topics, elections, brokers' settings."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from controller.assignment import UnassignableTopic
from emulator.scenario import scenario_model as m
from emulator.scenario.client_steps import numbered
from emulator.scenario.player.admin_requests import TIMED_OUT, AdminFailed, AdminRequests
from emulator.scenario.player.player_context import Stage
from emulator.scenario.player.tasks import Order, Steps
from emulator.scenario.player.timeline import Timeline
from emulator.scenario.player.topic_placement import all_led, more_placed, placed
from protocol.errors import ErrorCode
from protocol.messages.session_messages import SessionError
from protocol.znodes import EVERY_BROKER

STATE_LIMIT_S = 30.0
STATE_NOTICED_MS = (20.0, 90.0)
"""From the topic's first state to the script's next step, as recorded."""

TopicStep = (
    m.CreateTopic | m.DeleteTopic | m.AlterTopic | m.AlterBroker | m.AddPartitions | m.Reassign | m.ElectPreferred
    | m.ElectController
)
UNDER_WAY = "one is under way, or done, already"
EXISTS = "there is such a topic already; one that is marked for deletion is there until all of its replicas are gone"
RESIZED = "num.io.threads can be doubled and halved at a time, no more; nothing is altered"
WRITTEN = "what is written into the session service"
NO_ZOOKEEPER = "UnsupportedOperationException"
MARKED = "it is marked for deletion already"

ALREADY_MARKED = "TopicAlreadyMarkedForDeletionException"

EXISTING: dict[str, int | str] = {
    UNDER_WAY: ErrorCode.REASSIGNMENT_IN_PROGRESS.value,
    EXISTS: ErrorCode.TOPIC_ALREADY_EXISTS.value,
    MARKED: ALREADY_MARKED,
}
"""{error: the admin tool's code or message}"""


class TopicSteps:
    """Runs these steps for a player.

    `topic_partition`: topic and number of a step's partition.
    """

    def __init__(
        self, stage: Stage, topic_partition: Callable[[str | None], tuple[str, int]], timeline: Timeline
    ) -> None:
        self._stage = stage
        self._topic_partition = topic_partition
        self._timeline = timeline
        self._requests = AdminRequests(stage)
        """In KRaft, in place of writes into ZooKeeper."""
        self.deleted: Counter[str] = Counter()
        """Count of requested deletions by topic."""

    def topic(self, step: TopicStep) -> Steps:
        """Raises StepFailed, unless the step may fail."""
        error: int | str = ErrorCode.NONE.value
        why = ""
        try:
            yield from self._done(step)
        except AdminFailed as failed:
            if not step.may_fail:
                raise
            error, why = failed.error, str(failed)
        if step.may_fail:
            self._timeline.admin(self._stage.now.mono_ms, step.VERB, getattr(step, "topic", ""), error, why)

    def _done(self, step: TopicStep) -> Steps:
        """Raises AdminFailed."""
        if self._stage.kraft:
            yield from self._requested(step)
            return
        match step:
            case m.CreateTopic():
                yield from self._create(step)
            case m.DeleteTopic():
                yield from self._delete(step)
            case m.AlterTopic():
                yield from self._alter(step)
            case m.AlterBroker():
                yield from self._alter_broker(step)
            case m.AddPartitions():
                yield from self._add_partitions(step)
            case m.Reassign():
                yield from self._reassign(step)
            case m.ElectPreferred():
                yield from self._elect_preferred(step)
            case m.ElectController():
                yield Order(WRITTEN, self._elect_controller)

    def _requested(self, step: TopicStep) -> Steps:
        """The step in KRaft, by a request. Raises AdminFailed."""
        requests = self._requests
        match step:
            case m.CreateTopic(topic=topic, assignment=assignment):
                names = self._named(step)
                configs = _texts(step.configs)
                yield from requests.create_topic(topic, assignment, step.partitions, step.replicas, configs)
                yield from self._until_led(topic, names)
            case m.DeleteTopic(topic=topic):
                self.deleted[topic] += 1
                yield from requests.delete_topic(topic)
            case m.AlterTopic(topic=topic):
                yield from requests.alter_topic(topic, _texts(step.configs), step.remove)
            case m.AlterBroker(broker=broker):
                if step.configs or step.remove:
                    name = "" if broker is None else str(numbered(broker))
                    yield from requests.alter_broker(name, _texts(step.configs), step.remove)
            case m.AddPartitions(topic=topic, partitions=total):
                before = {name for name in self._stage.seen.assignments if name.rpartition("-")[0] == topic}
                yield from requests.add_partitions(topic, total, step.assignment)
                added = {f"{topic}-{number}" for number in range(total)} - before
                yield from self._until_led(topic, sorted(added))
            case m.Reassign(targets=targets):
                yield from requests.reassign({self._topic_partition(name): replicas for name, replicas in targets})
            case m.ElectPreferred(partitions=partitions):
                topic_partitions = [self._topic_partition(name) for name in partitions or self._stage.seen.states]
                answer = yield from requests.elect_preferred(topic_partitions)
                self._timeline.elected(self._stage.now.mono_ms, answer)
            case m.ElectController():
                why = "elect-controller: KRaft has no /controller; kill the active controller"
                raise AdminFailed(why, NO_ZOOKEEPER)

    def _named(self, step: m.CreateTopic) -> list[str]:
        """The topic's partitions; the first topic's first one is the scenario's."""
        names = [f"{step.topic}-{number}" for number in range(step.count)]
        if not self._timeline.first:
            self._timeline.first = self._stage.waits.first = names[0]
        return names

    def _create(self, step: m.CreateTopic) -> Steps:
        stage = self._stage
        names = self._named(step)
        try:
            assignment = placed(step, stage.seen, stage.chance)
        except UnassignableTopic as error:
            raise AdminFailed(f"{step.topic}: {error}", ErrorCode.INVALID_REPLICATION_FACTOR.value) from error
        configs = _texts(step.configs)

        def begin(done: Callable[[Any], None]) -> None:
            assert stage.writes is not None
            stage.writes.create_topic(stage.now, stage.out, step.topic, assignment, configs, done)

        yield from self._written(begin, f"create-topic {step.topic}", exists=EXISTS)
        yield from self._until_led(step.topic, names)

    def _until_led(self, topic: str, names: list[str]) -> Steps:
        """Wait for leaders, at most until the topic's deletion is requested: then none may come."""
        stage, deletions = self._stage, self.deleted[topic]
        waited_ms = stage.now.mono_ms
        while not all_led(names, stage.seen) and self.deleted[topic] == deletions:
            if stage.now.mono_ms - waited_ms > STATE_LIMIT_S * 1000.0:
                raise AdminFailed(f"{topic} has no leaders after {STATE_LIMIT_S:g} s", TIMED_OUT)
            yield stage.sleep(50.0)
        yield stage.sleep(stage.waits.between_ms(STATE_NOTICED_MS))

    def _delete(self, step: m.DeleteTopic) -> Steps:
        stage = self._stage
        self.deleted[step.topic] += 1

        def begin(done: Callable[[Any], None]) -> None:
            assert stage.writes is not None
            stage.writes.delete_topic(stage.now, stage.out, step.topic, done)

        yield from self._written(begin, f"delete-topic {step.topic}", exists=MARKED)

    def _alter(self, step: m.AlterTopic) -> Steps:
        stage = self._stage
        configs = _texts(step.configs)

        def begin(done: Callable[[Any], None]) -> None:
            assert stage.writes is not None
            stage.writes.alter_topic(stage.now, stage.out, step.topic, configs, step.remove, done)

        yield from self._written(begin, f"alter-topic {step.topic}")

    def _alter_broker(self, step: m.AlterBroker) -> Steps:
        if not step.configs and not step.remove:
            return  # none of them can be altered in this version
        stage = self._stage
        configs = _texts(step.configs)
        whose = EVERY_BROKER if step.broker is None else str(numbered(step.broker))

        def begin(done: Callable[[Any], None]) -> None:
            assert stage.writes is not None
            stage.writes.alter_broker(stage.now, stage.out, whose, configs, step.remove, step.handlers, done)

        yield from self._written(begin, f"alter-broker {whose}")

    def _add_partitions(self, step: m.AddPartitions) -> Steps:
        stage = self._stage
        try:
            added = more_placed(step, stage.seen)
        except UnassignableTopic as error:
            known = step.topic in stage.seen.topics
            code = ErrorCode.INVALID_PARTITIONS if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            raise AdminFailed(f"add-partitions {step.topic}: {error}", code.value) from error

        def begin(done: Callable[[Any], None]) -> None:
            assert stage.writes is not None
            stage.writes.add_partitions(stage.now, stage.out, step.topic, added, done)

        yield from self._written(begin, f"add-partitions {step.topic}")
        yield from self._until_led(step.topic, [f"{step.topic}-{number}" for number in sorted(added)])

    def _reassign(self, step: m.Reassign) -> Steps:
        stage = self._stage
        targets = {self._topic_partition(name): replicas for name, replicas in step.targets}

        def begin(done: Callable[[Any], None]) -> None:
            assert stage.writes is not None
            stage.writes.reassign(stage.now, stage.out, targets, done)

        yield from self._written(begin, "reassign")

    def _written(self, begin: Callable[[Callable[[Any], None]], None], what: str, *, exists: str = UNDER_WAY) -> Steps:
        """Write, and raise StepFailed on an error. `exists`: message for an existing znode."""
        error: SessionError = yield Order(WRITTEN, begin)
        if error != SessionError.OK:
            why = {
                SessionError.NO_NODE: "there is no such topic",
                SessionError.NODE_EXISTS: exists,
                SessionError.BAD_ARGUMENTS: RESIZED,
            }
            codes: dict[SessionError, int | str] = {
                SessionError.NO_NODE: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.value,
                SessionError.NODE_EXISTS: EXISTING[exists],
                SessionError.BAD_ARGUMENTS: ErrorCode.INVALID_REQUEST.value,
            }
            code = codes.get(error, ErrorCode.UNKNOWN_SERVER_ERROR.value)
            raise AdminFailed(f"{what}: {why.get(error, error.name)}", code)

    def _elect_preferred(self, step: m.ElectPreferred) -> Steps:
        stage = self._stage
        names = step.partitions or tuple(stage.seen.states)
        topic_partitions = [self._topic_partition(name) for name in names]

        def begin(done: Callable[[Any], None]) -> None:
            assert stage.writes is not None
            stage.writes.elect_preferred(stage.now, stage.out, topic_partitions, done)

        yield Order(WRITTEN, begin)

    def _elect_controller(self, done: Callable[[Any], None]) -> None:
        stage = self._stage
        assert stage.writes is not None
        stage.writes.elect_controller(stage.now, stage.out, done)


def _text(value: object) -> str:
    """As Kafka's tools write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _texts(values: Mapping[str, object]) -> dict[str, str]:
    return {name: _text(value) for name, value in values.items()}
