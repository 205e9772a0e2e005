"""Log lines of the controller, and of brokers about its requests (semantics 9).

They are in controller.log and state-change.log. Names and versions as in `log_texts`.
"""

from emulator.runs.kafka_log.pattern import ERROR, INFO, STATE_CHANGE_LOGGER, WARN, Pattern, pattern

_CONTROLLER = "kafka.controller.KafkaController"
_CONTROLLER_PREFIX = (("0.8.2", "[Controller {broker}]: "), ("1.0", "[Controller id={broker}] "))
_ELECTED = "{broker} successfully elected as the controller"

CONTROLLER: dict[str, Pattern] = {
    "elected-as-leader": pattern(
        "kafka.server.ZookeeperLeaderElector", (("0.8.2", "{broker} successfully elected as leader"), ("0.11", ""))
    ),
    "elected": pattern(
        _CONTROLLER,
        (
            ("0.11", _ELECTED),
            ("2.1", _ELECTED + ". Epoch incremented to {controller_epoch} and epoch zk version is now {zk_version}"),
        ),
        prefix=_CONTROLLER_PREFIX,
    ),
    "begins-office": pattern(
        _CONTROLLER,
        (("0.8.2", "Broker {broker} starting become controller state transition"), ("1.0", "")),
        prefix=_CONTROLLER_PREFIX,
    ),
    "epoch-incremented": pattern(
        _CONTROLLER,
        (
            ("0.8.2", "Controller {broker} incremented epoch to {controller_epoch}"),
            ("1.0", "Incremented epoch to {controller_epoch}"),
            ("1.1", "Epoch incremented to {controller_epoch}"),
            ("2.1", ""),
        ),
        prefix=_CONTROLLER_PREFIX,
    ),
    "resigned": pattern(
        _CONTROLLER,
        (("0.10.2", "Broker {broker} resigned as the controller"), ("1.0", "Resigned")),
        prefix=_CONTROLLER_PREFIX,
    ),
    "brokers-seen": pattern(
        (("0.8.2", "kafka.controller.ReplicaStateMachine$BrokerChangeListener"), ("0.11", _CONTROLLER)),
        (
            ("0.8.2", "Newly added brokers: {added}, deleted brokers: {removed}, all live brokers: {live}"),
            (
                "2.2",
                "Newly added brokers: {added}, deleted brokers: {removed}, bounced brokers: {bounced}, "
                "all live brokers: {live}",
            ),
        ),
        prefix=(
            ("0.8.2", "[BrokerChangeListener on Controller {broker}]: "),
            ("0.11", "[Controller {broker}]: "),
            ("1.0", "[Controller id={broker}] "),
        ),
    ),
    "broker-startup": pattern(_CONTROLLER, "New broker startup callback for {brokers}", prefix=_CONTROLLER_PREFIX),
    "broker-failure": pattern(_CONTROLLER, "Broker failure callback for {brokers}", prefix=_CONTROLLER_PREFIX),
}

_BY_CONTROLLER = (
    ("0.8.2", "Controller {broker} epoch {controller_epoch} "),
    ("1.0", "[Controller id={broker} epoch={controller_epoch}] "),
)
_BY_BROKER = (("0.8.2", "Broker {broker} "), ("1.0", "[Broker id={broker}] "))
_ORDER = "LeaderAndIsr request from controller {controller} with correlation id {correlation}"
_OLD_ORDER = "ignoring " + _ORDER + " epoch {controller_epoch} for partition {old_tp}"
_NEW_ORDER = "Ignoring " + _ORDER + " epoch {controller_epoch} for partition {tp}"
_ITS_EPOCH = " since its associated leader epoch {leader_epoch}"
_CONTROLLERS_EPOCH = " since its controller epoch {controller_epoch} is old. Latest known controller epoch is "
_NOT_ASSIGNED = " as itself is not in assigned replica list {replicas}"
_OFFLINE = " as the local replica for the partition is in an offline log directory"
_RECEIVED = "eceived LeaderAndIsrRequest with correlation id {correlation} from controller {controller} epoch "
_UNAVAILABLE = "but cannot become follower since the new leader {leader} is unavailable."
_NOT_HIGHER = _ITS_EPOCH + " is not higher than the current leader epoch {current_epoch}"

_ONLINE = (
    "Changed partition {tp} from {position} to OnlinePartition with state LeaderAndIsr(leader={leader}, "
    "leaderEpoch={leader_epoch}, "
)

