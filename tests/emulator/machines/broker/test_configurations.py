"""Topics' own settings: from a broker's first moment, and when they change (semantics 7)."""

import pytest

from protocol.events import TopicConfigured
from protocol.gates import gates_for
from protocol.messages.session_messages import GetChildren
from protocol.versions import LADDER
from protocol.znodes import (
    CONFIG_CHANGES,
    UnreadableZnode,
    decode_config_change,
    encode_config,
    encode_config_change,
)
from verification.broker_bench import Bench, batch


def change(bench: Bench, number: int, topic: str, **config: str) -> None:
    """As an admin tool does: the settings, then a notification."""
    own = {name.replace("_", "."): value for name, value in config.items()}
    bench.sessions.znodes[f"/config/topics/{topic}"] = (encode_config(own), 0)
    data = encode_config_change(topic, bench.gates.config_change_form)
    bench.sessions.znodes[f"{CONFIG_CHANGES}/config_change_{number:010}"] = (data, 0)


def leader(version: str = "2.6") -> Bench:
    bench = Bench(version)
    bench.lead(isr=(0,))
    return bench


def min_isr(bench: Bench) -> int:
    return bench.partition.settings.min_insync_replicas


def test_topic_settings_hold_for_existing_logs() -> None:
    first = leader()
    first.produce("a")
    second = Bench(files=first.files, configurations={"t": {"min.insync.replicas": "2"}})
    second.lead(epoch=1, isr=(0,))
    assert (min_isr(second), second.produced(second.produce("b", acks=-1)).error) == (2, 19)


@pytest.mark.parametrize("version", ("0.8.2", "0.10.2", "1.1", "2.8"))
def test_a_change_takes_effect_when_its_notification_arrives(version: str) -> None:
    bench = leader(version)
    change(bench, 0, "t", min_insync_replicas="2", segment_bytes="14")
    bench.do(bench.broker.configurations.changed)
    assert (min_isr(bench), bench.log.settings.segment_bytes) == (2, 14)
    assert bench.events(TopicConfigured) == [TopicConfigured("t", "min.insync.replicas=2 segment.bytes=14")]
    change(bench, 1, "t")
    change(bench, 2, "unknown", min_insync_replicas="3")
    bench.do(bench.broker.configurations.changed)
    assert min_isr(bench) == 1
    assert [event.topic for event in bench.events(TopicConfigured)] == ["t", "t", "unknown"]


def test_each_notification_is_read_once_and_the_watch_set_again() -> None:
    bench = leader()

    def looks() -> int:
        return len([op for op in bench.sessions.asked if isinstance(op, GetChildren) and op.watch])

    before = looks()
    change(bench, 0, "t", min_insync_replicas="2")
    for _ in range(3):
        bench.do(bench.broker.configurations.changed)
    assert looks() == before + 3
    assert len(bench.events(TopicConfigured)) == 1


def test_a_change_during_a_lost_session_arrives_in_the_next() -> None:
    bench = leader()
    bench.sessions.reachable = False
    bench.do(bench.broker.configurations.changed)
    change(bench, 0, "t", min_insync_replicas="2")
    bench.session_expires()
    bench.sessions.reachable = True
    assert min_isr(bench) == 1
    bench.do(bench.broker.configurations.session_began)
    assert min_isr(bench) == 2


def test_unclean_election_that_is_switched_on_is_reported_to_the_controller() -> None:
    bench = leader()
    change(bench, 0, "t", unclean_leader_election_enable="true")
    change(bench, 1, "u", unclean_leader_election_enable="false")
    bench.do(bench.broker.configurations.changed)
    assert bench.unclean_enabled == ["t"]


@pytest.mark.parametrize("version", LADDER)
def test_a_notification_names_a_topic_in_each_versions_form(version: str) -> None:
    form = gates_for(version).config_change_form
    assert decode_config_change("/x", encode_config_change("a.b-c", form)) == ("topics", "a.b-c")


