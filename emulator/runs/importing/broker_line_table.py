"""Log lines of real brokers that the emulator does not write, or not in this form.

A process's start and end, logs, roles, in-sync replicas, sessions with ZooKeeper, connections to other nodes.
"""

from typing import Final

from emulator.runs.importing.line_forms import LineForm

STATE: Final = "logger"
"""Last part of `state.change.logger`."""
_FETCHER: Final = "[ReplicaFetcher replicaId={broker}, leaderId={source}, fetcherId={fetcher}] "
_BY_BROKER: Final = "[Broker id={broker}] "
_SERVER: Final = "[BrokerServer id={broker}] "
_LIFECYCLE: Final = "[BrokerLifecycleManager id={broker}] "
_RECEIVED: Final = "eceived LeaderAndIsr request "
_STATE_OF_ORDER: Final = (
    "PartitionState(controllerEpoch={controller_epoch}, leader={leader}, leaderEpoch={leader_epoch}, "
)
_FROM_CONTROLLER: Final = " correlation id {correlation} from controller {controller} epoch {requests_epoch}"

PROCESSES: Final = (
    LineForm("process-begins", "Log4jControllerRegistration$|Log4jControllerRegistration", "1.1",
        "Registered {rest}kafka:type=kafka.Log4jController{rest}MBean", "node_started"),
    LineForm("process-begins", "Log4jControllerRegistration$|Log4jControllerRegistration", "4.0",
        "Registered `kafka:type=kafka.Log4jController` MBean", "node_started"),
    LineForm("config", "KafkaConfig", "0.8.2", "KafkaConfig values: {rest}", "node_started: its time, before 1.0"),
    LineForm("server-starts", "KafkaServer", "0.8.2", "[Kafka Server {broker}], starting", "node_started"),
    LineForm("server-starts", "KafkaServer", "0.10.2", "starting", "node_started"),
    LineForm("broker-starts", "BrokerServer", "2.8", _SERVER + "Starting broker", "node_started"),
    LineForm("server-starts", "BrokerServer", "3.1", _SERVER + "Transition from SHUTDOWN to STARTING", "node_started"),
    LineForm("started", "KafkaServer", "0.8.2", "[Kafka Server {broker}], started", "broker_lifecycle_changed"),
    LineForm("started", "KafkaServer", "1.0", "[KafkaServer id={broker}] started", "broker_lifecycle_changed"),
    LineForm("started", "BrokerServer", "3.1", _SERVER + "Transition from STARTING to STARTED",
        "broker_lifecycle_changed"),
    LineForm("shutting-down", "KafkaServer", "0.8.2", "[Kafka Server {broker}], shutting down", "node_stopped"),
    LineForm("shutting-down", "KafkaServer", "1.0", "[KafkaServer id={broker}] shutting down", "node_stopped"),
    LineForm("shutting-down", "BrokerServer", "2.8", _SERVER + "shutting down", "node_stopped"),
    LineForm("shutting-down", "BrokerServer", "3.1", _SERVER + "Transition from STARTED to SHUTTING_DOWN",
        "node_stopped"),
    LineForm("shut-down", "KafkaServer", "0.8.2", "[Kafka Server {broker}], shut down completed", "node_stopped"),
    LineForm("shut-down", "KafkaServer", "1.0", "[KafkaServer id={broker}] shut down completed", "node_stopped"),
    LineForm("shut-down", "BrokerServer", "2.8", _SERVER + "shut down completed", "node_stopped"),
    LineForm("shut-down", "BrokerServer", "3.1", _SERVER + "Transition from SHUTTING_DOWN to SHUTDOWN",
        "node_stopped"),
    LineForm("signal", "LoggingSignalHandler|Kafka$", "1.0", "Terminating process due to signal {word}",
        "node_stopped"),
    LineForm("version", "AppInfoParser|AppInfoParser$AppInfo", "0.9", "Kafka version : {name}",
        "node_started: its version"),
    LineForm("version", "AppInfoParser|AppInfoParser$AppInfo", "2.2", "Kafka version: {name}",
        "node_started: its version"),
    LineForm("exit", "Exit|KafkaServer|BrokerServer|Kafka$|KafkaServerStartable", "0.8.2", "Exiting Kafka{rest}",
        "node_stopped: by itself"),
    LineForm("exit", "Kafka$|KafkaServerStartable", "0.11", "Halting Kafka.", "node_stopped: by itself"),
    LineForm("exit", "ReplicaManager", "1.0", "{rest}Halting broker because dir {rest} is offline",
        "node_stopped: by itself"),
    LineForm("exit", "ReplicaManager", "0.9", "{rest}Halting due to unrecoverable I/O error while handling {rest}",
        "node_stopped: by itself, and log_dir_failed"),
    LineForm("exit", "BrokerLifecycleManager", "2.8",
        _LIFECYCLE + "Shutting down because we were unable to register with the controller quorum.",
        "node_stopped: by itself"),
    LineForm("exit", "ProcessTerminatingFaultHandler", "3.4", "Encountered fatal fault: {rest}",
        "node_stopped: by itself"),
    LineForm("fatal-start", "KafkaServer", "0.8.2",
        "[Kafka Server {broker}], Fatal error during KafkaServer startup. Prepare to shutdown",
        "node_stopped: by itself"),
    LineForm("fatal-start", "KafkaServer", "1.0",
        "[KafkaServer id={broker}] Fatal error during KafkaServer startup. Prepare to shutdown",
        "node_stopped: by itself"),
    LineForm("fatal-start", "BrokerServer", "2.8", _SERVER + "Fatal error during broker startup. Prepare to shutdown",
        "node_stopped: by itself"),
)  # fmt: skip
"""A process's start and end."""

