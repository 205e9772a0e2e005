"""Settings that a broker is given while it runs (KIP-226, from 1.1). Semantics 7.

    what the broker itself was given > what all brokers were given > its file > the default

`/config/brokers/N` and `/config/brokers/<default>` say them; the broker reads what a notification names. Those that are
there already when it starts are what it begins with: Kafka reads both znodes before it loads its logs, this broker in
the same breath, before it leads anything. Topics that say nothing themselves have the broker's, as their logs were told
last."""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from emulator.machines.broker.context import BrokerContext
from emulator.machines.broker.replicas import Replicas
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
"""{Kafka's name: field}: what bears on replication of all that can be altered."""
FLUSH_MS: Final = "log.flush.interval.ms"
Given = dict[str, dict[str, str]]
"""{EVERY_BROKER or the broker's number: settings as the session service has them}"""


class DynamicSettings:
    """`applied`: told when other settings are in force, and whether unclean election is switched on by them."""

    def __init__(self, context: BrokerContext, replicas: Replicas, applied: Callable[[BrokerSettings, bool], None]):
        self._context = context
        self._replicas = replicas
        self._applied = applied
        self._of_file = context.settings
        self._given: Given = {EVERY_BROKER: {}, str(context.broker): {}}
        self._begun = False
        self._forgotten: set[TopicPartition] = set()
        """Logs that do not know any more which settings are their topics' own (up to 2.3)."""

    @property
    def given(self) -> Given:
        """As the last notifications told."""
        return self._given

    @property
    def file_handlers(self) -> int:
        """num.io.threads without anything that was given."""
        return self._of_file.num_io_threads

    def changed(self, whose: str, given: dict[str, str]) -> None:
        """A notification names `whose` settings, which are `given` now. Another broker's are nothing to this one."""
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
            self._logs_are_told(after)
        switched_on = self._replicas.defaults.unclean_leader_election_enable and not unclean
        self._applied(after, switched_on)

    def begun(self) -> None:
        """What was given before this life is known."""
        self._begun = True

    def _begin(self, settings: BrokerSettings) -> None:
        """As if they were its file's: nothing is forgotten, and there is nothing to elect yet."""
        self._replicas.defaults = settings
        self._configure_all()
        self._applied(settings, False)

    def topic_configured(self, topic: str) -> None:
        """Its logs know again what it says itself."""
        self._forgotten = {topic_partition for topic_partition in self._forgotten if topic_partition[0] != topic}

    # --- what follows from them ---

    def _in_force(self) -> BrokerSettings | None:
        """None: it cannot be, and Kafka leaves everything as it is, with an error in its log."""
        values = msgspec.structs.asdict(self._of_file)
        for whose in (EVERY_BROKER, str(self._context.broker)):
            values |= {DYNAMIC[name]: value for name, value in self._given[whose].items() if name in DYNAMIC}
        try:
            settings = msgspec.convert(values, BrokerSettings, strict=False)
        except msgspec.ValidationError:
            return None
        now, wanted = self._context.settings.num_io_threads, settings.num_io_threads
        return settings if can_resize(now, wanted) or (wanted > 0 and not self._begun) else None

    def _logs_are_told(self, settings: BrokerSettings) -> None:
        """DynamicLogConfig.reconfigure."""
        replicas, gates = self._replicas, self._context.gates
        changes = {field: getattr(settings, field) for field in OF_LOGS}
        if not self._says_flush_ms():
            stays = gates.keeps_flush_ms_that_was_removed
            changes[DYNAMIC[FLUSH_MS]] = replicas.defaults.log_flush_interval_ms if stays else LONG_MAX
        replicas.defaults = msgspec.structs.replace(replicas.defaults, **changes)
        self._configure_all()
        if gates.logs_forget_what_topics_say:
            self._forgotten = set(replicas.logs)

    def _configure_all(self) -> None:
        replicas = self._replicas
        for topic_partition in replicas.topic_partitions():
            forgotten = topic_partition in self._forgotten
            own: Mapping[str, str] = {} if forgotten else replicas.topic_configs.get(topic_partition[0], {})
            replicas.configure_replica(topic_partition, with_topic_overrides(replicas.defaults, own))

    def _says_flush_ms(self) -> bool:
        """Whether log.flush.interval.ms is set at all. What is equal in a file to log.flush.scheduler.interval.ms,
        which it follows, counts as not set."""
        if any(FLUSH_MS in given for given in self._given.values()):
            return True
        return self._of_file.log_flush_interval_ms != self._of_file.log_flush_scheduler_interval_ms
