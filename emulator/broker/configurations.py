"""Topics' own settings while the broker lives: a change is told by a notification in the session service. Semantics 7.

At its start the broker reads the settings of all topics (`Replicas.topic_configs`); from then on it watches
`/config/changes`, as Kafka's DynamicConfigManager does, and takes over what a notification names for the topic's
logs."""

from collections.abc import Callable

from emulator.broker.context import BrokerContext, SessionExpired
from emulator.broker.replicas import Replicas
from emulator.broker.threads import SingleThread, Work
from protocol.events import TopicConfigured
from protocol.messages.session import GetChildren, GetData, SessionError, SessionRequest
from protocol.znodes import (
    CONFIG_CHANGE_PREFIX,
    CONFIG_CHANGES,
    decode_config_change,
    numbers_in,
)

UNCLEAN = "unclean.leader.election.enable"


class Configurations:
    """`unclean_election_enabled`: told of a topic where it is switched on; the controller may live here."""

    def __init__(self, context: BrokerContext, replicas: Replicas, unclean: Callable[[str], None]) -> None:
        self._context = context
        self._replicas = replicas
        self._unclean_election_enabled = unclean
        self._thread = SingleThread(context.threads, "config-changes")
        self._last_change = -1
        self._asked = False

    def start(self) -> None:
        """Watch. Notifications that are there already are read once more."""
        self.changed()

    def session_began(self) -> None:
        """What the lost session would have told."""
        self.changed()

    def changed(self) -> None:
        """Look at the notifications, unless somebody is about to."""
        if not self._asked:
            self._asked = True
            self._thread.do("topics' settings", self._look())

    def _look(self) -> Work[None]:
        self._asked = False
        try:
            answer = yield from self._context.asked(SessionRequest([GetChildren(CONFIG_CHANGES, watch=True)]))
            children = answer.results[0].children if answer.results else []
            for number in numbers_in(children, CONFIG_CHANGE_PREFIX):
                if number > self._last_change:
                    yield from self._take(f"{CONFIG_CHANGES}/{CONFIG_CHANGE_PREFIX}{number:010d}")
                    self._last_change = number
        except SessionExpired:
            return  # the next session looks again

    def _take(self, path: str) -> Work[None]:
        told = (yield from self._context.asked(SessionRequest([GetData(path)]))).results[0]
        topic = decode_config_change(path, told.data) if told.error == SessionError.OK else ""
        if not topic:
            return
        config = yield from self._replicas.configuration_of(topic)
        self._replicas.configure(topic, config)
        self._context.emit(TopicConfigured(topic, " ".join(f"{name}={config[name]}" for name in sorted(config))))
        if config.get(UNCLEAN) == "true":
            self._unclean_election_enabled(topic)
