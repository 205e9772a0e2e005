"""Settings that a broker is given while it runs (KIP-226, semantics 7).
Which come first, when they hold, what is left of topics' own.
"""

from typing import Any

import pytest

from protocol.events import BrokerConfigured
from protocol.znodes import BROKERS_CHANGED, CONFIG_CHANGES, EVERY_BROKER, encode_config, encode_config_change
from verification.broker_bench import Bench, state

HANDLERS = "num.io.threads"
EVER = 2**63 - 1


def leader(version: str = "2.8", **settings: Any) -> Bench:
    bench = Bench(version, **settings)
    bench.lead(isr=(0,))
    return bench


def give(bench: Bench, whose: str, of: str = BROKERS_CHANGED, **config: str) -> None:
    """As an admin tool does: the settings, then a notification, which the broker looks at."""
    own = {name.replace("_", "."): value for name, value in config.items()}
    bench.sessions.znodes[f"/config/{of}/{whose}"] = (encode_config(own), 0)
    number = sum(path.startswith(CONFIG_CHANGES) for path in bench.sessions.znodes)
    data = encode_config_change(whose, bench.gates.config_change_form, of)
    bench.sessions.znodes[f"{CONFIG_CHANGES}/config_change_{number:010}"] = (data, 0)
    bench.do(bench.broker.configurations.changed)


def min_isr(bench: Bench) -> int:
    return bench.partition.settings.min_insync_replicas


def flush_ms(bench: Bench) -> int:
    return bench.log.settings.flush_ms


def test_its_own_come_before_those_of_all_and_both_before_its_file() -> None:
    bench = leader(min_insync_replicas=4)
    found = []
    for whose, config in ((EVERY_BROKER, {"min_insync_replicas": "3"}), ("0", {"min_insync_replicas": "2"}), ("0", {}),
                          (EVERY_BROKER, {})):  # fmt: skip
        give(bench, whose, **config)
        found.append((min_isr(bench), bench.context.settings.min_insync_replicas))
    assert found == [(3, 3), (2, 2), (3, 3), (4, 4)]
    assert bench.events(BrokerConfigured)[:2] == [
        BrokerConfigured(-1, "min.insync.replicas=3", True),
        BrokerConfigured(0, "min.insync.replicas=2", True),
    ]


def test_another_brokers_are_not_its_own() -> None:
    bench = leader()
    give(bench, "1", min_insync_replicas="3")
    assert (min_isr(bench), bench.events(BrokerConfigured)) == (1, [])


def test_up_to_1_0_no_broker_learns_of_it() -> None:
    bench = leader("1.0")
    give(bench, EVERY_BROKER, min_insync_replicas="3")
    assert (min_isr(bench), bench.events(BrokerConfigured)) == (1, [])


def test_a_topics_own_come_first() -> None:
    bench = leader()
    give(bench, "t", "topics", min_insync_replicas="2")
    give(bench, EVERY_BROKER, min_insync_replicas="3", log_segment_bytes="14")
    assert (min_isr(bench), bench.log.settings.segment_bytes) == (2, 14)


@pytest.mark.parametrize(("version", "left"), [("1.1", 4), ("2.3", 4), ("2.4", 2), ("2.8", 2)])
def test_a_second_change_overrides_topic_settings_up_to_2_3(version: str, left: int) -> None:
    """KAFKA-9254. A change of the topic's own, or a new start, brings them back."""
    bench = leader(version)
    give(bench, "t", "topics", min_insync_replicas="2")
    give(bench, EVERY_BROKER, min_insync_replicas="3")
    assert min_isr(bench) == 2
    give(bench, "0", min_insync_replicas="4")
    assert min_isr(bench) == left
    give(bench, "t", "topics", min_insync_replicas="2", segment_bytes="14")
    give(bench, "0", min_insync_replicas="5")
    assert min_isr(bench) == 2


