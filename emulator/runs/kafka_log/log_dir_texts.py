"""Log lines of a failed log directory (KIP-112), of the broker and of its controller.

Beyond semantics 9; checked against the releases as `log_texts`, from 1.0.2 on. An earlier broker that halts logs other
lines, which depend on its current work; they are not here.

`{dir}` is the directory's path, `{dirs}` those of all, `{places}` the partitions in it, in `{places_apart}` with spaces
between.
"""

from emulator.runs.kafka_log.pattern import INFO, STATE_CHANGE_LOGGER, WARN, Pattern, pattern

_MANAGER = "kafka.server.ReplicaManager"
_MANAGER_PREFIX = "[ReplicaManager broker={broker}] "
_LOGS = "kafka.log.LogManager"
_LEVEL = (("0.8.2", INFO), ("2.5", WARN))
_OFFLINE = "Partitions {places} are offline due to failure on log directory {dir}"
_STOPPED = "Broker {broker} stopped fetcher for partitions "

LOG_DIRS: dict[str, Pattern] = {
    "stopping-replicas": pattern(
        _MANAGER, (("1.0", "Stopping serving replicas in dir {dir}"),), prefix=_MANAGER_PREFIX, level=_LEVEL
    ),
    "replicas-offline": pattern(_MANAGER, (("1.0", _OFFLINE), ("1.1", "")), prefix=_MANAGER_PREFIX),
    "stopped-fetcher": pattern(
        _MANAGER,
        (
            ("1.0", _STOPPED + "{places_apart} because they are in the failed log dir {dir}"),
            (
                "1.1",
                _STOPPED + "{places} and stopped moving logs for partitions  because they are in the failed log "
                "directory {dir}.",
            ),
        ),
        prefix=_MANAGER_PREFIX,
        level=_LEVEL,
    ),
    "stopping-logs": pattern(_LOGS, (("1.0", "Stopping serving logs in dir {dir}"),), level=_LEVEL),
    "all-failed": pattern(
        _LOGS, (("1.0", "Shutdown broker because all log dirs in {dirs} have failed"),), level="FATAL"
    ),
    "logs-offline": pattern(
        _LOGS,
        (
            ("1.0", _OFFLINE),
            (
                "1.1",
                "Logs for partitions {places} are offline and logs for future partitions  are offline due to failure "
                "on log directory {dir}",
            ),
        ),
        level=_LEVEL,
    ),
    "stopped-replicas": pattern(
        _MANAGER, (("1.0", "Stopped serving replicas in dir {dir}"),), prefix=_MANAGER_PREFIX, level=_LEVEL
    ),
    "broker-log-dir-failure": pattern(
        "kafka.controller.KafkaController",
        (("2.2", "Handling log directory failure for brokers {brokers}"),),
        prefix="[Controller id={broker}] ",
    ),
    "replicas-marked-offline": pattern(
        STATE_CHANGE_LOGGER,
        (("1.0", "Mark replicas {partitions} on broker {replica} as offline"),),
        prefix="[Controller id={broker} epoch={controller_epoch}] ",
    ),
}
