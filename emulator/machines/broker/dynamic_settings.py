"""Dynamic settings of a broker (KIP-226, from 1.1). Semantics 7.

    this broker's dynamic settings > all brokers' dynamic settings > its file > the default

They are in `/config/brokers/N` and `/config/brokers/<default>`; the broker reads those that a notification names.
Earlier ones hold from its start: Kafka reads both znodes before it loads its logs. This broker reads them at the
same time, before it leads a partition. Topics without settings of their own have the broker's, as last applied to
their logs.
"""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.replica_manager import Replicas
from emulator.machines.broker.settings import (
    HANDLERS,
    LONG_MAX,
    TOPIC_OVERRIDES,
    BrokerSettings,
    can_resize,
    shown,
    with_topic_overrides,
)
from protocol.events import BrokerConfigured
from protocol.ids import TopicPartition
from protocol.znodes import EVERY_BROKER

OF_LOGS: Final = tuple(TOPIC_OVERRIDES.values())
DYNAMIC: Final = {**{field.replace("_", "."): field for field in OF_LOGS}, HANDLERS: "num_io_threads"}
"""{Kafka's name: field}: all dynamic settings that affect replication."""
FLUSH_MS: Final = "log.flush.interval.ms"
Given = dict[str, dict[str, str]]
"""{EVERY_BROKER or the broker's number: settings in ZooKeeper}"""


class DynamicSettings:
    """Dynamic settings of one broker.

    `applied` is called with changed effective settings, and whether they enable unclean election.
    """

    def __init__(self, context: BrokerContext, replicas: Replicas, applied: Callable[[BrokerSettings, bool], None]):
        self._context = context
        self._replicas = replicas
        self._applied = applied
        self._of_file = context.settings
        self._given: Given = {EVERY_BROKER: {}, str(context.broker): {}}
        self._begun = False
        self._forgotten: set[TopicPartition] = set()
        """Logs that have lost their topics' own settings (up to 2.3)."""

    @property
    def given(self) -> Given:
        """Settings as of the last notifications."""
        return self._given

    @property
    def file_handlers(self) -> int:
        """num.io.threads without dynamic settings."""
        return self._of_file.num_io_threads

    def changed(self, whose: str, given: dict[str, str]) -> None:
        """Apply changed settings of `whose`; those of another broker are ignored."""
        if whose not in self._given:
            return
        self._given[whose] = given
        before, after = self._context.settings, self._in_force()
        broker = -1 if whose == EVERY_BROKER else self._context.broker
        self._context.emit(BrokerConfigured(broker, shown(given), after is not None))
        if after is None or after == before:
            return
        self._context.settings = after
        if not self._begun:
            self._begin(after)
            return
        unclean = self._replicas.defaults.unclean_leader_election_enable
        if any(getattr(before, field) != getattr(after, field) for field in OF_LOGS):
            self._reconfigure_logs(after)
        switched_on = self._replicas.defaults.unclean_leader_election_enable and not unclean
        self._applied(after, switched_on)

    def begun(self) -> None:
        """End the start: earlier settings are known now."""
        self._begun = True

    def _begin(self, settings: BrokerSettings) -> None:
        """Apply the settings of the start as if they were its file's; no election follows."""
        self._replicas.defaults = settings
        self._configure_all()
        self._applied(settings, False)

    def topic_configured(self, topic: str) -> None:
        """Restore a topic's own settings in its logs."""
        self._forgotten = {topic_partition for topic_partition in self._forgotten if topic_partition[0] != topic}

    # --- what follows from them ---

    def _in_force(self) -> BrokerSettings | None:
        """Effective settings; None: invalid, and Kafka changes nothing, with an error in its log."""
        values = msgspec.structs.asdict(self._of_file)
        for whose in (EVERY_BROKER, str(self._context.broker)):
            values |= {DYNAMIC[name]: value for name, value in self._given[whose].items() if name in DYNAMIC}
        try:
            settings = msgspec.convert(values, BrokerSettings, strict=False)
        except msgspec.ValidationError:
            return None
        now, wanted = self._context.settings.num_io_threads, settings.num_io_threads
        return settings if can_resize(now, wanted) or (wanted > 0 and not self._begun) else None

    def _reconfigure_logs(self, settings: BrokerSettings) -> None:
        """Apply the settings to all logs (DynamicLogConfig.reconfigure)."""
        replicas, gates = self._replicas, self._context.gates
        changes = {field: getattr(settings, field) for field in OF_LOGS}
        if not self._sets_flush_ms():
            stays = gates.keeps_flush_ms_that_was_removed
            changes[DYNAMIC[FLUSH_MS]] = replicas.defaults.log_flush_interval_ms if stays else LONG_MAX
        replicas.defaults = msgspec.structs.replace(replicas.defaults, **changes)
        self._configure_all()
        if gates.topic_config_lost_on_reload:
            self._forgotten = set(replicas.logs)

    def _configure_all(self) -> None:
        replicas = self._replicas
        for topic_partition in replicas.topic_partitions():
            forgotten = topic_partition in self._forgotten
            own: Mapping[str, str] = {} if forgotten else replicas.topic_configs.get(topic_partition[0], {})
            replicas.configure_replica(topic_partition, with_topic_overrides(replicas.defaults, own))

    def _sets_flush_ms(self) -> bool:
        """Whether log.flush.interval.ms is set at all.

        A value of a file that equals log.flush.scheduler.interval.ms, its default, counts as not set.
        """
        if any(FLUSH_MS in given for given in self._given.values()):
            return True
        return self._of_file.log_flush_interval_ms != self._of_file.log_flush_scheduler_interval_ms