def test_settings_other_than_logs_leave_topic_overrides() -> None:
    bench = leader("1.1", num_io_threads=8)
    give(bench, "t", "topics", min_insync_replicas="2")
    for handlers in ("9", "10", "11"):
        give(bench, "0", num_io_threads=handlers)
    assert (min_isr(bench), bench.context.settings.num_io_threads) == (2, 11)


@pytest.mark.parametrize(("version", "left"), [("1.1", 7), ("2.5", 7), ("2.6", EVER), ("2.8", EVER)])
def test_a_removed_time_between_flushes_stays_up_to_2_5(version: str, left: int) -> None:
    """KAFKA-10268: the setting has no default, so nothing takes its place."""
    bench = leader(version)
    give(bench, EVERY_BROKER, log_flush_interval_ms="7")
    assert flush_ms(bench) == 7
    give(bench, EVERY_BROKER)
    assert flush_ms(bench) == left
    again = Bench(version, files=bench.files)
    again.lead(epoch=1, isr=(0,))
    assert flush_ms(again) == EVER


def test_one_that_a_file_sets_comes_back() -> None:
    bench = leader("1.1", log_flush_interval_ms=9)
    give(bench, "0", log_flush_interval_ms="7")
    give(bench, "0", min_insync_replicas="2")
    assert (flush_ms(bench), min_isr(bench)) == (9, 2)


@pytest.mark.parametrize(("handlers", "now"), [("17", 8), ("16", 16), ("4", 4), ("3", 8), ("0", 8), ("many", 8)])
def test_handlers_at_most_double_and_at_least_half(handlers: str, now: int) -> None:
    """DynamicThreadPool.validateReconfiguration.
    Then nothing that was given with it holds, either.
    """
    bench = leader(num_io_threads=8)
    give(bench, "0", num_io_threads=handlers, min_insync_replicas="2")
    assert bench.context.settings.num_io_threads == now
    assert min_isr(bench) == (1 if now == 8 else 2)
    assert bench.events(BrokerConfigured)[0].in_force == (now != 8)


def test_requests_that_wait_are_served_by_handlers_that_are_new() -> None:
    """The one that there is waits for the session service; a second one takes what is behind it."""
    bench = leader(num_io_threads=1)
    bench.sessions.reachable = False
    bench.leader_and_isr(state(0, isr=(0,), topic_partition=("u", 0)))
    requested = bench.produce("a")
    assert not bench.answers(requested)
    bench.do(lambda: bench.broker.dynamic.changed("0", {HANDLERS: "2"}))
    assert bench.produced(requested).error == 0


def test_a_new_life_begins_with_what_it_was_given() -> None:
    """Repeated changes hold as if they came from a file.
    No setting of topics is forgotten.
    """
    first = leader("1.1")
    first.produce("a")
    give(first, EVERY_BROKER, min_insync_replicas="4", log_flush_interval_ms="7", num_io_threads="5")
    give(first, EVERY_BROKER, min_insync_replicas="3", log_flush_interval_ms="7")
    for handlers in ("16", "32", "31"):
        give(first, "0", min_insync_replicas="2", num_io_threads=handlers)
    own = {"t": {"flush.ms": "8"}}
    second = Bench("1.1", files=first.files, sessions=first.sessions, configurations=own)
    second.lead(epoch=1, isr=(0,))
    assert (min_isr(second), flush_ms(second), second.context.settings.num_io_threads) == (2, 8, 31)
    give(second, "0", num_io_threads="63")
    assert second.context.settings.num_io_threads == 31


@pytest.mark.parametrize("of_topic", ["false", ""])
def test_the_controller_learns_once_that_unclean_election_is_switched_on(of_topic: str) -> None:
    bench = leader()
    if of_topic:
        give(bench, "t", "topics", unclean_leader_election_enable=of_topic)
    for value in ("true", "true", "false", "true"):
        give(bench, EVERY_BROKER, unclean_leader_election_enable=value)
    reported = [(settings.unclean_leader_election_enable, on) for settings, on in bench.reconfigured]
    assert reported == [(True, True), (False, False), (True, True)]
