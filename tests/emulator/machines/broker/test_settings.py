"""A broker's settings: Kafka's names, 2.6's defaults.
A topic's own values come before them.
"""

import msgspec

from emulator.machines.broker.settings import LONG_MAX, BrokerSettings, with_topic_overrides
from emulator.settings.in_force import resolve_settings


def test_every_field_is_a_setting_of_that_name_and_its_default_is_that_of_2_6() -> None:
    fields = msgspec.structs.asdict(BrokerSettings())
    known = {name.replace(".", "_"): value for name, value in resolve_settings("2.6", {}).items()}
    differing = {name: value for name, value in fields.items() if str(known.get(name)) != str(value)}
    older = {"replica_lag_max_messages": 4_000, "message_max_bytes": 1_000_012}  # 0.8.2's, and that before 2.5
    newer = {"transaction_partition_verification_enable": True}  # from 3.6
    assert differing == older | newer


def test_flushes_and_request_threads_are_there() -> None:
    given = {
        "num.io.threads": 2,
        "log.flush.interval.messages": 10,
        "log.flush.scheduler.interval.ms": 3000,
        "zookeeper.session.timeout.ms": 9000,
    }
    settings = BrokerSettings.from_settings(resolve_settings("2.6", given))
    assert settings.num_io_threads == 2
    assert settings.log_flush_interval_messages == 10
    assert (settings.log_flush_interval_ms, settings.log_flush_scheduler_interval_ms) == (3000, 3000)
    assert settings.zookeeper_connection_timeout_ms == 9000


def test_a_topics_own_flushes_come_before_the_brokers() -> None:
    settings = BrokerSettings(log_flush_interval_messages=10)
    of_topic = with_topic_overrides(settings, {"flush.messages": "1", "flush.ms": str(LONG_MAX)})
    assert (of_topic.log_flush_interval_messages, of_topic.log_flush_interval_ms) == (1, LONG_MAX)
    assert with_topic_overrides(settings, {}).log_flush_interval_messages == 10
