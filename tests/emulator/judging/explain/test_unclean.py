"""Unclean elections are allowed while they are on, and not before or after."""

import pytest

from emulator.judging.crash_testing.crash_plan import drawn, resolved_for
from emulator.judging.crash_testing.crash_seeds import play_seed
from emulator.judging.explain.broken_promises import Broken
from emulator.judging.explain.history_builder import history_of
from emulator.judging.explain.promise_rules import Rules
from emulator.judging.explain.run_history import Led
from emulator.judging.explain.unclean import UNCLEAN, UncleanElections, UncleanSettings
from protocol.events import BrokerConfigured, Event, NodeStarted, ZnodeChanged
from protocol.znodes import encode_config, topic_config_path
from tests.emulator.judging.explain.traces import LOST, TOPIC_PARTITION, committed, stated

ON, OFF = f"{UNCLEAN}=true", f"{UNCLEAN}=false"
Reported = tuple[float, str, Event]


def topic(at_ms: float, zxid: int, on: bool | None, server: str = "session-0") -> Reported:
    config = {} if on is None else {UNCLEAN: str(on).lower()}
    data = encode_config({"retention.ms": "1", **config}).decode()
    return at_ms, server, ZnodeChanged(topic_config_path("t"), "changed", zxid, zxid, data)


def deleted(at_ms: float, zxid: int) -> Reported:
    return at_ms, "session-0", ZnodeChanged(topic_config_path("t"), "deleted", 0, zxid, "")


def config_read(at_ms: float, config: str, *, whose: int = -1, in_force: bool = True) -> Reported:
    return at_ms, "broker-0", BrokerConfigured(whose, config, in_force)


def started(at_ms: float, settings: str = "") -> Reported:
    return at_ms, "broker-0", NodeStarted("broker,controller", "az-0", "2.8", "2.8", settings)


def settings_from(*reported: Reported) -> UncleanSettings:
    found = UncleanSettings()
    for at_ms, node, event in reported:
        found.add(node, at_ms, event)
    return found


@pytest.mark.parametrize(
    ("reported", "before", "between", "after"),
    [
        ([], False, False, False),
        ([topic(10, 1, True), topic(20, 2, False)], False, True, False),
        ([topic(10, 1, True), deleted(20, 2)], False, True, False),
        # A session server that is late says nothing new.
        ([topic(10, 1, True), topic(20, 2, False), topic(21, 1, True, "session-1")], False, True, False),
        ([config_read(10, ON), config_read(20, OFF)], False, True, False),
        ([config_read(10, f"a=1 {ON}"), config_read(20, "a=1")], False, True, False),
        ([config_read(10, ON, in_force=False)], False, False, False),  # it cannot be
        ([config_read(10, ON), config_read(20, OFF, whose=0)], False, True, False),  # its own comes first
        ([topic(5, 1, False), config_read(10, ON)], False, False, False),  # the topic's word comes before all
        ([config_read(10, ON), started(20)], False, True, False),  # what its next life does not hear
        ([started(10, ON), started(20, OFF)], False, True, False),
        ([started(10, ON), config_read(10, OFF)], False, False, False),
    ],
)  # fmt: skip
def test_it_is_on_as_long_as_events_show(reported: list[Reported], before: bool, between: bool, after: bool) -> None:
    """Of a cluster whose files say that it is off."""
    elections = UncleanElections(resolved_for("clean-election-waits", "2.8"), settings_from(*reported))
    assert elections.may_be("t", 1, 9) is before
    assert elections.may_be("t", 12, 15) is between
    assert elections.may_be("t", 25, 30) is after


def test_a_topic_may_disable_what_brokers_enable() -> None:
    elections = UncleanElections(resolved_for("unclean-election", "2.8"), settings_from(topic(10, 1, False)))
    assert elections.may_be("t", 1, 9) and not elections.may_be("t", 11, 12) and elections.may_be("u", 11, 12)


@pytest.mark.parametrize(("on_ms", "off_ms", "allowed"), [(8, 20, True), (2, 6, False), (10, 20, False)])
def test_nothing_allows_an_election_before_it_was_on_or_after(on_ms: float, off_ms: float, allowed: bool) -> None:
    """Nor what it takes away."""
    history = committed(
        states={TOPIC_PARTITION: [stated(7, 0, 0, (0,), 0), stated(9, 1, 1, (1,), 1)]},
        leaders={TOPIC_PARTITION: [Led(9, 1, epoch=1, log_end=2)]},
    )
    history.unclean = settings_from(config_read(on_ms, ON), config_read(off_ms, OFF))
    found = Rules(resolved_for("clean-election-waits", "2.8"), history, tails=[])
    assert found.allowing(LOST).startswith("4.2") is allowed
    election = Broken("election", "", TOPIC_PARTITION, since_ms=7, until_ms=9)
    assert found.allowing(election).startswith("4.2") is allowed


def test_a_history_has_all_reports() -> None:
    reported = (started(1), topic(2, 1, True), config_read(3, ON))
    history = history_of((node, 1, n, f"cause {n}", at_ms, event) for n, (at_ms, node, event) in enumerate(reported))
    assert history.unclean == settings_from(*reported)


def test_a_death_where_brokers_are_given_unclean_election_is_judged_by_it() -> None:
    """Scenario brokers-altered: its files say no, then all brokers are told yes, and c goes."""
    result = play_seed(drawn(3, ("brokers-altered",)))
    assert (result.error, result.failed) == ("", ())
    assert "4.2: an unclean election" in result.allowed