STATE_CHANGE: dict[str, Pattern] = {
    # `{position}`: NewPartition, OfflinePartition or OnlinePartition; `{isr_list}`: "1, 2"; `{isr_epochs}`: the same
    # with brokers' epochs, which are unknown; `{recovery}`: RECOVERING after an unclean election, else RECOVERED.
    "partition-online": pattern(
        STATE_CHANGE_LOGGER,
        (
            ("0.8.2", "changed partition {old_tp} from {position} to OnlinePartition with leader {leader}"),
            ("1.0", "Changed partition {tp} from {position} to OnlinePartition with leader {leader}"),
            (
                "1.1",
                "Changed partition {tp} from {position} to OnlinePartition with state LeaderAndIsr(leader={leader}, "
                "leaderEpoch={leader_epoch}, isr=List({isr_list}), zkVersion={zk_version})",
            ),
            ("3.2", _ONLINE + "isr=List({isr_list}), leaderRecoveryState={recovery}, zkVersion={zk_version})"),
            ("3.3", _ONLINE + "isr=List({isr_list}), leaderRecoveryState={recovery}, partitionEpoch={zk_version})"),
            (
                "3.5",
                _ONLINE + "isrWithBrokerEpoch=List({isr_epochs}), leaderRecoveryState={recovery}, "
                "partitionEpoch={zk_version})",
            ),
        ),
        prefix=_BY_CONTROLLER,
        level=(("0.8.2", "TRACE"), ("2.6", INFO)),
    ),
    "replica-left-isr": pattern(
        STATE_CHANGE_LOGGER,
        (
            (
                "2.6",
                "Partition {tp} state changed to (Leader:{leader},ISR:{isr},LeaderEpoch:{leader_epoch},"
                "ControllerEpoch:{controller_epoch}) after removing replica {replica} from the ISR as part of "
                "transition to OfflineReplica",
            ),
            (
                "2.7",
                "Partition {tp} state changed to (Leader:{leader},ISR:{isr},LeaderEpoch:{leader_epoch},"
                "ZkVersion:{zk_version},ControllerEpoch:{controller_epoch}) after removing replica {replica} from the "
                "ISR as part of transition to OfflineReplica",
            ),
            (
                "3.2",
                "Partition {tp} state changed to (Leader:{leader},ISR:{isr},LeaderRecoveryState:{recovery},"
                "LeaderEpoch:{leader_epoch},ZkVersion:{zk_version},ControllerEpoch:{controller_epoch}) after removing "
                "replica {replica} from the ISR as part of transition to OfflineReplica",
            ),
        ),
        prefix=_BY_CONTROLLER,
    ),
    "order-of-old-controller": pattern(
        STATE_CHANGE_LOGGER,
        (
            ("0.8.2", "ignoring " + _ORDER + _CONTROLLERS_EPOCH + "{current_epoch}"),
            ("1.0", "Ignoring " + _ORDER + _CONTROLLERS_EPOCH + "{current_epoch}"),
        ),
        prefix=_BY_BROKER,
        level=WARN,
    ),
    "order-of-old-epoch": pattern(
        STATE_CHANGE_LOGGER,
        (
            ("0.8.2", _OLD_ORDER + _ITS_EPOCH + " is old. Current leader epoch is {current_epoch}"),
            ("0.10.2", _OLD_ORDER + _NOT_HIGHER),
            ("1.0", _NEW_ORDER + _NOT_HIGHER),
            ("2.3", _NEW_ORDER + _ITS_EPOCH + " is smaller than the current leader epoch {current_epoch}"),
        ),
        prefix=_BY_BROKER,
        level=WARN,
    ),
    "order-of-same-epoch": pattern(
        STATE_CHANGE_LOGGER,
        (
            ("0.8.2", _OLD_ORDER + _ITS_EPOCH + " is old. Current leader epoch is {current_epoch}"),
            ("0.10.2", _OLD_ORDER + _NOT_HIGHER),
            ("1.0", _NEW_ORDER + _NOT_HIGHER),
            ("2.3", _NEW_ORDER + _ITS_EPOCH + " matches the current leader epoch"),
        ),
        prefix=_BY_BROKER,
        level=(("0.8.2", WARN), ("2.3", "DEBUG"), ("2.6", INFO)),
    ),
    "order-not-for-us": pattern(
        STATE_CHANGE_LOGGER,
        (("0.8.2", _OLD_ORDER + _NOT_ASSIGNED), ("1.0", _NEW_ORDER + _NOT_ASSIGNED)),
        prefix=_BY_BROKER,
        level=WARN,
    ),
    "order-for-offline-replica": pattern(
        STATE_CHANGE_LOGGER, (("1.0", _NEW_ORDER + _OFFLINE),), prefix=_BY_BROKER, level=WARN
    ),
    "leader-unavailable": pattern(
        STATE_CHANGE_LOGGER,
        (
            ("0.8.2", "r" + _RECEIVED + "{controller_epoch} for partition {old_tp} " + _UNAVAILABLE),
            ("0.10.2", "r" + _RECEIVED + "{controller_epoch} for partition {tp} " + _UNAVAILABLE),
            (
                "1.0",
                "R" + _RECEIVED + "{controller_epoch} for partition {tp} (last update controller epoch "
                "{state_controller_epoch}) " + _UNAVAILABLE,
            ),
        ),
        prefix=_BY_BROKER,
        level=ERROR,
    ),
}
