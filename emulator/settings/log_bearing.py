"""Bearing of settings of logs that are not modelled: deletion, compaction, rolling.

Logs here keep everything and roll only by size. In a run of minutes Kafka's do the same, unless segments are small or
short-lived: only full or expired segments are compacted or deleted (LogManager, LogCleaner, Log of 0.8.2 to 2.8).
"""

from typing import Final

from emulator.settings.bearing import Around, Bears
from emulator.settings.setting import Value
from protocol.gates import gates_for
from protocol.versions import UnknownVersion, message_format_magic

FIRST_LOOK_MS: Final = 30_000.0
"""Segments to delete are first looked for so long after a broker's start."""
NEVER_FILLED_BYTES: Final = 1024**3
"""A segment of this size is not filled by a run."""


def retention_ms(around: Around) -> float:
    """Retention in force, in ms; infinite: for ever.

    log.retention.ms before .minutes before .hours; the topic's own before all.
    """
    brokers = (("log.retention.ms", 1.0), ("log.retention.minutes", 60_000.0), ("log.retention.hours", 3_600_000.0))
    return around.of_log("retention.ms", *brokers)


def rolled_after_ms(around: Around) -> float:
    """Earliest time of a log's second segment, in ms.

    0 where segments are small, else the age limit of the first.
    """
    if around.of_log("segment.bytes", ("log.segment.bytes", 1.0)) < NEVER_FILLED_BYTES:
        return 0.0
    rolls_ms = around.of_log("segment.ms", ("log.roll.ms", 1.0), ("log.roll.hours", 3_600_000.0))
    jitter_ms = around.of_log("segment.jitter.ms", ("log.roll.jitter.ms", 1.0), ("log.roll.jitter.hours", 3_600_000.0))
    return max(0.0, rolls_ms - jitter_ms)


def policy(around: Around) -> str:
    return str(around.topic.get("cleanup.policy", around.broker.get("log.cleanup.policy", "delete")))


def _expires(value: Value, around: Around) -> float | None:
    keeps_ms = retention_ms(around)
    if "delete" not in policy(around) or keeps_ms == float("inf"):
        return None
    return max(keeps_ms, FIRST_LOOK_MS)


def _outgrows(value: Value, around: Around) -> float | None:
    if "delete" not in policy(around) or float(value) < 0:
        return None
    return max(FIRST_LOOK_MS, 0.0 if float(value) == 0 else rolled_after_ms(around))


def _compacts(value: Value, around: Around) -> float | None:
    if "compact" not in str(value) or not around.broker.get("log.cleaner.enable", True):
        return None
    return rolled_after_ms(around)


def _formats(value: Value, around: Around) -> float | None:
    """Bearing of a record format. Another rule reports an unknown word."""
    spoken = gates_for(around.version, str(around.broker.get("inter.broker.protocol.version") or around.version))
    try:
        return None if not value or message_format_magic(str(value)) == spoken.record_magic else 0.0
    except UnknownVersion:
        return None


def _compresses(value: Value, around: Around) -> float | None:
    """Before message format 2 a set of messages becomes one wrapper.

    It is read and truncated as a whole; from then on a batch stays a batch.
    """
    spoken = gates_for(around.version, str(around.broker.get("inter.broker.protocol.version") or around.version))
    return None if value == "producer" or not spoken.wrapper_reads_whole else 0.0


EXPIRES = Bears("in a run as long as that, at least 30 s", _expires)
OUTGROWS = Bears("from when a log has two segments (see log.roll.ms, log.segment.bytes)", _outgrows)
COMPACTS = Bears("`compact`, from when a log has two segments (see log.roll.ms, log.segment.bytes)", _compacts)
ROLLS = Bears("in a run as long as that", lambda value, around: rolled_after_ms(around))
FORMATS = Bears("another record format than that of inter.broker.protocol.version", _formats)
COMPRESSES = Bears("not `producer`, before 0.11", _compresses)
