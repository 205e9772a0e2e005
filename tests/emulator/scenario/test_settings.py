"""Settings: defaults of each version (semantics 7), types, ranges, and one clear message for what cannot be."""

import pytest

from emulator.scenario.settings import REGISTRY, SETTINGS, UnusableSetting, parse_assignment, resolve_settings, usable
from protocol.versions import LADDER

DEFAULTS: list[tuple[str, dict[str, object]]] = [
    ("zookeeper.session.timeout.ms", {"0.10.2": 6000, "2.4": 6000, "2.5": 18000, "2.8": 18000}),
    ("replica.lag.time.max.ms", {"0.10.2": 10000, "2.4": 10000, "2.5": 30000, "2.6": 30000}),
    ("unclean.leader.election.enable", {"0.8.2": True, "0.10.2": True, "0.11": False, "2.8": False}),
    ("delete.topic.enable", {"0.11": False, "1.0": True}),
    ("producer.retries", {"2.0.1": 0, "2.1": 2147483647}),
    ("consumer.request.timeout.ms", {"1.1": 305000, "2.0.0": 30000}),
    ("replica.lag.max.messages", {"0.8.2": 4000}),
    ("tickTime", {"2.6": 1000}),
    ("inter.broker.protocol.version", {"2.6": "2.6", "0.10.2": "0.10.2"}),
]


@pytest.mark.parametrize(("name", "by_version"), DEFAULTS)
def test_default(name: str, by_version: dict[str, object]) -> None:
    assert {version: resolve_settings(version, {})[name] for version in by_version} == by_version


@pytest.mark.parametrize("version", LADDER)
def test_every_version_has_a_usable_default_for_everything_it_knows(version: str) -> None:
    settings = resolve_settings(version, {})
    assert set(settings) == {s.name for s in SETTINGS if s.exists_in(version)} | {
        "inter.broker.protocol.version",
        "log.message.format.version",
    }
    assert all(usable(name, value) == value for name, value in settings.items())


def test_a_brokers_own_setting_comes_before_the_clusters() -> None:
    settings = resolve_settings(
        "2.6.3",
        {"zookeeper.session.timeout.ms": 6000, "unclean.leader.election.enable": "true"},
        {"zookeeper.session.timeout.ms": "30000"},
    )
    assert settings.int("zookeeper.session.timeout.ms") == 30000
    assert settings.bool("unclean.leader.election.enable") is True
    assert settings.text("producer.acks") == "1"
    assert len(settings) == len(list(settings))


def test_the_message_format_follows_the_protocol_version() -> None:
    settings = resolve_settings("2.8", {"inter.broker.protocol.version": "2.6"})
    assert settings["log.message.format.version"] == "2.6"


@pytest.mark.parametrize(
    ("name", "value", "version", "message"),
    [
        ("replica.lag.ms", 1, None, "unknown setting 'replica.lag.ms'; nearest: replica.lag.time.max.ms"),
        ("xyzzy", 1, None, "unknown setting 'xyzzy'"),
        ("num.partitions", 0, None, "num.partitions: expected a whole number of partitions, at least 1, got 0"),
        ("num.partitions", True, None, "num.partitions: expected a whole number of partitions, got True"),
        ("log.segment.bytes", 2**31, None,
         "log.segment.bytes: expected a whole number of bytes, at most 2147483647, got 2147483648"),
        ("delete.topic.enable", "yes", None, "delete.topic.enable: expected true or false, got 'yes'"),
        ("log.dirs", "d0,,d1", None, "log.dirs: expected names of folders, separated by commas, got 'd0,,d1'"),
        ("log.dirs", "/var/d0", None, "log.dirs: expected names of folders, separated by commas, got '/var/d0'"),
        ("producer.acks", "2", None, "producer.acks: expected one of 0, 1, -1, all, got '2'"),
        ("replica.lag.max.messages", 4, "2.6",
         "replica.lag.max.messages is not a setting of Kafka 2.6: it went after 0.8.2"),
        ("producer.delivery.timeout.ms", 4, "1.1",
         "producer.delivery.timeout.ms is not a setting of Kafka 1.1: it came with 2.1"),
    ],
)  # fmt: skip
def test_unusable(name: str, value: object, version: str | None, message: str) -> None:
    with pytest.raises(UnusableSetting) as raised:
        usable(name, value, version)
    assert str(raised.value) == message


def test_assignments_of_the_command_line() -> None:
    assert parse_assignment("replica.lag.time.max.ms=5000") == ("replica.lag.time.max.ms", 5000)
    assert parse_assignment("unclean.leader.election.enable = true") == ("unclean.leader.election.enable", True)
    with pytest.raises(UnusableSetting, match="'tickTime': expected name=value"):
        parse_assignment("tickTime")


def test_names_with_a_unit_have_that_unit() -> None:
    assert REGISTRY["replica.fetch.max.bytes"].unit == "bytes"
    assert all(setting.unit == "ms" for name, setting in REGISTRY.items() if name.endswith(".ms"))