LOGS: Final = (
    LineForm("clean-start", "LogManager", "2.6",
        "Skipping recovery {rest} since clean shutdown file was found", "log_loaded: clean"),
    LineForm("unclean-start", "LogManager", "2.6",
        "{word} recovery for all logs in {rest} since no clean shutdown file was found", "log_loaded: unclean"),
    LineForm("unclean-start", "LogManager", "3.5",
        "Recovering {logs} logs from {rest} since no clean shutdown file was found", "log_loaded: unclean"),
    LineForm("log-created", "LogManager", "0.8.2", "Created log for partition {any_tp} in {rest}", "log_created"),
    LineForm("loaded", "Log", "0.10.1",
        "Completed load of log {tp} with {segments} log segments and log end offset {log_end} in {took} ms",
        "log_loaded"),
    LineForm("loaded", "Log", "0.11",
        "Completed load of log {tp} with {segments} log segments, log start offset {log_start} and log end offset "
        "{log_end} in {took} ms", "log_loaded"),
    LineForm("loaded", "Log", "1.0",
        "[Log partition={tp}, dir={dir}] Completed load of log with {segments} {rest} log start offset {log_start} "
        "and log end offset {log_end} in {took} ms", "log_loaded"),
    LineForm("loaded", "LogManager", "2.6",
        "Completed load of Log(dir={rest}topic={topic}, partition={partition}, highWatermark={high_watermark}, "
        "lastStableOffset={stable}, logStartOffset={log_start}, logEndOffset={log_end}) with {rest}",
        "log_loaded"),
    LineForm("initial-high-watermark", "Partition", "2.4",
        "[Partition {tp} broker={broker}] Log loaded for partition {tp} with initial high watermark {high_watermark}",
        "log_loaded: the high watermark"),
    LineForm("corrupted", "LogLoader", "3.0",
        "[LogLoader partition={tp}, dir={dir}] Corruption found in segment {segment}, truncating to offset "
        "{log_end}{rest}", "log_loaded: a damaged segment"),
    LineForm("truncated-fully", "Log", "1.0",
        "[Log partition={tp}, dir={dir}] Truncate and start at offset {to}{rest}", "log_truncated: all of it"),
    LineForm("truncated-fully", "UnifiedLog", "3.1",
        "[UnifiedLog partition={tp}, dir={dir}] Truncate and start at offset {to}{rest}",
        "log_truncated: all of it"),
    LineForm("log-start-moved", "Log", "0.11",
        "Incrementing log start offset of partition {tp} to {log_start} in dir {dir}", "log_start_moved"),
    LineForm("log-start-moved", "Log", "1.0",
        "[Log partition={tp}, dir={dir}] Incrementing log start offset to {log_start}", "log_start_moved"),
    LineForm("log-start-moved", "Log|UnifiedLog", "2.6",
        "[{word} partition={tp}, dir={dir}] Incremented log start offset to {log_start} due to {name}",
        "log_start_moved"),
    LineForm("disk-full", "LogDirFailureChannel", "1.0", "{rest}rror {rest}", "log_dir_failed: its reason"),
    LineForm("disk-full", "LogDirFailureChannel", "1.0", "Failed to {rest}", "log_dir_failed: its reason"),
    LineForm("disk-full", "ReplicaFetcherThread", "0.8.2", "{rest}Disk error while replicating data{rest}",
        "log_dir_failed: its reason"),
    LineForm("disk-full", "ReplicaManager", "0.8.2", "{rest}Error writing to highwatermark file: {rest}",
        "log_dir_failed: its reason"),
)  # fmt: skip
"""Logs and their directories."""

