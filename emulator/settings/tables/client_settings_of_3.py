"""Settings of both Java clients that came with 3.x."""

from emulator.settings.setting import Setting, boolean, long, text

RETRY_PAUSE_MAX: Setting = long("retry.backoff.max.ms", 1000, low=0, since="3.7")

NEWER_OF_CLIENTS: tuple[Setting, ...] = (
    boolean("auto.include.jmx.reporter", True, since="3.4", until="3.9"),
    boolean("enable.metrics.push", True, since="3.7"),
    text("metadata.recovery.strategy", "none", words=("none", "rebootstrap"), since="3.8"),
)
