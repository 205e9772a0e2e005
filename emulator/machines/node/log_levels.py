"""Loggers of a broker and their levels (KIP-412, 2.4): configs of kind BROKER_LOGGER.

DescribeConfigs and IncrementalAlterConfigs read and change them. They are those of Kafka's own log4j.properties,
and last as long as the broker's process. They have no effect here: the emulator has events, not loggers.
"""

from collections.abc import Iterable
from typing import Final

from emulator.settings.altered import Change, Unalterable
from protocol.errors import ErrorCode
from protocol.messages.configuration import DescribedSetting

ROOT: Final = "root"
LOG4J: Final = {
    "kafka": "INFO",
    "kafka.authorizer.logger": "INFO",
    "kafka.controller": "TRACE",
    "kafka.log.LogCleaner": "INFO",
    "kafka.network.RequestChannel$": "WARN",
    "kafka.request.logger": "WARN",
    "org.apache.kafka": "INFO",
    "org.apache.zookeeper": "INFO",
    ROOT: "INFO",
    "state.change.logger": "INFO",
}
LEVELS: Final = ("DEBUG", "ERROR", "FATAL", "INFO", "TRACE", "WARN")
SET, DELETE, APPEND = 0, 1, 2
LOGGER_SOURCE: Final = 6
"""ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG."""

UNTYPED: Final = 0


class LogLevels:
    """Log levels of one life of a broker."""

    def __init__(self, broker: int) -> None:
        self._resource = f"ConfigResource(type=BROKER_LOGGER, name='{broker}')"
        self._levels = dict(LOG4J)

    def described(self, names: Iterable[str] | None) -> list[DescribedSetting]:
        """Describe the loggers of these names; None: all."""
        wanted = None if names is None else set(names)
        return [
            DescribedSetting(name, level, LOGGER_SOURCE, UNTYPED)
            for name, level in sorted(self._levels.items())
            if wanted is None or name in wanted
        ]

    def alter(self, changes: list[Change], *, validate_only: bool) -> None:
        """Apply all changes, or none. Raises Unalterable."""
        for change in changes:
            self._check(change)
        if not validate_only:
            for change in changes:
                self._levels[change.name] = self._inherited(change.name) if change.value is None else change.value

    def _check(self, change: Change) -> None:
        """Validate a change (ZkAdminManager.validateLogLevelConfigs). Raises Unalterable."""
        if change.operation not in (SET, DELETE):
            what = "APPEND" if change.operation == APPEND else "SUBTRACT"
            raise Unalterable(
                ErrorCode.INVALID_REQUEST, f"{what} operation is not allowed for the BROKER_LOGGER resource"
            )
        if change.name not in self._levels:
            raise self._invalid(f"Logger {change.name} does not exist!")
        if change.operation == DELETE:
            if change.name == ROOT:
                why = f"Removing the log level of the {ROOT} logger is not allowed"
                raise Unalterable(ErrorCode.INVALID_REQUEST, why)
        elif change.value not in LEVELS:
            raise self._invalid(
                f"Cannot set the log level of {change.name} to {change.value} as it is not a supported log level. "
                f"Valid log levels are {', '.join(LEVELS)}"
            )

    def _invalid(self, why: str) -> Unalterable:
        return Unalterable(ErrorCode.INVALID_REQUEST, f"Invalid config value for resource {self._resource}: {why}")

    def _inherited(self, name: str) -> str:
        """The level of the nearest logger above."""
        while "." in name:
            name = name.rpartition(".")[0]
            if name in self._levels:
                return self._levels[name]
        return self._levels[ROOT]
