"""Log lines of KRaft: of controllers, and of a broker's lifecycle (semantics 9).

Checked against the releases 3.3.0 to 3.9.0, and against logs of 3.9.2 and 4.4.0. Names and versions as in `log_texts`.
"""

from emulator.runs.kafka_log.pattern import WARN, Pattern, pattern

_CONTROLLER = "org.apache.kafka.controller.QuorumController"
_CLUSTER = "org.apache.kafka.controller.ClusterControlManager"
_LIFECYCLE = (
    ("0.8.2", "kafka.server.BrokerLifecycleManager"), ("4.4", "org.apache.kafka.server.BrokerLifecycleManager"),
)  # fmt: skip
_BY_CONTROLLER = (("3.3", "[Controller {broker}] "), ("3.5", "[QuorumController id={broker}] "))
_BY_BROKER = "[BrokerLifecycleManager id={broker}] "
_ACTIVE = "Becoming the active controller at epoch {controller_epoch}, "
_RENOUNCING = (
    "Renouncing the leadership due to a metadata log event. We were the leader at epoch {controller_epoch}, but in the "
    "new epoch {epoch}, the leader is {leader}. "
)
_CHANGED = (
    "Replayed BrokerRegistrationChangeRecord modifying the registration for broker {of}: "
    "BrokerRegistrationChangeRecord(brokerId={of}, brokerEpoch={broker_epoch}, fenced={fenced}, "
    "inControlledShutdown={stopping}"
)

QUORUM: dict[str, Pattern] = {
    "quorum-leader": pattern(
        _CONTROLLER, (("3.3", "In the new epoch {epoch}, the leader is {leader}."),), prefix=_BY_CONTROLLER
    ),
    "controller-active": pattern(
        _CONTROLLER,
        (
            ("3.3", _ACTIVE + "committed offset {committed}, committed epoch {committed_epoch}"),
            ("3.6", _ACTIVE + "next write offset {next}."),
        ),
        prefix=_BY_CONTROLLER,
    ),
    "controller-renounces": pattern(
        _CONTROLLER,
        (
            ("3.3", _RENOUNCING + "Reverting to last committed offset {committed}."),
            ("3.6", _RENOUNCING + "Reverting to last stable offset {committed}."),
        ),
        prefix=_BY_CONTROLLER,
        level=WARN,
    ),
    "broker-fencing": pattern(
        _CLUSTER,
        (
            ("3.3", _CHANGED + ")"),
            ("3.7", _CHANGED + ", logDirs=[])"),
            ("4.4", _CHANGED + ", logDirs=[], cordonedLogDirs=null)"),
        ),
        prefix=_BY_CONTROLLER,
    ),
    "broker-registered": pattern(
        _LIFECYCLE,
        (("3.3", "Successfully registered broker {broker} with broker epoch {broker_epoch}"),),
        prefix=_BY_BROKER,
    ),
    "broker-recovers": pattern(
        _LIFECYCLE,
        (("3.3", "The broker has caught up. Transitioning from STARTING to RECOVERY."),),
        prefix=_BY_BROKER,
    ),
    "broker-runs": pattern(
        _LIFECYCLE,
        (("3.3", "The broker has been unfenced. Transitioning from RECOVERY to RUNNING."),),
        prefix=_BY_BROKER,
    ),
}
