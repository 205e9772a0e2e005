"""Settings in force.

Defaults of each version (semantics 7), overrides, settings that follow others.
"""

import pytest

from emulator.settings.in_force import brokers_in_force, resolve_settings, topics_in_force
from emulator.settings.setting_registry import REGISTRY, UnusableSetting, usable
from protocol.versions import LADDER

DEFAULTS: list[tuple[str, dict[str, object]]] = [
    ("zookeeper.session.timeout.ms", {"0.10.2": 6000, "2.4": 6000, "2.5": 18000, "2.8": 18000}),
    ("replica.lag.time.max.ms", {"0.10.2": 10000, "2.4": 10000, "2.5": 30000, "2.6": 30000}),
    ("unclean.leader.election.enable", {"0.8.2": True, "0.10.2": True, "0.11": False, "2.8": False}),
    ("delete.topic.enable", {"0.11": False, "1.0": True}),
    ("replica.lag.max.messages", {"0.8.2": 4000}),
    ("inter.broker.protocol.version", {"2.6": "2.6", "0.10.2": "0.10.2"}),
]


@pytest.mark.parametrize(("name", "by_version"), DEFAULTS)
def test_default(name: str, by_version: dict[str, object]) -> None:
    assert {version: resolve_settings(version, {})[name] for version in by_version} == by_version


@pytest.mark.parametrize(
    ("name", "by_version"),
    [
        ("producer.retries", {"2.0.1": 0, "2.1": 2147483647}),
        ("consumer.request.timeout.ms", {"1.1": 305000, "2.0.0": 30000}),
        ("tickTime", {"2.6": 1000}),
    ],
)
def test_default_of_others(name: str, by_version: dict[str, object]) -> None:
    assert {version: REGISTRY[name].default_in(version) for version in by_version} == by_version


@pytest.mark.parametrize("version", LADDER)
def test_a_broker_has_a_usable_value_of_all_that_is_modelled(version: str) -> None:
    settings = resolve_settings(version, {})
    assert all(usable(name, value) == value for name, value in settings.items())
    assert {"min.insync.replicas", "inter.broker.protocol.version", "log.message.format.version"} <= set(settings)
    assert not any(name.startswith(("producer.acks", "consumer.", "topic.")) for name in settings)


def test_a_brokers_own_setting_comes_before_the_clusters() -> None:
    settings = resolve_settings(
        "2.6.3",
        {"zookeeper.session.timeout.ms": 6000, "unclean.leader.election.enable": "true", "producer.acks": "all"},
        {"zookeeper.session.timeout.ms": "30000", "log.retention.ms": 5},
    )
    assert settings.int("zookeeper.session.timeout.ms") == 30000
    assert settings.bool("unclean.leader.election.enable") is True
    assert settings.text("inter.broker.protocol.version") == "2.6"
    assert settings["log.retention.ms"] == 5  # not modelled, and given
    assert len(settings) == len(list(settings))


def test_an_unknown_name_is_not_passed_over() -> None:
    with pytest.raises(UnusableSetting, match=r"unknown setting 'replica\.lag\.ms'"):
        resolve_settings("2.6", {"replica.lag.ms": 1})


def test_the_message_format_follows_the_protocol_version() -> None:
    settings = resolve_settings("2.8", {"inter.broker.protocol.version": "2.6"})
    assert settings["log.message.format.version"] == "2.6"


@pytest.mark.parametrize(
    ("name", "followed", "value"),
    [
        ("zookeeper.connection.timeout.ms", "zookeeper.session.timeout.ms", 30000),
        ("log.flush.interval.ms", "log.flush.scheduler.interval.ms", 2000),
    ],
)
def test_a_default_that_is_another_settings_value_follows_it(name: str, followed: str, value: int) -> None:
    for version in LADDER:
        alone = resolve_settings(version, {})
        assert alone[name] == alone[followed]
        assert resolve_settings(version, {}, {followed: value})[name] == value
        assert resolve_settings(version, {followed: value, name: 5})[name] == 5


def test_a_topic_follows_its_broker_where_it_has_no_override() -> None:
    broker = brokers_in_force("2.6", {"log.segment.bytes": 1000, "min.insync.replicas": 2})
    topic = topics_in_force("2.6", {"min.insync.replicas": 1, "retention.ms": 9}, broker)
    assert (topic["segment.bytes"], topic["min.insync.replicas"], topic["retention.ms"]) == (1000, 1, 9)