@pytest.mark.parametrize(
    ("data", "about"),
    [
        (b'"t"', ("topics", "t")),
        (b'{"version":1,"entity_type":"topics","entity_name":"t"}', ("topics", "t")),
        (b'{"version":1,"entity_type":"clients","entity_name":"t"}', ("clients", "t")),
        (b'{"version":2,"entity_path":"topics/t"}', ("topics", "t")),
        (b'{"version":2,"entity_path":"brokers/0"}', ("brokers", "0")),
        (b'{"version":2,"entity_path":"brokers/<default>"}', ("brokers", "<default>")),
        (b'{"version":2,"entity_path":"users/u/clients/c"}', ("users", "u/clients/c")),
        (b'{"version":2,"entity_path":""}', ("", "")),
    ],
)
def test_a_notification_may_be_of_an_older_form_or_about_something_else(data: bytes, about: tuple[str, str]) -> None:
    assert decode_config_change("/x", data) == about


def test_a_notification_that_is_none_names_its_path() -> None:
    with pytest.raises(UnreadableZnode, match="/config/changes/config_change_7"):
        decode_config_change("/config/changes/config_change_7", b"{")


# --- when a log is synced ---


def synced(bench: Bench) -> int:
    return bench.log.recovery_point


def test_so_many_messages_are_synced_before_they_are_answered() -> None:
    """log.flush.interval.messages, and a topic's flush.messages: Log.append."""
    bench = Bench(log_flush_interval_messages=2)
    bench.lead(isr=(0,))
    for produced, durable in ((1, 0), (2, 2), (3, 2), (4, 4)):
        bench.produce("x")
        assert (bench.log.log_end, synced(bench)) == (produced, durable)
    bench.files.power_loss(lambda path, durable_bytes, size: durable_bytes)
    again = Bench(files=bench.files)
    again.lead(epoch=1, isr=(0,))
    assert again.log.log_end == 4


def test_a_follower_syncs_too() -> None:
    bench = Bench(log_flush_interval_messages=1)
    bench.follow()
    bench.log.append_as_follower(batch("a", base_offset=0, epoch=0) + batch("b", base_offset=1, epoch=0))
    assert synced(bench) == 2


def test_the_flusher_syncs_what_has_waited_long_enough() -> None:
    """Begins after half a minute, then looks every log.flush.scheduler.interval.ms.
    Topics may say flush.ms.
    """
    bench = Bench(log_flush_scheduler_interval_ms=10_000, log_flush_interval_ms=10_000)
    bench.sessions.znodes["/config/topics/t"] = (encode_config({"flush.ms": "20000"}), 0)
    bench.lead(isr=(0,))
    bench.produce("a")
    bench.advance(29_999.0)
    assert synced(bench) == 0
    bench.advance(1.0)
    assert synced(bench) == 1
    bench.produce("b")
    bench.advance(10_000.0)
    assert synced(bench) == 1
    bench.advance(10_000.0)
    assert synced(bench) == 2


def test_how_long_it_has_waited_counts_from_any_sync() -> None:
    """Log.lastFlushTime, which a roll and flush.messages move, too."""
    bench = Bench(log_flush_scheduler_interval_ms=10_000)
    bench.sessions.znodes["/config/topics/t"] = (encode_config({"flush.ms": "30000", "flush.messages": "2"}), 0)
    bench.lead(isr=(0,))
    bench.advance(25_000.0)
    bench.produce("a")
    bench.produce("b")
    assert synced(bench) == 2
    bench.produce("c")
    bench.advance(25_000.0)
    assert synced(bench) == 2, "50 s, and 25 s since it was synced"
    bench.advance(10_000.0)
    assert synced(bench) == 3


def test_without_a_word_nothing_is_synced_by_time() -> None:
    bench = leader()
    bench.produce("a")
    bench.advance(600_000.0)
    assert synced(bench) == 0 and ("log-flush",) not in bench.timers