REPLICAS: Final = (
    LineForm("to-epoch-end", "ReplicaFetcherThread", "3.1",
        _FETCHER + "Truncating partition {tp} {rest}due to leader epoch and offset {rest}",
        "log_truncated: its reason"),
    LineForm("reset-to-start", "ReplicaFetcherThread", "3.6",
        _FETCHER + "Truncate fully and reset fetch offset for partition {tp} from {log_end} to the current leader's "
        "start offset {offset} {rest}", "fetch_offset_reset"),
    LineForm("fetch-failed", "ReplicaFetcherThread", "0.8.2",
        "[ReplicaFetcherThread-{fetcher}-{source}]{rest}Error in fetch {rest}",
        "incident: a follower without its leader"),
    LineForm("fetch-failed", "ReplicaFetcherThread", "0.11",
        "[ReplicaFetcherThread-{fetcher}-{source}]{rest}Error when sending leader epoch request for {rest}",
        "incident: a follower without its leader"),
    LineForm("fetch-failed", "ReplicaFetcherThread", "1.0", _FETCHER + "Error in fetch {rest}",
        "incident: a follower without its leader"),
    LineForm("fetch-failed", "ReplicaFetcherThread", "1.0",
        _FETCHER + "Error when sending leader epoch request for {rest}", "incident: a follower without its leader"),
    LineForm("fetch-failed", "ReplicaFetcherThread", "1.1", _FETCHER + "Error in response for fetch request {rest}",
        "incident: a follower without its leader"),
    LineForm("leads", STATE, "3.0",
        _BY_BROKER + "Leader {tp} {rest}starts at leader epoch {leader_epoch} from offset {log_end} with high "
        "watermark {high_watermark} ISR [{isr}] addingReplicas [{adding}] removingReplicas [{removing}]. Previous "
        "leader epoch was {previous_epoch}.", "role_changed"),
    LineForm("order", STATE, "0.8.2",
        "Broker {broker} r" + _RECEIVED + "(LeaderAndIsrInfo:(Leader:{leader},ISR:{isr},LeaderEpoch:{leader_epoch},"
        "ControllerEpoch:{controller_epoch}),ReplicationFactor:{factor}),AllReplicas:{replicas})" + _FROM_CONTROLLER
        + " for partition {old_tp}", "role_changed, up to 2.5"),
    LineForm("order", STATE, "0.10.0",
        "Broker {broker} r" + _RECEIVED + _STATE_OF_ORDER + "isr=[{isr}], zkVersion={zk_version}, "
        "replicas=[{replicas}])" + _FROM_CONTROLLER + " for partition {old_tp}", "role_changed, up to 2.5"),
    LineForm("order", STATE, "0.11",
        "Broker {broker} r" + _RECEIVED + _STATE_OF_ORDER + "isr={isr}, zkVersion={zk_version}, "
        "replicas={replicas})" + _FROM_CONTROLLER + " for partition {old_tp}", "role_changed, up to 2.5"),
    LineForm("order", STATE, "1.0",
        _BY_BROKER + "R" + _RECEIVED + _STATE_OF_ORDER + "isr={isr}, zkVersion={zk_version}, replicas={replicas}, "
        "isNew={word})" + _FROM_CONTROLLER + " for partition {tp}", "role_changed, up to 2.5"),
    LineForm("order", STATE, "2.4",
        _BY_BROKER + "R" + _RECEIVED + "LeaderAndIsrPartitionState(topicName='{topic}', "
        "partitionIndex={partition}, controllerEpoch={controller_epoch}, leader={leader}, leaderEpoch={leader_epoch},"
        " isr=[{isr}], zkVersion={zk_version}, replicas=[{replicas}], {rest}", "role_changed, up to 2.5"),
    LineForm("shrinking-isr", "Partition", "2.2",
        "[Partition {tp} broker={broker}] Shrinking ISR from {was} to {now}. Leader: (highWatermark: "
        "{high_watermark}, endOffset: {log_end}). Out of sync replicas: {replica_ends}.", "isr_change_asked"),
)  # fmt: skip
"""Roles, in-sync replicas and followers."""

