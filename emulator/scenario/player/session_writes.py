"""The player's writes to the session service: topics, their changes, elections, moves.

Each has a session of its own, opened before it and closed after it, like an admin tool's. A change is work that waits
for the service (protocol/work.py), and restarts after a lost connection.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from emulator.machines.broker.settings import HANDLERS, can_resize
from emulator.machines.client.pipeline import Done as WhenAnswered
from emulator.machines.client.pipeline import pipelined
from emulator.machines.client.session_client import SessionClient
from protocol.chance import Chance
from protocol.gates import Gates
from protocol.ids import BrokerId
from protocol.machine import Now
from protocol.messages.session_messages import (
    Create,
    Delete,
    Exists,
    GetData,
    Operation,
    OpResult,
    SessionError,
    SessionRequest,
    SessionResponse,
    SetData,
)
from protocol.outbox import Outbox
from protocol.work import Runner, Task, Until, Work
from protocol.znodes import (
    BROKERS_CHANGED,
    CONFIG_CHANGE_PREFIX,
    CONFIG_CHANGES,
    CONTROLLER,
    EVERY_BROKER,
    PREFERRED_REPLICA_ELECTION,
    REASSIGN_PARTITIONS,
    ReplicaAssignment,
    broker_config_path,
    decode_config,
    decode_topic,
    delete_topic_path,
    encode_config,
    encode_config_change,
    encode_partitions,
    encode_reassignment,
    encode_topic,
    topic_config_path,
    topic_path,
)

SESSION_TIMEOUT_MS = 10_000.0
Done = Callable[[SessionError], None]
Change = Work[int]
"""Its result is the first error (0: none)."""


class SessionWrites:
    """Writes one change at a time; others wait.

    `gates`: of the brokers, which decide the forms of znodes.
    """

    def __init__(self, servers: list[str], chance: Chance, gates: Gates, work: Runner) -> None:
        self._servers = servers
        self._chance = chance
        self._gates = gates
        self._work = work
        self._now = Now(0.0, 0.0)
        self._out = Outbox()
        self._client: SessionClient | None = None
        self._queue: list[tuple[Callable[[], Change], Done]] = []
        self._under_way: Task | None = None

    def create_topic(
        self,
        now: Now,
        out: Outbox,
        topic: str,
        assignment: dict[int, list[BrokerId]],
        configs: dict[str, str],
        done: Done,
    ) -> None:
        """Write the config, then the assignment, which the controller watches.

        NODE_EXISTS: the topic exists.
        """
        assigned = {partition: ReplicaAssignment(tuple(brokers)) for partition, brokers in assignment.items()}
        begun = False

        def change() -> Change:
            nonlocal begun
            again, begun = begun, True
            config, made = yield from self._results(
                Create(topic_config_path(topic), encode_config(configs)),
                Create(topic_path(topic), encode_topic(assigned)),
            )
            if made.error == SessionError.NODE_EXISTS and again:
                return SessionError.OK  # by us: the answer was lost
            if made.error == SessionError.OK and config.error == SessionError.NODE_EXISTS and not again:
                # The leftover of an earlier topic of this name.
                (config,) = yield from self._results(SetData(topic_config_path(topic), encode_config(configs)))
            return made.error

        self._queued(now, out, change, done)

    def delete_topic(self, now: Now, out: Outbox, topic: str, done: Done) -> None:
        """AdminUtils.deleteTopic: a mark, which the controller watches.

        NO_NODE: no such topic; NODE_EXISTS: it is marked already.
        """
        begun = False

        def change() -> Change:
            nonlocal begun
            again, begun = begun, True
            (there,) = yield from self._results(Exists(topic_path(topic)))
            if there.error != SessionError.OK:
                return SessionError.OK if again else there.error
            (marked,) = yield from self._results(Create(delete_topic_path(topic)))
            if marked.error == SessionError.NODE_EXISTS and again:
                return SessionError.OK  # by us: the answer was lost
            return marked.error

        self._queued(now, out, change, done)

    def alter_topic(
        self, now: Now, out: Outbox, topic: str, configs: Mapping[str, str], removed: Sequence[str], done: Done
    ) -> None:
        """AdminUtils.changeTopicConfig: the whole configuration, then its notification.

        NO_NODE: no topic.
        """

        def change() -> Change:
            there, found = yield from self._results(GetData(topic_path(topic)), GetData(topic_config_path(topic)))
            if there.error != SessionError.OK:
                return there.error
            path = topic_config_path(topic)
            after = _changed(_config(path, found), configs, removed)
            note = encode_config_change(topic, self._gates.config_change_form)
            return (yield from self._altered(path, found, after, note))

        self._queued(now, out, change, done)

    def alter_broker(
        self, now: Now, out: Outbox, whose: str, configs: Mapping[str, str], removed: Sequence[str], handlers: int,
        done: Done,
    ) -> None:  # fmt: skip
        """AdminZkClient.changeBrokerConfig.

        `whose`: a broker's number, or EVERY_BROKER; `handlers`: num.io.threads in its file. BAD_ARGUMENTS: refused as
        by the broker that handles the request (AdminManager.alterConfigs).
        """

        def change() -> Change:
            path, common = broker_config_path(whose), broker_config_path(EVERY_BROKER)
            found, of_every = yield from self._results(GetData(path), GetData(common))
            own, of_all = _config(path, found), _config(common, of_every)
            after = _changed(own, configs, removed)
            here = {} if whose == EVERY_BROKER else of_all
            now_, then = (int({HANDLERS: str(handlers), **here, **one}[HANDLERS]) for one in (own, after))
            if handlers and not can_resize(now_, then):
                return SessionError.BAD_ARGUMENTS
            note = encode_config_change(whose, self._gates.config_change_form, BROKERS_CHANGED)
            return (yield from self._altered(path, found, after, note))

        self._queued(now, out, change, done)

    def add_partitions(self, now: Now, out: Outbox, topic: str, added: dict[int, list[BrokerId]], done: Done) -> None:
        """AdminUtils.addPartitions: the topic's znode with more of them.

        NODE_EXISTS: one of them exists.
        """

        def change() -> Change:
            (found,) = yield from self._results(GetData(topic_path(topic)))
            if found.error != SessionError.OK:
                return found.error
            known = decode_topic(topic, found.data)
            wanted = {partition: ReplicaAssignment(tuple(brokers)) for partition, brokers in added.items()}
            if all(known.get(partition) == assignment for partition, assignment in wanted.items()):
                return SessionError.OK  # written, and the answer was lost
            if known.keys() & wanted.keys():
                return SessionError.NODE_EXISTS
            content = encode_topic(known | wanted, with_reassignment=self._gates.topic_znode_keeps_reassignment)
            (written,) = yield from self._results(SetData(topic_path(topic), content))
            return written.error

        self._queued(now, out, change, done)

    def reassign(self, now: Now, out: Outbox, targets: dict[tuple[str, int], tuple[BrokerId, ...]], done: Done) -> None:
        """`kafka-reassign-partitions --zookeeper --execute`.

        NODE_EXISTS: a reassignment is in progress.
        """
        self._write(now, out, [Create(REASSIGN_PARTITIONS, encode_reassignment(targets))], done)

    def elect_preferred(self, now: Now, out: Outbox, partitions: list[tuple[str, int]], done: Done) -> None:
        """Kafka's admin znode; NODE_EXISTS: an election is under way."""
        self._write(now, out, [Create(PREFERRED_REPLICA_ELECTION, encode_partitions(partitions))], done)

    def elect_controller(self, now: Now, out: Outbox, done: Done) -> None:
        """Delete `/controller`, whatever its holder; NO_NODE: there was none."""
        self._write(now, out, [Delete(CONTROLLER)], done)

    def _altered(self, path: str, found: OpResult, after: Mapping[str, str], note: bytes) -> Change:
        """Write `after` to `path`, where `found` was, then the notification `note`."""
        content = encode_config(after)
        missing = found.error == SessionError.NO_NODE
        (written,) = yield from self._results(Create(path, content) if missing else SetData(path, content))
        if written.error != SessionError.OK:
            return written.error
        notification = Create(f"{CONFIG_CHANGES}/{CONFIG_CHANGE_PREFIX}", note, sequential=True)
        (notified,) = yield from self._results(notification)
        return notified.error

    def _write(self, now: Now, out: Outbox, writes: list[Operation], done: Done) -> None:
        def change() -> Change:
            results = yield from self._results(*writes)
            return next((result.error for result in results if result.error != SessionError.OK), SessionError.OK)

        self._queued(now, out, change, done)

    def _queued(self, now: Now, out: Outbox, change: Callable[[], Change], done: Done) -> None:
        self._queue.append((change, done))
        if len(self._queue) == 1:
            self._begin(now, out)

    def _begin(self, now: Now, out: Outbox) -> None:
        client = SessionClient("player-session", self._servers, SESSION_TIMEOUT_MS, "observer")
        self._client = client
        client.on_state = self._state
        client.start(now, out, self._chance)

    def _state(self, now: Now, out: Outbox, state: str) -> None:
        if state == "connected" and self._client is not None:
            self._now, self._out = now, out
            if self._under_way is not None:  # restart; finished parts are found, or return NODE_EXISTS
                self._under_way.abandon()
            change = self._queue[0][0]()
            self._under_way = Task(self._work, "session-writes", "change", change, self._ended)
            self._under_way.start()
        elif state == "expired" and self._client is not None:
            self._client.restart(now, out)  # no server was reachable for longer than a session lives

    def _results(self, *operations: Operation) -> Work[list[OpResult]]:
        """The results; never, if the connection is lost meanwhile."""
        results: list[OpResult] = yield Until("the session service", partial(self._ask, operations))
        return results

    def _ask(self, operations: Sequence[Operation], done: Callable[[list[OpResult]], None]) -> None:
        client = self._client
        assert client is not None

        def ask(one: SessionRequest, answered: WhenAnswered) -> None:
            client.submit(self._now, self._out, one, answered)

        def answered(now: Now, out: Outbox, response: SessionResponse) -> None:
            self._now, self._out = now, out
            results = response.results or [OpResult(response.error)]
            lost = (SessionError.CONNECTION_LOSS, SessionError.SESSION_EXPIRED)
            if not any(result.error in lost for result in results):
                done(results)

        pipelined(SessionRequest(list(operations)), ask, answered)

    def _ended(self, error: int) -> None:
        assert self._client is not None
        self._under_way = None
        self._client.on_state = self._closed
        self._client.close(self._now, self._out)
        _, done = self._queue[0]
        done(SessionError(error))

    def _closed(self, now: Now, out: Outbox, state: str) -> None:
        if state not in ("closed", "expired"):
            return
        self._client = None
        self._queue.pop(0)
        if self._queue:
            self._begin(now, out)


def _config(path: str, found: OpResult) -> dict[str, str]:
    return decode_config(path, found.data) if found.error == SessionError.OK else {}


def _changed(known: Mapping[str, str], configs: Mapping[str, str], removed: Sequence[str]) -> dict[str, str]:
    return {name: value for name, value in {**known, **configs}.items() if name not in removed}
