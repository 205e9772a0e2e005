"""What the player writes into the session service: topics with explicit assignments, elections that it asks for.

Each goes through a session of its own, opened for it and closed after it, as an admin tool's would be.
"""

from collections.abc import Callable

from emulator.client.pipeline import Done as Answered
from emulator.client.pipeline import pipelined
from emulator.client.session_client import SessionClient
from protocol.chance import Chance
from protocol.machine import Input, Now, Outbox
from protocol.messages.session import Create, Delete, SessionError, SessionRequest, SessionResponse, WriteOp
from protocol.znodes import (
    CONTROLLER,
    PREFERRED_REPLICA_ELECTION,
    ReplicaAssignment,
    encode_partitions,
    encode_topic,
    encode_topic_config,
    topic_config_path,
    topic_path,
)

SESSION_TIMEOUT_MS = 10_000.0
Done = Callable[[SessionError], None]


class SessionWrites:
    """One write at a time; others wait their turn."""

    def __init__(self, servers: list[str], chance: Chance) -> None:
        self._servers = servers
        self._chance = chance
        self._client: SessionClient | None = None
        self._queue: list[tuple[list[WriteOp], Done]] = []

    def create_topic(
        self, now: Now, out: Outbox, topic: str, assignment: dict[int, list[int]], configs: dict[str, str], done: Done
    ) -> None:
        """Config first, then the assignment that the controller watches."""
        assigned = {partition: ReplicaAssignment(tuple(brokers)) for partition, brokers in assignment.items()}
        writes: list[WriteOp] = [
            Create(topic_config_path(topic), encode_topic_config(configs)),
            Create(topic_path(topic), encode_topic(assigned)),
        ]
        self._write(now, out, writes, done)

    def elect_preferred(self, now: Now, out: Outbox, partitions: list[tuple[str, int]], done: Done) -> None:
        """Kafka's admin znode; NODE_EXISTS: an election is under way."""
        self._write(now, out, [Create(PREFERRED_REPLICA_ELECTION, encode_partitions(partitions))], done)

    def elect_controller(self, now: Now, out: Outbox, done: Done) -> None:
        """Whoever holds `/controller` holds it no more; NO_NODE: nobody did."""
        self._write(now, out, [Delete(CONTROLLER)], done)

    def handles(self, event: Input) -> bool:
        return self._client is not None and self._client.handles(event)

    def handle(self, now: Now, event: Input, out: Outbox) -> None:
        assert self._client is not None
        self._client.handle(now, event, out)

    def _write(self, now: Now, out: Outbox, writes: list[WriteOp], done: Done) -> None:
        self._queue.append((writes, done))
        if len(self._queue) == 1:
            self._begin(now, out)

    def _begin(self, now: Now, out: Outbox) -> None:
        client = SessionClient("player-session", self._servers, SESSION_TIMEOUT_MS, "observer")
        self._client = client
        client.on_state = self._state
        client.start(now, out, self._chance)

    def _state(self, now: Now, out: Outbox, state: str) -> None:
        if state == "connected" and self._client is not None:
            client = self._client

            def ask(one: SessionRequest, answered: Answered) -> None:
                client.submit(now, out, one, answered)

            pipelined(SessionRequest(list(self._queue[0][0])), ask, self._written)
        elif state == "expired" and self._client is not None:
            self._client.restart(now, out)  # no server could be asked for longer than a session lives

    def _written(self, now: Now, out: Outbox, response: SessionResponse) -> None:
        if any(result.error == SessionError.CONNECTION_LOSS for result in response.results):
            return  # connected again, it is asked again; what was done meanwhile answers NODE_EXISTS
        assert self._client is not None
        self._client.on_state = self._closed
        self._client.close(now, out)
        _, done = self._queue[0]
        worst = next((r.error for r in response.results if r.error != SessionError.OK), response.error)
        done(SessionError(worst))

    def _closed(self, now: Now, out: Outbox, state: str) -> None:
        if state not in ("closed", "expired"):
            return
        self._client = None
        self._queue.pop(0)
        if self._queue:
            self._begin(now, out)
