"""Settings of a log, from its topic's configuration."""

import msgspec

from emulator.machines.broker.settings import LONG_MAX


class LogSettings(msgspec.Struct, frozen=True):
    """Settings of a log.

    `flush_messages`: number of unsynced messages that causes a sync. `flush_ms`: age of unsynced messages that
    causes one. `max_message_bytes`: limit of a batch.
    """

    segment_bytes: int = 1024 * 1024 * 1024
    max_message_bytes: int = 1024 * 1024 + 12
    flush_messages: int = LONG_MAX
    flush_ms: int = LONG_MAX
