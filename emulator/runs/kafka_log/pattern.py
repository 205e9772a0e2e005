"""A line of Kafka's log: logger, level and text, each by version.

The layout is that of Kafka's own config/log4j.properties, `[%d] %p %m (%c)%n`. So are the loggers' files and levels:
all from INFO but state changes, which are from TRACE (up to 2.5) or INFO (from 2.6).
"""

from datetime import UTC, datetime
from typing import Any

import msgspec

from protocol.versions import LADDER, Steps, in_force

SERVER = "server"
CONTROLLER = "controller"
STATE_CHANGE = "state-change"
FILES = (SERVER, CONTROLLER, STATE_CHANGE)
"""server.log, controller.log, state-change.log."""

STATE_CHANGE_LOGGER = "state.change.logger"
CONTROLLER_PACKAGES = ("kafka.controller.", "org.apache.kafka.controller.")

INFO, WARN, ERROR = "INFO", "WARN", "ERROR"


class Pattern(msgspec.Struct, frozen=True):
    """One line, by version.

    `text` has the event's fields in braces; "" is a version that does not write it.
    """

    logger: Steps
    level: Steps
    prefix: Steps
    text: Steps


class LogLine(msgspec.Struct, frozen=True):
    """A log line. `wall_ms`: milliseconds since 1970 on the broker's own clock.

    `file`: one of FILES.
    """

    wall_ms: float
    level: str
    message: str
    logger: str
    file: str

    def __str__(self) -> str:
        return f"[{clock(self.wall_ms)}] {self.level} {self.message} ({self.logger})"


def steps(given: str | Steps) -> Steps:
    """Steps by version; a text alone holds in all versions.

    A first step that is not the oldest version's means: nothing before.
    """
    if isinstance(given, str):
        return ((LADDER[0], given),)
    return given if given[0][0] == LADDER[0] else ((LADDER[0], ""), *given)


def pattern(logger: str | Steps, text: str | Steps, *, prefix: str | Steps = "", level: str | Steps = INFO) -> Pattern:
    """A pattern; what is no table holds in all versions."""
    return Pattern(steps(logger), steps(level), steps(prefix), steps(text))


def file_of(logger: str) -> str:
    """The file that a logger writes to."""
    if logger == STATE_CHANGE_LOGGER:
        return STATE_CHANGE
    return CONTROLLER if logger.startswith(CONTROLLER_PACKAGES) else SERVER


def written(found: Pattern, version: str, wall_ms: float, fields: dict[str, Any]) -> LogLine | None:
    """The line as `version` writes it; None: it does not."""
    text = in_force(version, found.text)
    if not text:
        return None
    message = (in_force(version, found.prefix) + text).format_map(fields)
    logger = in_force(version, found.logger)
    return LogLine(wall_ms, in_force(version, found.level), message, logger, file_of(logger))


def clock(wall_ms: float) -> str:
    """`2020-09-13 12:26:40,250`, in UTC: log4j's ISO8601 date."""
    at = datetime.fromtimestamp(int(wall_ms) // 1000, UTC)
    return f"{at:%Y-%m-%d %H:%M:%S},{int(wall_ms) % 1000:03d}"
