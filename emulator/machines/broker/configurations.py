"""Dynamic settings of topics and brokers, by notifications in ZooKeeper. Semantics 7.

At its start the broker reads the settings of all topics (`Replicas.topic_configs`). From then on it watches
`/config/changes`, as Kafka's DynamicConfigManager does, and applies the settings that a notification names. From
notifications that exist at its start it learns brokers' earlier settings (`DynamicSettings`).
"""

from collections.abc import Callable

from emulator.machines.broker.broker_context import BrokerContext, SessionExpired
from emulator.machines.broker.dynamic_settings import DynamicSettings
from emulator.machines.broker.replica_manager import Replicas
from emulator.machines.broker.settings import shown
from emulator.machines.broker.threads import SingleThread
from protocol.events import TopicConfigured
from protocol.messages.session_messages import GetChildren, GetData, SessionError, SessionRequest
from protocol.work import Work
from protocol.znodes import (
    BROKERS_CHANGED,
    CONFIG_CHANGE_PREFIX,
    CONFIG_CHANGES,
    TOPICS_CHANGED,
    broker_config_path,
    decode_config_change,
    numbers_in,
    topic_config_path,
)

UNCLEAN = "unclean.leader.election.enable"


class Configurations:
    """Settings of topics and brokers.

    `unclean`: called with a topic whose unclean election is enabled; the controller may live here.
    """

    def __init__(
        self, context: BrokerContext, replicas: Replicas, dynamic: DynamicSettings, unclean: Callable[[str], None]
    ) -> None:
        self._context = context
        self._replicas = replicas
        self._dynamic = dynamic
        self._unclean_election_enabled = unclean
        self._changes_thread = SingleThread(context.threads, "config-changes")
        self._last_change = -1
        self._pending = False

    def start(self) -> None:
        """Watch the notifications; existing ones are read once more."""
        self.changed()

    def session_began(self) -> None:
        """Read the notifications that the lost session missed."""
        self.changed()

    def changed(self) -> None:
        """Read the notifications, unless a read is pending."""
        if not self._pending:
            self._pending = True
            self._changes_thread.do("changed settings", self._look())

    def _look(self) -> Work[None]:
        self._pending = False
        try:
            answer = yield from self._context.await_session(SessionRequest([GetChildren(CONFIG_CHANGES, watch=True)]))
            children = answer.results[0].children if answer.results else []
            for number in numbers_in(children, CONFIG_CHANGE_PREFIX):
                if number > self._last_change:
                    yield from self._take(f"{CONFIG_CHANGES}/{CONFIG_CHANGE_PREFIX}{number:010d}")
                    self._last_change = number
            self._dynamic.begun()
        except SessionExpired:
            return  # the next session reads them again

    def _take(self, path: str) -> Work[None]:
        znode = (yield from self._context.await_session(SessionRequest([GetData(path)]))).results[0]
        kind, name = decode_config_change(path, znode.data) if znode.error == SessionError.OK else ("", "")
        if kind == BROKERS_CHANGED and self._context.gates.settings_change_while_running:
            self._dynamic.changed(name, (yield from self._replicas.configuration_at(broker_config_path(name))))
        elif kind == TOPICS_CHANGED and name:
            yield from self._take_topic(name)

    def _take_topic(self, topic: str) -> Work[None]:
        config = yield from self._replicas.configuration_at(topic_config_path(topic))
        self._dynamic.topic_configured(topic)
        self._replicas.configure(topic, config)
        self._context.emit(TopicConfigured(topic, shown(config)))
        if config.get(UNCLEAN) == "true":
            self._unclean_election_enabled(topic)
