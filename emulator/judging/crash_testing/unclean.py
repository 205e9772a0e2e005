"""Whether unclean election was on for a topic while a leader was elected: what the topic says, else what brokers go by,
which they may be given while they run (KIP-226). Pure: from events."""

from math import inf

import msgspec

from emulator.judging.crash_testing.idempotence import is_true
from emulator.runs.resolve import Resolved
from emulator.topology import identifier_named
from protocol.events import BrokerConfigured, Event, NodeStarted, ZnodeChanged
from protocol.znodes import TOPIC_CONFIGS, decode_topic_config

UNCLEAN = "unclean.leader.election.enable"
OF_ALL = -1
"""As `broker_configured` calls what all brokers are given."""


class Said(msgspec.Struct, frozen=True):
    """From `at_ms` on it is `on`; None: nothing is said any more."""

    at_ms: float
    on: bool | None


class UncleanSaid(msgspec.Struct):
    """Who said what of unclean election, and when. `topics`: {topic: by transaction, as the first session server had
    it}; `given`: {(broker, its own number or OF_ALL): what it had heard}; `started`: {broker: what its lives were
    started with}."""

    topics: dict[str, dict[int, Said]] = {}
    given: dict[tuple[int, int], list[Said]] = {}
    started: dict[int, list[Said]] = {}

    def add(self, node: str, at_ms: float, event: Event) -> None:
        """Of events in order of time."""
        match event:
            case ZnodeChanged(path=path, change=change) if path.startswith(TOPIC_CONFIGS + "/"):
                topic = path.removeprefix(TOPIC_CONFIGS + "/")
                config = {} if change == "deleted" else decode_topic_config(topic, event.data.encode())
                self.topics.setdefault(topic, {}).setdefault(event.zxid, _said(at_ms, config))
            case BrokerConfigured(broker=whose, config=config, in_force=True):
                self.given.setdefault((identifier_named(node), whose), []).append(_said(at_ms, _pairs(config)))
            case NodeStarted(roles=roles, settings=settings) if "broker" in roles:
                broker = identifier_named(node)
                self.started.setdefault(broker, []).append(_said(at_ms, _pairs(settings)))
                for whose in (OF_ALL, broker):  # a life has heard nothing before it asks
                    if (broker, whose) in self.given:
                        self.given[broker, whose].append(Said(at_ms, None))
            case _:
                pass


class UncleanElections:
    """`said` in a run of `resolved`."""

    def __init__(self, resolved: Resolved, said: UncleanSaid) -> None:
        self._of_file: dict[int, bool] = {
            identifier_named(node): is_true(settings.get(UNCLEAN)) for node, settings in resolved.spec.settings.items()
        }
        self._said = said

    def may_be(self, topic: str, since_ms: float = 0.0, until_ms: float = inf) -> bool:
        """Whether some controller may have elected uncleanly within that time. Every broker may be the controller."""
        of_topic = self._said.topics.get(topic, {})
        own = _within([of_topic[zxid] for zxid in sorted(of_topic)], since_ms, until_ms)
        brokers = self._of_file if None in own else ()
        return True in own or any(self._by_broker(broker, since_ms, until_ms) for broker in brokers)

    def _by_broker(self, broker: int, since_ms: float, until_ms: float) -> bool:
        """Its own > what all are given > what it was started with > its file."""
        given, started = self._said.given, self._said.started
        for told in (given.get((broker, broker), []), given.get((broker, OF_ALL), []), started.get(broker, [])):
            found = _within(told, since_ms, until_ms)
            if True in found:
                return True
            if None not in found:
                return False
        return self._of_file[broker]


def _within(said: list[Said], since_ms: float, until_ms: float) -> set[bool | None]:
    """All that held at some moment of that time; before anything is said, nothing is."""
    before = [one.on for one in said if one.at_ms <= since_ms]
    return {before[-1] if before else None, *(one.on for one in said if since_ms < one.at_ms <= until_ms)}


def _said(at_ms: float, config: dict[str, str]) -> Said:
    return Said(at_ms, is_true(config[UNCLEAN]) if UNCLEAN in config else None)


def _pairs(shown: str) -> dict[str, str]:
    """`name=value` one after the other. A value may have blanks; this one's has none."""
    return {name: value for name, _, value in (word.partition("=") for word in shown.split())}
