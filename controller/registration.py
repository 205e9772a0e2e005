"""Registration of a broker in ZooKeeper (semantics 5.1, 11.10; KAFKA-7165).

The node that owns the session runs the procedures: `persistent_paths` and `topic_configurations` once at start,
`register_broker` at start and in every new session.
The registration is an ephemeral. A session outlives its process until it expires, so an earlier session's znode may
still exist. Then registering fails. At start that ends the process. Later, up to 2.1, the broker goes on alive and
unregistered (KAFKA-7165). From 2.2 it deletes the znode if its own previous session owns it.
The node handles a failure: at start it exits; in a later session it goes on. From 1.1 the controller then does not
learn of the session, and takes no part in elections (there registering and electing are one event).
"""

from collections.abc import Callable

import msgspec

from controller.session_calls import Procedure, SessionLost, ask, perform, perform_all, perform_in_session
from protocol.gates import Gates
from protocol.kinds import ExitKind
from protocol.messages.session_messages import (
    Create,
    Delete,
    GetChildren,
    GetData,
    SessionError,
    SessionRequest,
    SetData,
)
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
"""Bound of attempts while the znode is created and deleted concurrently (Kafka: none)."""

EARLIER_SESSION = "a broker with this id is registered, or its earlier session has not expired yet"
"""Reason of a registration that another session owns."""


class Registered(msgspec.Struct, frozen=True):
    """Successful registration. `broker_epoch`: czxid of the znode. `session`: its owner.

    The next registration takes `session` as `previous_session`.
    """

    broker_epoch: int
    session: int


class NotRegistered(msgspec.Struct, frozen=True):
    """Failed registration: at start the process exits; later the broker goes on unregistered.

    `waits`: neither; the broker tries again after the session's timeout (0.8.2).
    """

    reason: str
    kind: ExitKind = ExitKind.NOT_REGISTERED
    waits: bool = False


def persistent_paths(gates: Gates) -> Procedure[None]:
    """Create the missing ones of the persistent paths."""
    unknown = set() if gates.watches_isr_changes else {ISR_CHANGE_NOTIFICATION}
    if not gates.watches_log_dir_failures:
        unknown.add(LOG_DIR_EVENT_NOTIFICATION)
    paths = [path for path in PERSISTENT_PATHS if path not in unknown]
    results = yield from perform_all([Create(path) for path in paths])
    for path, result in zip(paths, results, strict=True):
        assert result.error in (SessionError.OK, SessionError.NODE_EXISTS), (path, result.error)


def topic_configurations() -> Procedure[dict[str, dict[str, str]]]:
    """Topics' own settings, as a broker reads them before it loads its logs: {topic: settings}.

    Topics without settings of their own are left out.
    """
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

    `session` returns the current session's id. `previous_session`: the one in which this process last registered
    (-1 never). Also returns NotRegistered if the session expires meanwhile.
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
                continue  # it was deleted since the create
            if existing.owner == session():
                return Registered(existing.czxid, session())  # made by a request whose response was lost
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
    """(czxid, error) of the creation. 2.2+: a multi, whose response carries the czxid.

    The czxid is the broker epoch.
    """
    if gates.broker_epochs:
        answer = yield from ask(
            SessionRequest([Create(path, ephemeral=True), SetData(path, data, version=0)], multi=True)
        )
        return (answer.results[1].czxid if not answer.error else -1), answer.error
    create = Create(path, data, ephemeral=True)
    created = yield from (perform_in_session if gates.ephemerals_end_with_session else perform)(create)
    return created.czxid, created.error
