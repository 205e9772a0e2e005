"""What a log needs of its topic's configuration."""

import msgspec

from emulator.machines.broker.settings import LONG_MAX


class LogSettings(msgspec.Struct, frozen=True):
    """`flush_messages`: as many that are not synced are synced; `flush_ms`: the flusher syncs what it has not synced
    for so long; `max_message_bytes`: of a batch."""

    segment_bytes: int = 1024 * 1024 * 1024
    max_message_bytes: int = 1024 * 1024 + 12
    flush_messages: int = LONG_MAX
    flush_ms: int = LONG_MAX
