"""How a broker appears in the session service (semantics 5.1, 11.10; KAFKA-7165).

The procedures are asked by the node that owns the session: `persistent_paths` and `topic_configurations` once at
start, `register_broker` at start and again in every new session.

The registration is an ephemeral, and the one of an earlier session may still be there: a session outlives
its process until it expires. Then registering fails. At start that ends the process; later, up to 2.1, the
broker goes on alive and unregistered (KAFKA-7165), and from 2.2 it deletes the znode if it was its own, of
the session before.

What failing means is the node's to do: at start it exits. In a later session it goes on; from 1.1 the controller then
is not told of the session, and takes no part in elections (there registering and electing are one event).
"""

from collections.abc import Callable

import msgspec

from controller.session_calls import Procedure, SessionLost, ask, perform, perform_all, perform_in_session
from protocol.kinds import ExitKind
from protocol.messages.session import Create, Delete, GetChildren, GetData, SessionError, SessionRequest, SetData
from protocol.versions import Gates
from protocol.znodes import (
    ISR_CHANGE_NOTIFICATION,
    LOG_DIR_EVENT_NOTIFICATION,
    PERSISTENT_PATHS,
    TOPIC_CONFIGS,
    BrokerRegistration,
    broker_path,
    decode_broker,
    decode_topic_config,
    encode_broker,
    topic_config_path,
)

ATTEMPTS = 10
"""Times that creating the znode is tried while it comes and goes under our hands (Kafka: without end)."""

EARLIER_SESSION = "a broker with this id is registered, or its earlier session has not expired yet"
"""Why the znode may be there and not be ours."""


class Registered(msgspec.Struct, frozen=True):
    """`broker_epoch`: czxid of the znode. `session`: under which it was made; the next registration asks
    for it."""

    broker_epoch: int
    session: int


class NotRegistered(msgspec.Struct, frozen=True):
    """At start the process exits with this; in a later session the broker goes on unregistered. `waits`: neither; it
    tries again after the session's time-out (0.8.2)."""

    reason: str
    kind: ExitKind = ExitKind.NOT_REGISTERED
    waits: bool = False


def persistent_paths(gates: Gates) -> Procedure[None]:
    """Create what is missing of the paths that everything else is under."""
    unknown = set() if gates.hears_of_isr_changes else {ISR_CHANGE_NOTIFICATION}
    if not gates.hears_of_log_dirs:
        unknown.add(LOG_DIR_EVENT_NOTIFICATION)
    paths = [path for path in PERSISTENT_PATHS if path not in unknown]
    results = yield from perform_all([Create(path) for path in paths])
    for path, result in zip(paths, results, strict=True):
        assert result.error in (SessionError.OK, SessionError.NODE_EXISTS), (path, result.error)


def topic_configurations() -> Procedure[dict[str, dict[str, str]]]:
    """What a broker asks before it loads its logs: {topic: its own settings}, of every topic that has any."""
    topics = sorted((yield from perform(GetChildren(TOPIC_CONFIGS))).children)
    found = yield from perform_all([GetData(topic_config_path(topic)) for topic in topics])
    return {
        topic: decode_topic_config(topic, result.data)
        for topic, result in zip(topics, found, strict=True)
        if result.error == SessionError.OK
    }


def register_broker(
    gates: Gates,
    registration: BrokerRegistration,
    wall_ms: float,
    session: Callable[[], int],
    previous_session: int = -1,
) -> Procedure[Registered | NotRegistered]:
    """Create `/brokers/ids/N`.

    `session` tells the id of the session now; `previous_session` the one in which this process last
    registered (-1 never). Ends with NotRegistered too if the session expires meanwhile.
    """
    path = broker_path(registration.broker)
    data = encode_broker(registration, wall_ms)
    try:
        for _ in range(ATTEMPTS):
            epoch, error = yield from _create(gates, path, data)
            if error == SessionError.OK:
                return Registered(epoch, session())
            if error != SessionError.NODE_EXISTS:
                return NotRegistered(f"creating {path} failed: {SessionError(error).name}")
            existing = yield from (perform_in_session if gates.ephemerals_end_with_session else perform)(GetData(path))
            if existing.error == SessionError.NO_NODE:
                continue  # it went away while we looked
            if existing.owner == session():
                return Registered(existing.czxid, session())  # made by a request whose answer was lost
            if not (gates.registration_retries_node_exists and existing.owner == previous_session):
                there = decode_broker(registration.broker, existing.data, existing.czxid)
                same_place = (there.host, there.port) == (registration.host, registration.port)
                return NotRegistered(
                    f"{path} exists and belongs to session {existing.owner}, not to ours ({session()}): "
                    + EARLIER_SESSION,
                    ExitKind.STILL_REGISTERED,
                    waits=gates.registration_waits_for_old_session and same_place,
                )
            yield from perform(Delete(path))
    except SessionLost:
        return NotRegistered("the session expired while registering", ExitKind.REGISTRATION_EXPIRED)
    return NotRegistered(f"{path} came and went {ATTEMPTS} times while registering")


def _create(gates: Gates, path: str, data: bytes) -> Procedure[tuple[int, int]]:
    """(czxid, error). 2.2+: a multi, so that the answer carries the znode's czxid, its broker epoch."""
    if gates.broker_epochs:
        answer = yield from ask(
            SessionRequest([Create(path, ephemeral=True), SetData(path, data, version=0)], multi=True)
        )
        return (answer.results[1].czxid if not answer.error else -1), answer.error
    create = Create(path, data, ephemeral=True)
    created = yield from (perform_in_session if gates.ephemerals_end_with_session else perform)(create)
    return created.czxid, created.error
