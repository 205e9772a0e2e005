"""Log lines of processes, sessions with ZooKeeper, and connections (semantics 9).

A process writes the first of these lines at its start, and a signal's line at a SIGTERM. Connections are events of
level wire; a run without these has no lines of connections. Checked against the releases 0.8.2.2 to 3.8.0, and against
logs of 2.8.2, 3.9.2 and 4.4.0. Names and versions as in `log_texts`.

`{peer}`: the other node's id; `{host}`: its name; `{session_hex}`: the session's id.
"""

from emulator.runs.kafka_log.pattern import WARN, Pattern, pattern

_CLIENT = "org.apache.kafka.clients.NetworkClient"
_ZOOKEEPER = "org.apache.zookeeper.ClientCnxn"
_SESSIONS = (("0.8.2", "org.I0Itec.zkclient.ZkClient"), ("1.1", "kafka.zookeeper.ZooKeeperClient"))
_SESSIONS_PREFIX = (("0.8.2", ""), ("1.1", "[ZooKeeperClient] "), ("2.3", "[ZooKeeperClient Kafka server] "))
_NOT_ESTABLISHED = "Connection to node {peer} ({host}:{port}) could not be established. "

PROCESSES: dict[str, Pattern] = {
    "process-begins": pattern(
        (
            ("0.8.2", "kafka.utils.Log4jControllerRegistration$"),
            ("4.0", "org.apache.kafka.server.logger.Log4jControllerRegistration"),
        ),
        (
            ("1.1", "Registered kafka:type=kafka.Log4jController MBean"),
            ("4.0", "Registered `kafka:type=kafka.Log4jController` MBean"),
        ),
    ),
    "server-starts": pattern(
        "kafka.server.KafkaServer",
        (("0.8.2", "[Kafka Server {broker}], starting"), ("0.10.2", "starting"), ("1.1", "")),
    ),
    "shutting-down": pattern(
        "kafka.server.KafkaServer",
        (("0.8.2", "[Kafka Server {broker}], shutting down"), ("1.0", "")),
    ),
    "signal": pattern(
        (("0.8.2", "kafka.Kafka$"), ("1.1", "org.apache.kafka.common.utils.LoggingSignalHandler")),
        (("1.0", "Terminating process due to signal SIGTERM"),),
    ),
    # ZooKeeper's client: an error of the connection.
    "session-broken": pattern(
        _ZOOKEEPER,
        (
            (
                "0.8.2",
                "Session 0x{session_hex} for server {server}, unexpected error, closing socket connection and "
                "attempting reconnect",
            ),
            (
                "3.0",
                "Session 0x{session_hex} for server {server}, Closing socket connection. Attempting reconnect except "
                "it is a SessionExpiredException.",
            ),
        ),
        level=WARN,
    ),
    "session-unknown": pattern(
        _ZOOKEEPER,
        (
            (
                "0.8.2",
                "Unable to reconnect to ZooKeeper service, session 0x{session_hex} has expired, closing socket "
                "connection",
            ),
            ("2.4", "Unable to reconnect to ZooKeeper service, session 0x{session_hex} has expired"),
        ),
        level=WARN,
    ),
    "session-lost": pattern(_SESSIONS, (("0.8.2", "zookeeper state changed (Disconnected)"), ("1.1", ""))),
    "session-expired": pattern(
        _SESSIONS,
        (("0.8.2", "zookeeper state changed (Expired)"), ("1.1", "Session expired.")),
        prefix=_SESSIONS_PREFIX,
    ),
    "session-connected": pattern(
        _SESSIONS,
        (("0.8.2", "zookeeper state changed (SyncConnected)"), ("1.1", "Connected.")),
        prefix=_SESSIONS_PREFIX,
    ),
}

_OF_FETCHER = (("0.8.2", ""), ("1.0", "[ReplicaFetcher replicaId={broker}, leaderId={peer}, fetcherId=0] "))
_OF_CONTROLLER = (("0.8.2", ""), ("1.0", "[Controller id={broker}, targetBrokerId={peer}] "))
_OF_QUORUM = (("0.8.2", "[RaftManager nodeId={broker}] "), ("3.5", "[RaftManager id={broker}] "))
_TO_CONTROLLER = (
    ("0.8.2", "[BrokerToControllerChannelManager broker={broker} name=heartbeat] "),
    ("3.7", "[NodeToControllerChannelManager id={broker} name=heartbeat] "),
)
PREFIXES = {
    "fetcher": _OF_FETCHER,
    "controller": _OF_CONTROLLER,
    "quorum": _OF_QUORUM,
    "node-to-controller": _TO_CONTROLLER,
}
"""{purpose of a connection: prefix of its client's lines}; others have no lines."""
_ENDS = {
    "refused": (
        (
            ("0.11", "Connection to node {peer} could not be established. Broker may not be available."),
            ("2.1", _NOT_ESTABLISHED + "Broker may not be available."),
            ("3.7", _NOT_ESTABLISHED + "Node may not be available."),
        ),
        WARN,
    ),
    "lost": ((("3.1", "Node {peer} disconnected."),), "INFO"),
    "timed-out": ((("3.1", "Disconnecting from node {peer} due to request timeout."),), "INFO"),
    "closed": ((("3.1", "Client requested disconnect from node {peer}"),), "INFO"),
}
CONNECTIONS: dict[str, Pattern] = {
    f"{purpose}-{end}": pattern(_CLIENT, text, prefix=prefix, level=level)
    for purpose, prefix in PREFIXES.items()
    for end, (text, level) in _ENDS.items()
}
"""Ends of connections, by their purpose."""
