"""The log lines that an import understands: one table, which docs/imported-lines.md shows.

`FORMS` has the lines that the emulator also writes (`emulator.runs.kafka_log`, by version), and those of real brokers
that no event of ours becomes: KRaft's, a process's start and end, sessions, elections. Sources: Kafka's classes of the
loggers' names at the release tags; real brokers of 0.10.2, 2.8, 3.9 and 4.4.
"""

import re
from typing import Final

from emulator.runs.importing.line_forms import LineForm
from emulator.runs.kafka_log.pattern import Pattern
from emulator.runs.kafka_log.rendering import PATTERNS
from protocol.versions import VERSIONS, in_force

_STATE: Final = "logger"
"""Last part of `state.change.logger`."""
SHORT_LOGGERS: Final[dict[str, tuple[str, ...]]] = {
    "logger": ("state.change.logger",),
    "Log": ("kafka.log.Log",),
    "UnifiedLog": ("kafka.log.UnifiedLog", "internals.log.UnifiedLog"),
    "LogLoader": ("kafka.log.LogLoader", "internals.log.LogLoader"),
    "LogManager": ("kafka.log.LogManager", "internals.log.LogManager"),
    "Partition": ("kafka.cluster.Partition",),
    "ClientCnxn": ("org.apache.zookeeper.ClientCnxn",),
    "ZkClient": ("org.I0Itec.zkclient.ZkClient",),
    "ZkUtils": ("kafka.utils.ZkUtils",),
    "Exit": ("kafka.utils.Exit", "common.utils.Exit"),
    "Kafka$": ("kafka.Kafka$",),
}
"""{last part of a logger's name: its full names}, of parts shorter than eleven characters."""
_RENDERED: Final = {
    "truncating": "log_truncated",
    "truncating-beyond-end": "log_truncated: nothing was removed",
    "truncated": "log_truncated",
    "truncated-nothing": "log_truncated: nothing was removed",
    "recovering": "log_loaded: an unclean start",
    "corrupted": "log_loaded: a damaged segment",
    "loaded": "log_loaded",
    "shrinking-isr": "isr_change_asked",
    "expanding-isr": "isr_change_asked",
    "isr-written": "isr_change_ended",
    "isr-altered": "isr_change_ended",
    "zk-version-outdated": "isr_change_ended",
    "leads": "role_changed",
    "follows": "role_changed",
    "epoch-cached": "leader_epoch_began",
    "fetch-out-of-range": "fetch_out_of_range",
    "offset-out-of-range": "log_truncated: its reason",
    "reset-to-latest": "fetch_offset_reset",
    "has-reset-to-latest": "fetch_offset_reset",
    "reset-to-start": "fetch_offset_reset",
    "truncation-not-allowed": "fetch_offset_reset",
    "to-local-high-watermark": "log_truncated: its reason",
    "below-high-watermark": "log_truncated: the high watermark",
    "was-below-high-watermark": "log_truncated: the high watermark",
    "fenced": "fetcher_changed",
    "failed": "fetcher_changed",
    "elected-as-leader": "controller_changed",
    "elected": "controller_changed",
    "epoch-incremented": "controller_changed",
    "resigned": "controller_changed",
    "brokers-seen": "brokers_seen",
    "broker-startup": "brokers_handled",
    "broker-failure": "brokers_handled",
    "partition-online": "state_decided",
    "replica-left-isr": "state_decided",
    "order-of-old-controller": "leader_and_isr_ignored",
    "order-of-old-epoch": "leader_and_isr_ignored",
    "order-of-same-epoch": "leader_and_isr_ignored",
    "order-not-for-us": "leader_and_isr_ignored",
    "leader-unavailable": "leader_and_isr_ignored",
    "stopping-logs": "log_dir_failed",
    "all-failed": "log_dir_failed: the last",
    "logs-offline": "log_dir_failed: its partitions",
}
"""{line of the emulator: what it becomes}. Lines that restate others are left out."""
_REAL_FETCHER: Final = "[ReplicaFetcher replicaId={broker}, leaderId={source}, fetcherId={fetcher}] "
_LIFECYCLE: Final = "[BrokerLifecycleManager id={broker}] "
_QUORUM: Final = "[QuorumController id={broker}] "
_RAFT: Final = "[RaftManager id={broker}] Completed transition to "
_BY_BROKER: Final = "[Broker id={broker}] "


