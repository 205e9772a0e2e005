"""Log lines of real controllers that the emulator does not write, or not in this form.

Kafka 3.5 renamed the prefixes of KRaft's lines: `[Controller 3000] ` to `[QuorumController id=3000] `, and
`[RaftManager nodeId=` to `[RaftManager id=`.
"""

from collections.abc import Iterator
from typing import Final

from emulator.runs.importing.broker_line_table import STATE
from emulator.runs.importing.line_forms import LineForm
from protocol.versions import releases

RENAMED: Final = "3.5"
_QUORUM: Final = ("[Controller {broker}] ", "[QuorumController id={broker}] ")
_RAFT: Final = ("[RaftManager nodeId={broker}] ", "[RaftManager id={broker}] ")
_SERVER: Final = "[ControllerServer id={broker}] "
_TO: Final = "Completed transition to "


def _before(version: str, other: str) -> bool:
    return releases().index(version) < releases().index(other)


def _both(
    prefixes: tuple[str, str], name: str, logger: str, since: str, text: str, says: str, until: str = ""
) -> Iterator[LineForm]:
    """The forms with the former prefix and with the present one.

    `until`: the first version with another text.
    """
    if _before(since, RENAMED):
        yield LineForm(name, logger, since, prefixes[0] + text, says)
    if not until or _before(RENAMED, until):
        yield LineForm(name, logger, max(since, RENAMED, key=releases().index), prefixes[1] + text, says)


WITH_ZOOKEEPER: Final = (
    LineForm("unclean-election", "OfflinePartitionLeaderSelector", "0.8.2",
        "[OfflinePartitionLeaderSelector]: No broker in ISR is alive for {any_tp}. Elect leader {leader} from live "
        "brokers {live}. There's potential data loss.", "incident: an unclean election"),
    LineForm("new-isr", "KafkaController", "0.8.2",
        '[Controller {broker}]: New leader and ISR for partition {any_tp} is {{"leader":{leader},"leader_epoch":'
        '{leader_epoch},"isr":[{isr}]}}', "state_decided: a replica left"),
    LineForm("new-isr", "KafkaController", "1.0",
        '[Controller id={broker}] New leader and ISR for partition {any_tp} is {{"leader":{leader},"leader_epoch":'
        '{leader_epoch},"isr":[{isr}]}}', "state_decided: a replica left"),
    LineForm("new-partition", STATE, "0.8.2",
        "Controller {broker} epoch {controller_epoch} changed partition {old_tp} state from {word} to NewPartition "
        "with assigned replicas {replicas}", "incident: the replicas"),
    LineForm("new-partition", STATE, "1.0",
        "[Controller id={broker} epoch={controller_epoch}] Changed partition {tp} state from {word} to NewPartition "
        "with assigned replicas {replicas}", "incident: the replicas"),
    LineForm("partition-offline", STATE, "0.8.2",
        "Controller {broker} epoch {controller_epoch} changed partition {old_tp} state from {word} to "
        "OfflinePartition", "incident: no leader"),
    LineForm("partition-offline", STATE, "1.0",
        "[Controller id={broker} epoch={controller_epoch}] Changed partition {tp} state from {word} to "
        "OfflinePartition", "incident: no leader"),
    LineForm("order-unsent", "RequestSendThread", "0.8.2",
        "{rest}Controller {controller} epoch {controller_epoch} fails to send request {rest} to broker {rest}id: "
        "{number} {rest}",
        "incident: a broker away from its controller"),
    LineForm("order-unsent", "RequestSendThread", "0.8.2",
        "{rest}Controller {controller}'s connection to broker {rest}id: {number} {rest} was unsuccessful",
        "incident: a broker away from its controller"),
)  # fmt: skip
"""The controller with ZooKeeper."""

PROCESSES: Final = (
    LineForm("controller-starts", "ControllerServer", "2.8", _SERVER + "Starting controller", "node_started"),
    LineForm("shutting-down", "ControllerServer", "2.8", _SERVER + "shutting down", "node_stopped"),
    LineForm("fatal-start", "ControllerServer", "2.8",
        _SERVER + "Fatal error during controller startup. Prepare to shutdown", "node_stopped: by itself"),
)  # fmt: skip

