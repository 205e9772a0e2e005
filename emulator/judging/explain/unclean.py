"""Whether unclean election was on for a topic while a leader was elected. Pure: from events.

The topic's setting decides, else the brokers', which can change at run time (KIP-226)."""

from math import inf

import msgspec

from emulator.judging.explain.idempotence import is_true
from emulator.runs.resolve import Resolved
from emulator.topology import identifier_named
from protocol.events import BrokerConfigured, Event, NodeStarted, ZnodeChanged
from protocol.znodes import TOPIC_CONFIGS, decode_topic_config

UNCLEAN = "unclean.leader.election.enable"
OF_ALL = -1
"""The broker number of settings for all brokers, as in `broker_configured`."""


class UncleanSetting(msgspec.Struct, frozen=True):
    """A setting: from `at_ms` on it is `on`; None: no setting."""

    at_ms: float
    on: bool | None


class UncleanSettings(msgspec.Struct):
    """Settings of unclean election over time.

    `topics`: {topic: {transaction: setting, as the first ZooKeeper server had it}}. `given`: {(broker, its own number
    or OF_ALL): dynamic settings it had received}. `started`: {broker: settings at the start of its incarnations}.
    """

    topics: dict[str, dict[int, UncleanSetting]] = {}
    given: dict[tuple[int, int], list[UncleanSetting]] = {}
    started: dict[int, list[UncleanSetting]] = {}

    def add(self, node: str, at_ms: float, event: Event) -> None:
        """Record an event; events come in order of time."""
        match event:
            case ZnodeChanged(path=path, change=change) if path.startswith(TOPIC_CONFIGS + "/"):
                topic = path.removeprefix(TOPIC_CONFIGS + "/")
                config = {} if change == "deleted" else decode_topic_config(topic, event.data.encode())
                self.topics.setdefault(topic, {}).setdefault(event.zxid, _setting(at_ms, config))
            case BrokerConfigured(broker=whose, config=config, in_force=True):
                self.given.setdefault((identifier_named(node), whose), []).append(_setting(at_ms, _pairs(config)))
            case NodeStarted(roles=roles, settings=settings) if "broker" in roles:
                broker = identifier_named(node)
                self.started.setdefault(broker, []).append(_setting(at_ms, _pairs(settings)))
                for whose in (OF_ALL, broker):  # an incarnation has no dynamic settings before it reads them
                    if (broker, whose) in self.given:
                        self.given[broker, whose].append(UncleanSetting(at_ms, None))
            case _:
                pass


class UncleanElections:
    """Periods of unclean election in a run of `resolved`, by its settings."""

    def __init__(self, resolved: Resolved, settings_seen: UncleanSettings) -> None:
        self._of_file: dict[int, bool] = {
            identifier_named(node): is_true(settings.get(UNCLEAN)) for node, settings in resolved.spec.settings.items()
        }
        self._setting = settings_seen

    def may_be(self, topic: str, since_ms: float = 0.0, until_ms: float = inf) -> bool:
        """Whether a controller, which may be any broker, may have elected uncleanly in that time."""
        of_topic = self._setting.topics.get(topic, {})
        own = _within([of_topic[zxid] for zxid in sorted(of_topic)], since_ms, until_ms)
        brokers = self._of_file if None in own else ()
        return True in own or any(self._by_broker(broker, since_ms, until_ms) for broker in brokers)

    def _by_broker(self, broker: int, since_ms: float, until_ms: float) -> bool:
        """Values of a broker: its dynamic setting > the one for all > the one at start > its file."""
        given, started = self._setting.given, self._setting.started
        for values in (given.get((broker, broker), []), given.get((broker, OF_ALL), []), started.get(broker, [])):
            found = _within(values, since_ms, until_ms)
            if True in found:
                return True
            if None not in found:
                return False
        return self._of_file[broker]


def _within(settings_seen: list[UncleanSetting], since_ms: float, until_ms: float) -> set[bool | None]:
    """All values in force within that time; None before the first."""
    before = [one.on for one in settings_seen if one.at_ms <= since_ms]
    return {before[-1] if before else None, *(one.on for one in settings_seen if since_ms < one.at_ms <= until_ms)}


def _setting(at_ms: float, config: dict[str, str]) -> UncleanSetting:
    return UncleanSetting(at_ms, is_true(config[UNCLEAN]) if UNCLEAN in config else None)


def _pairs(shown: str) -> dict[str, str]:
    """{name: value} of a text `name=value name=value`.

    A value with blanks is cut; this setting has none.
    """
    return {name: value for name, _, value in (word.partition("=") for word in shown.split())}
