"""Changes of settings by admin clients, and the refusals of others."""

import pytest

from emulator.settings.altered import APPEND, DELETE, SET, SUBTRACT, Change, Unalterable, Where, changed, replaced
from emulator.settings.setting import BROKER, TOPIC
from protocol.errors import ErrorCode as E

NOW = {"min.insync.replicas": "2", "cleanup.policy": "delete"}
OF_TOPIC = Where("2.6", TOPIC, {})
OF_BROKER = Where("2.6", BROKER, {})
THROTTLED = "leader.replication.throttled.replicas"


def test_single_changes_leave_the_rest_and_replacing_does_not() -> None:
    assert changed(OF_TOPIC, NOW, [Change("segment.bytes", "100"), Change("cleanup.policy", None, DELETE)]) == {
        "min.insync.replicas": "2",
        "segment.bytes": "100",
    }
    assert changed(OF_TOPIC, NOW, [Change("segment.bytes", None, DELETE)]) == NOW, "it was not set"
    assert replaced(OF_TOPIC, {"segment.bytes": "100"}) == {"segment.bytes": "100"}
    assert replaced(OF_TOPIC, {}) == {}


def test_lists_are_appended_to_and_subtracted_from() -> None:
    """`cleanup.policy` of a broker of 2.6 begins with its default."""
    assert changed(OF_TOPIC, {}, [Change("cleanup.policy", "delete", SUBTRACT)]) == {"cleanup.policy": ""}
    assert changed(OF_TOPIC, {"cleanup.policy": "delete"}, [Change("cleanup.policy", "delete", APPEND)]) == {
        "cleanup.policy": "delete,delete"
    }


@pytest.mark.parametrize(
    ("change", "error", "why"),
    [
        (Change("no.such", "1"), E.INVALID_CONFIG, "Unknown topic config name: no.such"),
        (Change("min.insync.replica", "1"), E.INVALID_CONFIG, "nearest: min.insync.replicas"),
        (Change("max.compaction.lag.msx", "1"), E.INVALID_CONFIG, "Unknown topic config name"),
        (Change("min.insync.replicas", "many"), E.INVALID_REQUEST, "expected a whole number"),
        (Change("min.insync.replicas", "0"), E.INVALID_REQUEST, "at least 1"),
        (Change("min.insync.replicas", None), E.INVALID_REQUEST, "Null value not supported for : SET:min.insync"),
        (Change("min.insync.replicas", "1", APPEND), E.INVALID_REQUEST, "append is not allowed"),
        (Change("min.insync.replicas", "1", 7), E.INVALID_REQUEST, "Unknown operation"),
        (Change("retention.ms", "60000"), E.POLICY_VIOLATION, "logs keep everything"),
        (Change("cleanup.policy", "compact", APPEND), E.POLICY_VIOLATION, "logs keep everything"),
        (Change(THROTTLED, "0:1,2"), E.INVALID_REQUEST, "must be the literal"),
        (Change(THROTTLED, "*,0:1"), E.INVALID_REQUEST, "must be the literal"),
    ],
)
def test_a_topics_change_that_cannot_be(change: Change, error: E, why: str) -> None:
    now = {**NOW, "segment.bytes": "1000"}
    with pytest.raises(Unalterable, match=why) as refused:
        changed(OF_TOPIC, now, [Change("flush.messages", "7"), change])
    assert refused.value.error == error


@pytest.mark.parametrize("value", ["*", "0:1", "0:1,1:2, 12:1003", ""])
def test_throttles_of_a_reassignment_are_taken(value: str) -> None:
    """kafka-reassign-partitions --throttle sets them at its beginning.

    And removes them at its end.
    """
    assert changed(OF_TOPIC, {}, [Change(THROTTLED, value)]) == {THROTTLED: value}
    assert changed(OF_TOPIC, {THROTTLED: value}, [Change(THROTTLED, None, DELETE)]) == {}
    rate = {"leader.replication.throttled.rate": "1000", "follower.replication.throttled.rate": "1000"}
    assert changed(OF_BROKER, {}, [Change(name, text) for name, text in rate.items()]) == rate


@pytest.mark.parametrize("change", [Change("retention.ms", "604800000"), Change("retention.ms", "172800000")])
def test_what_can_change_nothing_within_a_day_is_taken(change: Change) -> None:
    assert changed(OF_TOPIC, NOW, [change])["retention.ms"] == change.value


def test_what_is_there_already_is_not_requested_again() -> None:
    """A topic that was made with a short retention can be changed otherwise."""
    assert "segment.bytes" in changed(OF_TOPIC, {"retention.ms": "1000"}, [Change("segment.bytes", "100")])


def test_twice_and_null_by_version() -> None:
    with pytest.raises(Unalterable, match="duplicate config keys : flush") as refused:
        changed(OF_TOPIC, {}, [Change("flush.ms", "1"), Change("flush.ms", None, DELETE)])
    assert refused.value.error == E.INVALID_REQUEST
    for names_null, error in ((True, E.INVALID_REQUEST), (False, E.UNKNOWN_SERVER_ERROR)):
        with pytest.raises(Unalterable) as refused:
            replaced(Where("2.6", TOPIC, {}, names_null=names_null), {"flush.ms": None})
        assert refused.value.error == error
    with pytest.raises(Unalterable) as refused:
        changed(Where("1.1", TOPIC, {}), {}, [Change("message.downconversion.enable", "true", SET)])
    assert refused.value.error == E.INVALID_CONFIG, "it came with 2.0"


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("num.io.threads", "16", None),
        ("log.segment.bytes", "1000000", None),
        ("log.cleaner.threads", "2", None),
        ("log.retention.ms", "1000", E.POLICY_VIOLATION),
        ("listeners", "PLAINTEXT://:1", E.POLICY_VIOLATION),
        ("num.io.threads", "none", E.INVALID_REQUEST),
        ("broker.id", "7", E.INVALID_REQUEST),
        ("no.such", "1", E.INVALID_REQUEST),
    ],
)
def test_a_brokers(name: str, value: str, error: E | None) -> None:
    if error is None:
        assert replaced(OF_BROKER, {name: value}) == {name: value}
        return
    with pytest.raises(Unalterable) as refused:
        replaced(OF_BROKER, {name: value})
    assert refused.value.error == error


def test_what_is_one_brokers_cannot_be_all_brokers() -> None:
    with pytest.raises(Unalterable, match="broker id must be specified"):
        replaced(Where("2.6", BROKER, {}, every=True), {"listeners": "PLAINTEXT://:1"})