OF_REAL_BROKERS: Final = (
    # --- a process's start and end ---
    LineForm("process-begins", "Log4jControllerRegistration$|Log4jControllerRegistration", "1.0",
        "Registered {rest}kafka:type=kafka.Log4jController{rest}MBean", "node_started"),
    LineForm("process-begins", "Log4jControllerRegistration$|Log4jControllerRegistration", "4.0",
        "Registered `kafka:type=kafka.Log4jController` MBean", "node_started"),
    LineForm("config", "KafkaConfig", "0.8.2", "KafkaConfig values: {rest}", "node_started: its time, before 1.0"),
    LineForm("server-starts", "KafkaServer", "0.8.2", "starting", "node_started"),
    LineForm("server-starts", "BrokerServer", "2.8",
        "[BrokerServer id={broker}] Transition from SHUTDOWN to STARTING", "node_started"),
    LineForm("controller-starts", "ControllerServer", "2.8", "[ControllerServer id={broker}] Starting controller",
        "node_started"),
    LineForm("started", "KafkaServer", "1.0", "[KafkaServer id={broker}] started", "broker_lifecycle_changed"),
    LineForm("started", "KafkaServer", "0.8.2", "[Kafka Server {broker}], started", "broker_lifecycle_changed"),
    LineForm("started", "BrokerServer", "2.8", "[BrokerServer id={broker}] Transition from STARTING to STARTED",
        "broker_lifecycle_changed"),
    LineForm("shutting-down", "KafkaServer", "1.0", "[KafkaServer id={broker}] shutting down", "node_stopped"),
    LineForm("shutting-down", "KafkaServer", "0.8.2", "[Kafka Server {broker}], shutting down", "node_stopped"),
    LineForm("shutting-down", "BrokerServer", "2.8", "[BrokerServer id={broker}] shutting down", "node_stopped"),
    LineForm("shutting-down", "BrokerServer", "2.8",
        "[BrokerServer id={broker}] Transition from STARTED to SHUTTING_DOWN", "node_stopped"),
    LineForm("shut-down", "KafkaServer", "1.0", "[KafkaServer id={broker}] shut down completed", "node_stopped"),
    LineForm("shut-down", "KafkaServer", "0.8.2", "[Kafka Server {broker}], shut down completed", "node_stopped"),
    LineForm("shut-down", "BrokerServer", "2.8", "[BrokerServer id={broker}] shut down completed", "node_stopped"),
    LineForm("shut-down", "BrokerServer", "2.8", "[BrokerServer id={broker}] Transition from SHUTTING_DOWN to SHUTDOWN",
        "node_stopped"),
    LineForm("shut-down", "ControllerServer", "2.8", "[ControllerServer id={broker}] shutting down", "node_stopped"),
    LineForm("signal", "LoggingSignalHandler", "1.0", "Terminating process due to signal {word}", "node_stopped"),
    LineForm("version", "AppInfoParser", "0.10.2", "Kafka version: {name}", "node_started: its version"),
    LineForm("version", "AppInfoParser$", "0.10.2", "Kafka version : {name}", "node_started: its version"),
    LineForm("version", "AppInfoParser$AppInfo", "0.10.2", "Kafka version : {name}", "node_started: its version"),
    LineForm("exit", "Exit|KafkaServer|BrokerServer|Kafka$", "0.8.2",
        "Exiting Kafka{rest}", "node_stopped: by itself"),
    LineForm("fatal-start", "KafkaServer", "1.0",
        "[KafkaServer id={broker}] Fatal error during KafkaServer startup. Prepare to shutdown",
        "node_stopped: by itself"),
    # --- logs ---
    LineForm("clean-start", "LogManager", "2.2",
        "Skipping recovery {rest} since clean shutdown file was found", "log_loaded: clean"),
    LineForm("unclean-start", "LogManager", "2.2",
        "{word} recovery for all logs in {rest} since no clean shutdown file was found", "log_loaded: unclean"),
    LineForm("unclean-start", "LogManager", "3.5",
        "Recovering {logs} logs from {rest} since no clean shutdown file was found", "log_loaded: unclean"),
    LineForm("log-created", "LogManager", "0.8.2", "Created log for partition {any_tp} in {rest}", "log_created"),
    LineForm("loaded", "Log", "0.8.2",
        "Completed load of log {tp} with {segments} log segments and log end offset {log_end} in {took} ms",
        "log_loaded"),
    LineForm("loaded", "Log", "1.0",
        "[Log partition={tp}, dir={dir}] Completed load of log with {segments} {rest} log start offset {log_start} "
        "and log end offset {log_end} in {took} ms", "log_loaded"),
    LineForm("loaded", "LogManager", "2.8",
        "Completed load of Log(dir={rest}topic={topic}, partition={partition}, highWatermark={high_watermark}, "
        "lastStableOffset={stable}, logStartOffset={log_start}, logEndOffset={log_end}) with {rest}",
        "log_loaded"),
    LineForm("initial-high-watermark", "Partition", "0.11",
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
    LineForm("log-start-moved", "Log|UnifiedLog", "2.0",
        "[{word} partition={tp}, dir={dir}] Incremented log start offset to {log_start} due to {name}",
        "log_start_moved"),
    LineForm("disk-full", "LogDirFailureChannel", "1.0", "Error while {rest} in dir {rest}",
        "log_dir_failed: its reason"),
    # --- truncation by a follower ---
    LineForm("to-epoch-end", "ReplicaFetcherThread", "2.1",
        _REAL_FETCHER + "Truncating partition {tp} {rest}due to leader epoch and offset {rest}",
        "log_truncated: its reason"),
    # --- roles and ISR ---
    LineForm("leads", _STATE, "3.0",
        _BY_BROKER + "Leader {tp} {rest}starts at leader epoch {leader_epoch} from offset {log_end} with high "
        "watermark {high_watermark} ISR [{isr}] addingReplicas [{adding}] removingReplicas [{removing}]. Previous "
        "leader epoch was {previous_epoch}.", "role_changed"),
    LineForm("order", _STATE, "0.8.2",
        "Broker {broker} received LeaderAndIsr request PartitionState(controllerEpoch={controller_epoch}, "
        "leader={leader}, leaderEpoch={leader_epoch}, isr=[{isr}], zkVersion={zk_version}, replicas=[{replicas}]) "
        "correlation id {correlation} from controller {controller} epoch {requests_epoch} for partition {old_tp}",
        "role_changed, up to 2.3"),
    LineForm("order", _STATE, "1.0",
        _BY_BROKER + "Received LeaderAndIsr request PartitionState(controllerEpoch={controller_epoch}, "
        "leader={leader}, leaderEpoch={leader_epoch}, isr=[{isr}], zkVersion={zk_version}, replicas=[{replicas}]"
        "{rest}) correlation id {correlation} from controller {controller} epoch {requests_epoch} for partition {tp}",
        "role_changed, up to 2.3"),
    LineForm("order", _STATE, "2.4",
        _BY_BROKER + "Received LeaderAndIsr request LeaderAndIsrPartitionState(topicName='{topic}', "
        "partitionIndex={partition}, controllerEpoch={controller_epoch}, leader={leader}, leaderEpoch={leader_epoch},"
        " isr=[{isr}], zkVersion={zk_version}, replicas=[{replicas}], {rest}", "role_changed, up to 2.5"),
    LineForm("shrinking-isr", "Partition", "2.2",
        "[Partition {tp} broker={broker}] Shrinking ISR from {was} to {now}. Leader: (highWatermark: "
        "{high_watermark}, endOffset: {log_end}). Out of sync replicas: {replica_ends}.", "isr_change_asked"),
    # --- the controller, with ZooKeeper ---
    LineForm("unclean-election", "OfflinePartitionLeaderSelector", "0.8.2",
        "[OfflinePartitionLeaderSelector]: No broker in ISR is alive for {old_tp}. Elect leader {leader} from live "
        "brokers {live}. There's potential data loss.", "incident: an unclean election"),
    LineForm("unclean-election", _STATE, "1.0", "{rest}Unclean leader election {rest}{any_tp}{rest}",
        "incident: an unclean election"),
    LineForm("new-partition", _STATE, "0.8.2",
        "Controller {broker} epoch {controller_epoch} changed partition {old_tp} state from {word} to NewPartition "
        "with assigned replicas {replicas}", "incident: the replicas"),
    LineForm("new-partition", _STATE, "1.0",
        "[Controller id={broker} epoch={controller_epoch}] Changed partition {tp} state from {word} to NewPartition "
        "with assigned replicas {replicas}", "incident: the replicas"),
    LineForm("partition-offline", _STATE, "0.8.2",
        "Controller {broker} epoch {controller_epoch} changed partition {old_tp} state from {word} to "
        "OfflinePartition", "incident: no leader"),
    LineForm("partition-offline", _STATE, "1.0",
        "[Controller id={broker} epoch={controller_epoch}] Changed partition {tp} state from {word} to "
        "OfflinePartition", "incident: no leader"),
    # --- sessions ---
    LineForm("session-slow", "ClientCnxn", "0.8.2",
        "Client session timed out, have not heard from server in {silence_ms}ms for session{rest}",
        "session_changed"),
    LineForm("session-expired", "ClientCnxn", "0.8.2",
        "Unable to reconnect to ZooKeeper service, session {session} has expired{rest}", "session_changed"),
    LineForm("session-expired", "ZooKeeperClient", "1.1", "[ZooKeeperClient{rest}] Session expired.",
        "session_changed"),
    LineForm("session-expired", "ZkClient", "0.8.2", "zookeeper state changed (Expired)", "session_changed"),
    LineForm("session-lost", "ZkClient", "0.8.2", "zookeeper state changed (Disconnected)", "session_changed"),
    LineForm("session-connected", "ZkClient", "0.8.2", "zookeeper state changed (SyncConnected)", "session_changed"),
    LineForm("session-connected", "ZooKeeperClient", "1.1", "[ZooKeeperClient{rest}] Connected.", "session_changed"),
    LineForm("registered", "KafkaZkClient|ZkUtils", "0.8.2", "Registered broker {broker} at path {rest}",
        "broker_lifecycle_changed"),
    # --- KRaft: brokers ---
    LineForm("lifecycle", "BrokerLifecycleManager", "3.0",
        _LIFECYCLE + "Successfully registered broker {number} with broker epoch {broker_epoch}",
        "broker_lifecycle_changed: starting"),
    LineForm("recovery", "BrokerLifecycleManager", "3.0",
        _LIFECYCLE + "The broker has caught up. Transitioning from STARTING to RECOVERY.",
        "broker_lifecycle_changed: recovery"),
    LineForm("running", "BrokerLifecycleManager", "3.0",
        _LIFECYCLE + "The broker has been unfenced. Transitioning from RECOVERY to RUNNING.",
        "broker_lifecycle_changed: running"),
    LineForm("stopping", "BrokerLifecycleManager", "3.0", _LIFECYCLE + "Beginning controlled shutdown.",
        "broker_lifecycle_changed: shutting-down"),
    LineForm("heartbeat-late", "BrokerLifecycleManager", "3.0",
        _LIFECYCLE + "Unable to send a heartbeat because the RPC got timed out before it could be sent.",
        "incident: cut off"),
    LineForm("heartbeat-refused", "BrokerLifecycleManager", "3.0",
        _LIFECYCLE + "Broker {number} sent a heartbeat request but received error {word}{rest}",
        "broker_lifecycle_changed: an error"),
    LineForm("fetch-failed", "ReplicaFetcherThread", "0.8.2", "{rest}Error in response for fetch request {rest}",
        "incident: a follower without its leader"),
    LineForm("fetch-failed", "ReplicaFetcherThread", "0.8.2", "{rest}Error in fetch {rest}",
        "incident: a follower without its leader"),
    # --- KRaft: controllers ---
    LineForm("fencing", "ReplicationControlManager", "3.0",
        _QUORUM + "Fencing broker {number} because its session has timed out.", "incident: a session"),
    LineForm("fencing", "ReplicationControlManager", "4.0",
        _QUORUM + "Fencing broker {number} at epoch {broker_epoch} because its session has timed out.",
        "incident: a session"),
    LineForm("unclean-change", "ReplicationControlManager", "3.0",
        _QUORUM + "UNCLEAN partition change for {tp} with topic ID {topic_id}: {rest}leader: {old_leader} -> "
        "{leader}, {rest}leaderEpoch: {old_epoch} -> {leader_epoch}, {rest}", "incident: an unclean election"),
    LineForm("active", "QuorumController", "3.0", _QUORUM + "Becoming the active controller at epoch {epoch}{rest}",
        "controller_changed"),
    LineForm("renounced", "QuorumController", "3.0", _QUORUM + "Renouncing the leadership {rest}",
        "controller_changed"),
    LineForm("renounced", "QuorumController", "3.4", _QUORUM + "{rest} Renouncing{rest}", "controller_changed"),
    LineForm("quorum-leader", "QuorumState", "3.0", _RAFT + "Leader(localReplicaKey={rest}, epoch={epoch}, {rest}",
        "quorum_state_changed: leader"),
    LineForm("quorum-leader", "QuorumState", "3.0", _RAFT + "Leader(localId={number}, epoch={epoch}, {rest}",
        "quorum_state_changed: leader"),
    LineForm("quorum-leader", "QuorumState", "4.0", _RAFT + "LeaderState(localVoterNode={rest}, epoch={epoch}, {rest}",
        "quorum_state_changed: leader"),
    LineForm("quorum-leader", "QuorumState", "4.0", _RAFT + "Leader(localVoterNode={rest}, epoch={epoch}, {rest}",
        "quorum_state_changed: leader"),
    LineForm("quorum-follower", "QuorumState", "3.0",
        _RAFT + "FollowerState(fetchTimeoutMs={timeout}, epoch={epoch}, leader={leader}, {rest}",
        "quorum_state_changed: follower"),
    LineForm("quorum-candidate", "QuorumState", "3.0",
        _RAFT + "CandidateState(localId={number}, localDirectoryId={name},{rest}epoch={epoch}, {rest}",
        "quorum_state_changed: candidate"),
    LineForm("quorum-unattached", "QuorumState", "3.0", _RAFT + "Unattached{rest}(epoch={epoch}, {rest}",
        "quorum_state_changed: unattached"),
    LineForm("quorum-prospective", "QuorumState", "4.0", _RAFT + "ProspectiveState(epoch={epoch}, {rest}",
        "quorum_state_changed: prospective"),
    LineForm("quorum-resigned", "QuorumState", "3.0", _RAFT + "Resigned{rest}epoch={epoch}, {rest}",
        "quorum_state_changed: resigned"),
)  # fmt: skip
"""Lines that only real brokers write, or that they write in another form."""


def _of_emulator() -> list[LineForm]:
    """The emulator's own lines, each form once with its first version."""
    forms: dict[tuple[str, str, str], LineForm] = {}
    for name, says in _RENDERED.items():
        for version in VERSIONS:
            text, logger = _written(PATTERNS[name], version)
            if text:
                forms.setdefault((name, logger, text), LineForm(name, logger, version, text, says))
    return list(forms.values())


def _written(pattern: Pattern, version: str) -> tuple[str, str]:
    """(text with its prefix, last part of the logger's name).

    Real fetchers and ports have any number.
    """
    text = in_force(version, pattern.text)
    if not text:
        return "", ""
    text = in_force(version, pattern.prefix) + text
    text = text.replace("ReplicaFetcherThread-0-", "ReplicaFetcherThread-{fetcher}-")
    text = text.replace("fetcherId=0", "fetcherId={fetcher}")
    return re.sub(r"\b9092\b", "{port}", text), in_force(version, pattern.logger).rpartition(".")[2]


FORMS: Final[tuple[LineForm, ...]] = (*_of_emulator(), *OF_REAL_BROKERS)