SESSIONS: Final = (
    LineForm("session-slow", "ClientCnxn", "0.8.2",
        "Client session timed out, have not heard from server in {silence_ms}ms for session{rest}",
        "session_changed"),
    LineForm("session-slow", "ClientCnxn", "0.8.2",
        "Session {session} for server {rest}losing socket connection{rest}", "session_changed"),
    LineForm("session-slow", "ClientCnxn", "0.8.2",
        "Unable to read additional data from server sessionid {session}, {rest}", "session_changed"),
    LineForm("session-expired", "ClientCnxn", "0.8.2",
        "Unable to reconnect to ZooKeeper service, session {session} has expired{rest}", "session_changed"),
    LineForm("session-expired", "ZkClient", "0.8.2", "zookeeper state changed (Expired)", "session_changed"),
    LineForm("session-expired", "ZooKeeperClient", "1.1", "[ZooKeeperClient{rest}] Session expired.",
        "session_changed"),
    LineForm("session-lost", "ZkClient", "0.8.2", "zookeeper state changed (Disconnected)", "session_changed"),
    LineForm("session-connected", "ZkClient", "0.8.2", "zookeeper state changed (SyncConnected)", "session_changed"),
    LineForm("session-connected", "ZooKeeperClient", "1.1", "[ZooKeeperClient{rest}] Connected.", "session_changed"),
    LineForm("session-timeout", "ClientCnxn", "0.8.2",
        "Session establishment complete on server {rest}, session{rest} = {session}, negotiated timeout = "
        "{timeout_ms}{rest}", "incident: the session's timeout"),
    LineForm("registered", "KafkaZkClient|ZkUtils|ZkUtils$", "0.8.2", "Registered broker {broker} at path {rest}",
        "broker_lifecycle_changed"),
)  # fmt: skip
"""Sessions with ZooKeeper."""

LIFECYCLES: Final = (
    LineForm("lifecycle", "BrokerLifecycleManager", "2.8",
        _LIFECYCLE + "Successfully registered broker {number} with broker epoch {broker_epoch}",
        "broker_lifecycle_changed: starting"),
    LineForm("recovery", "BrokerLifecycleManager", "2.8",
        _LIFECYCLE + "The broker has caught up. Transitioning from STARTING to RECOVERY.",
        "broker_lifecycle_changed: recovery"),
    LineForm("running", "BrokerLifecycleManager", "2.8",
        _LIFECYCLE + "The broker has been unfenced. Transitioning from RECOVERY to RUNNING.",
        "broker_lifecycle_changed: running"),
    LineForm("stopping", "BrokerLifecycleManager", "2.8", _LIFECYCLE + "Beginning controlled shutdown.",
        "broker_lifecycle_changed: shutting-down"),
    LineForm("heartbeat-late", "BrokerLifecycleManager", "2.8",
        _LIFECYCLE + "Unable to send a heartbeat because the RPC got timed out before it could be sent.",
        "incident: cut off"),
    LineForm("heartbeat-late", "BrokerLifecycleManager", "2.8",
        _LIFECYCLE + "Unable to send broker heartbeat for {number}. Retrying.", "incident: cut off"),
    LineForm("heartbeat-refused", "BrokerLifecycleManager", "2.8",
        _LIFECYCLE + "Broker {number} sent a heartbeat request but received error {word}{rest}",
        "broker_lifecycle_changed: an error"),
)  # fmt: skip
"""Registrations of KRaft's brokers."""

CONNECTIONS: Final = (
    LineForm("unreachable", "NetworkClient", "0.11",
        "{rest}Connection to node {peer} {rest}could not be established.{rest}", "incident: another node is away"),
    LineForm("unreachable", "NetworkClient", "3.1", "{rest}Disconnecting from node {peer} due to {rest}",
        "incident: another node is away"),
    LineForm("unreachable", "NetworkClient", "3.1", "{rest}Node {peer} disconnected.",
        "incident: another node is away"),
)  # fmt: skip
"""Connections of any client inside a node."""

OF_BROKERS: Final = (*PROCESSES, *LOGS, *REPLICAS, *SESSIONS, *LIFECYCLES, *CONNECTIONS)
