"""Responses to admin clients about settings, as from Kafka's AdminManager."""

import pytest

from emulator.settings.described import (
    BrokersSettings,
    Described,
    Source,
    describe_broker,
    describe_every_broker,
    describe_topic,
)
from emulator.settings.setting import Value

FILE: dict[str, Value] = {
    "log.retention.hours": 24,
    "min.insync.replicas": 2,
    "broker.id": 1,
    "ssl.keystore.password": "secret",
}
Stated = list[tuple[str, str | None, Source]]


def broker(version: str = "2.6", **about: dict[str, str]) -> BrokersSettings:
    return BrokersSettings(version, version != "1.0", version != "2.6", FILE, **about)


def of_broker(given: BrokersSettings) -> dict[str, Described]:
    return {one.setting.name: one for one in describe_broker(given)}


def of_topic(given: BrokersSettings, own: dict[str, str] | None = None) -> dict[str, Described]:
    return {one.setting.name: one for one in describe_topic(given, own or {})}


def synonyms(one: Described) -> Stated:
    return [(output.name, output.value, output.source) for output in one.synonyms]


def test_the_first_of_all_entries_is_in_force() -> None:
    given = broker(own={"num.io.threads": "16"}, every={"num.io.threads": "9", "min.insync.replicas": "3"})
    threads, replicas = of_broker(given)["num.io.threads"], of_topic(given, {"min.insync.replicas": "1"})
    assert (threads.value, threads.source, threads.read_only, threads.kind) == ("16", Source.BROKER, False, 3)
    assert synonyms(threads) == [
        ("num.io.threads", "16", Source.BROKER),
        ("num.io.threads", "9", Source.EVERY_BROKER),
        ("num.io.threads", "8", Source.DEFAULT),
    ]
    assert synonyms(replicas["min.insync.replicas"]) == [
        ("min.insync.replicas", "1", Source.TOPIC),
        ("min.insync.replicas", "3", Source.EVERY_BROKER),
        ("min.insync.replicas", "2", Source.FILE),
        ("min.insync.replicas", "1", Source.DEFAULT),
    ]
    assert [(one.setting.name, one.value) for one in describe_every_broker(given)] == [
        ("min.insync.replicas", "3"),
        ("num.io.threads", "9"),
    ]


def test_times_follow_hours_and_are_no_synonyms_of_what_is_not_set_itself() -> None:
    """As kafka-configs shows of a 2.6: `retention.ms=604800000 sensitive=false synonyms={}`."""
    topic = of_topic(broker())
    assert (topic["retention.ms"].value, topic["retention.ms"].source) == ("86400000", Source.DEFAULT)
    assert synonyms(topic["retention.ms"]) == []
    assert (topic["segment.ms"].value, synonyms(topic["segment.ms"])) == ("604800000", [])
    assert (topic["flush.ms"].value, synonyms(topic["flush.ms"])) == ("9223372036854775807", [])
    altered = of_topic(broker(every={"log.retention.ms": "5"}))["retention.ms"]
    assert (altered.value, altered.source) == ("5", Source.EVERY_BROKER)
    assert synonyms(altered)[1:] == [
        ("log.retention.hours", "24", Source.FILE),
        ("log.retention.hours", "168", Source.DEFAULT),
    ]


def test_secrets_unset_texts_and_versions() -> None:
    every = of_broker(broker())
    secret = every["ssl.keystore.password"]
    assert (secret.value, secret.sensitive, synonyms(secret)) == (
        None, True, [("ssl.keystore.password", None, Source.FILE)],
    )  # fmt: skip
    assert every["log.retention.ms"].value is every["zookeeper.connect"].value is None
    assert every["inter.broker.protocol.version"].value == "2.6-IV0"
    assert (every["broker.id"].value, every["broker.id"].source, every["broker.id"].read_only) == (
        "1", Source.FILE, True,
    )  # fmt: skip
    assert "logs keep everything" in every["log.retention.hours"].documentation


@pytest.mark.parametrize(("version", "read_only"), [("1.1", False), ("2.6", True)])
def test_up_to_2_5_a_synonym_that_can_be_altered_is_enough(version: str, read_only: bool) -> None:
    assert of_broker(broker(version))["log.retention.hours"].read_only is read_only
    assert of_broker(broker(version))["log.retention.ms"].read_only is False


def test_before_kip_226_there_is_the_topics_own_and_the_rest() -> None:
    topic = of_topic(broker("1.0"), {"segment.bytes": "100"})
    assert (topic["segment.bytes"].source, topic["min.insync.replicas"].source) == (Source.TOPIC, Source.DEFAULT)
    assert topic["min.insync.replicas"].value == "2"
    assert all(one.read_only for one in of_broker(broker("1.0")).values())
    assert "message.downconversion.enable" not in topic