OF_QUORUM_CONTROLLER: Final = (
    *_both(_QUORUM, "active", "QuorumController", "2.8", "Becoming active at controller epoch {epoch}.",
        "controller_changed", until="3.0"),
    *_both(_QUORUM, "active", "QuorumController", "3.0", "Becoming the active controller at epoch {epoch}{rest}",
        "controller_changed"),
    *_both(_QUORUM, "renounced", "QuorumController", "2.8", "Renouncing the leadership {rest}", "controller_changed"),
    *_both(_QUORUM, "renounced", "QuorumController", "3.3", "{rest} Renouncing{rest}", "controller_changed"),
    *_both(_QUORUM, "fencing", "ReplicationControlManager", "2.8",
        "Fencing broker {number} because its session has timed out.", "incident: a session"),
    *_both(_QUORUM, "fencing", "ReplicationControlManager", "4.0",
        "Fencing broker {number} at epoch {broker_epoch} because its session has timed out.", "incident: a session"),
    *_both(_QUORUM, "broker-fenced", "ClusterControlManager", "2.8",
        "Fenced broker: FenceBrokerRecord(id={number}, {rest}", "incident: a registration", until="3.3"),
    *_both(_QUORUM, "broker-unfenced", "ClusterControlManager", "2.8",
        "Unfenced broker: UnfenceBrokerRecord(id={number}, {rest}", "incident: a registration", until="3.3"),
    *_both(_QUORUM, "broker-fenced", "ClusterControlManager", "3.6",
        "Replayed {word} modifying the registration for broker {number}: {rest}, fenced=1, {rest}",
        "incident: a registration"),
    *_both(_QUORUM, "broker-unfenced", "ClusterControlManager", "3.6",
        "Replayed {word} modifying the registration for broker {number}: {rest}, fenced=-1, {rest}",
        "incident: a registration"),
    *_both(_QUORUM, "unfencing", "BrokerHeartbeatManager", "2.8",
        "The request from broker {number} to unfence has been granted {rest}", "incident: a registration"),
    *_both(_QUORUM, "broker-stopping", "BrokerHeartbeatManager", "2.8",
        "Unfenced broker {number} has requested and been granted a controlled shutdown.", "incident: a shutdown"),
    *_both(_QUORUM, "broker-stopping", "BrokerHeartbeatManager", "2.8",
        "Unfenced broker {number} has requested and been granted an immediate shutdown.", "incident: a shutdown"),
    *_both(_QUORUM, "unclean-change", "ReplicationControlManager", "3.0",
        "UNCLEAN partition change for {tp} with topic ID {topic_id}: {rest}leader: {old_leader} -> {leader}, "
        "{rest}leaderEpoch: {old_epoch} -> {leader_epoch}, {rest}", "incident: an unclean election"),
)  # fmt: skip
"""The active controller of KRaft."""

OF_QUORUM: Final = (
    *_both(_RAFT, "quorum-leader", "QuorumState", "2.8", _TO + "Leader{rest}epoch={epoch}, {rest}",
        "quorum_state_changed: leader"),
    *_both(_RAFT, "quorum-follower", "QuorumState", "2.8",
        _TO + "FollowerState(fetchTimeoutMs={timeout}, epoch={epoch}, leaderId={leader}, {rest}",
        "quorum_state_changed: follower"),
    *_both(_RAFT, "quorum-follower", "QuorumState", "3.8",
        _TO + "FollowerState(fetchTimeoutMs={timeout}, epoch={epoch}, leader={leader}{rest}",
        "quorum_state_changed: follower"),
    *_both(_RAFT, "quorum-candidate", "QuorumState", "2.8", _TO + "Candidate{rest}epoch={epoch}, {rest}",
        "quorum_state_changed: candidate"),
    *_both(_RAFT, "quorum-unattached", "QuorumState", "2.8", _TO + "Unattached{rest}epoch={epoch}, {rest}",
        "quorum_state_changed: unattached"),
    *_both(_RAFT, "quorum-unattached", "QuorumState", "2.8", _TO + "Voted(epoch={epoch}, {rest}",
        "quorum_state_changed: unattached", until="4.0"),
    *_both(_RAFT, "quorum-prospective", "QuorumState", "4.0", _TO + "ProspectiveState(epoch={epoch}, {rest}",
        "quorum_state_changed: prospective"),
    *_both(_RAFT, "quorum-resigned", "QuorumState", "2.8", _TO + "Resigned{rest}epoch={epoch}, {rest}",
        "quorum_state_changed: resigned"),
    *_both(_RAFT, "majority-away", "LeaderState", "3.7",
        "Did not receive fetch request from the majority of the voters within {timeout_ms}ms.{rest}",
        "incident: a controller cut off"),
)  # fmt: skip
"""States of the controllers' quorum."""

OF_CONTROLLERS: Final = (*PROCESSES, *WITH_ZOOKEEPER, *OF_QUORUM_CONTROLLER, *OF_QUORUM)
