"""Settings that clients alter at KRaft's controller, and their effects.

Kraft-semantics 6.8, 7.1 and 7.6.
"""

import pytest

from protocol.errors import ErrorCode
from protocol.messages.configuration import (
    APPEND,
    DELETE,
    SET,
    SUBTRACT,
    AlterConfigsRequest,
    AlteredResource,
    AlteredSetting,
    IncrementalAlterConfigsRequest,
)
from protocol.records.metadata_records import ClearElrRecord, ConfigRecord
from tests.controller.kraft.controller_case import NEW, OLD, altered, cluster

E = ErrorCode
VERSIONS = pytest.mark.parametrize("version", [OLD, NEW])


def test_settings_are_changed_by_name() -> None:
    case = cluster()
    case.create("t", [0], retention_ms="5")
    assert altered(case, 2, "t", AlteredSetting("retention.ms", "7"), AlteredSetting("segment.ms", "9")) == 0
    assert case.state.configs[2, "t"] == {"retention.ms": "7", "segment.ms": "9"}
    assert altered(case, 2, "t", AlteredSetting("retention.ms", None, DELETE)) == 0
    assert case.state.configs[2, "t"] == {"segment.ms": "9"}


def test_lists_grow_and_shrink() -> None:
    case = cluster()
    case.create("t", [0], cleanup_policy="compact")
    for value, operation, after in (
        ("delete,compact", APPEND, "compact,delete"), ("compact", SUBTRACT, "delete"), ("x,y", SET, "x,y"),
    ):  # fmt: skip
        assert altered(case, 2, "t", AlteredSetting("cleanup.policy", value, operation)) == 0
        assert case.state.config(2, "t", "cleanup.policy") == after
    assert altered(case, 2, "t", AlteredSetting("retention.ms", "1", APPEND)) == E.INVALID_CONFIG


def test_an_unchanged_setting_is_written_for_brokers_only() -> None:
    case = cluster()
    case.create("t", [0], retention_ms="5")
    end = case.log.end
    assert altered(case, 2, "t", AlteredSetting("retention.ms", "5")) == 0
    assert case.log.end == end
    for _ in range(2):
        assert altered(case, 4, "0", AlteredSetting("num.io.threads", "5")) == 0
    assert case.records(end) == [ConfigRecord(4, "0", "num.io.threads", "5")] * 2


def test_all_settings_are_replaced() -> None:
    case = cluster()
    case.create("t", [0], retention_ms="5", segment_ms="9")
    request = AlterConfigsRequest([AlteredResource(2, "t", [AlteredSetting("retention.ms", "6")])])
    assert case.call(request).resources[0].error == 0
    assert case.state.configs[2, "t"] == {"retention.ms": "6"}


@pytest.mark.parametrize(
    ("kind", "name", "error"),
    [
        (2, "u", E.UNKNOWN_TOPIC_OR_PARTITION),
        (4, "7", E.BROKER_ID_NOT_REGISTERED),
        (4, "x", E.BROKER_ID_NOT_REGISTERED),
        (8, "0", E.INVALID_REQUEST),
    ],
)
def test_an_unknown_resource(kind: int, name: str, error: ErrorCode) -> None:
    assert altered(cluster(), kind, name, AlteredSetting("retention.ms", "1")) == error


@pytest.mark.parametrize("value", ["0", "x", "-1"])
def test_an_invalid_value_is_refused(value: str) -> None:
    case = cluster()
    case.create("t", [0])
    assert altered(case, 2, "t", AlteredSetting("min.insync.replicas", value)) == E.INVALID_CONFIG
    assert altered(case, 2, "t", AlteredSetting("unclean.leader.election.enable", value)) == E.INVALID_CONFIG
    assert altered(case, 2, "t", AlteredSetting("retention.ms", None)) == E.INVALID_REQUEST


def test_a_resource_comes_once_in_a_request() -> None:
    case = cluster()
    twice = [AlteredResource(4, "", [AlteredSetting("num.io.threads", "5")])] * 2
    response = case.call(IncrementalAlterConfigsRequest(twice))
    assert [one.error for one in response.resources] == [E.INVALID_REQUEST] * 2


def test_with_elr_another_minimum_empties_the_elrs() -> None:
    case = cluster(min_insync_replicas=3)
    case.create("t", [0, 1, 2])
    case.create("u", [0, 1, 2])
    for topic in ("t", "u"):
        case.alter([0, 1], topic)
        assert case.partition(topic).elr == (2,)
    epochs = case.summary()
    assert altered(case, 2, "t", AlteredSetting("min.insync.replicas", "2")) == 0
    assert case.records()[-1] == ClearElrRecord("t")
    assert (case.partition("t").elr, case.partition("u").elr) == ((), (2,))
    assert case.summary() == (*epochs[:3], epochs[3] + 1)
    assert altered(case, 4, "", AlteredSetting("min.insync.replicas", "1")) == 0
    assert case.records()[-1] == ClearElrRecord("")
    assert case.partition("u").elr == ()


def test_with_elr_the_minimum_is_the_clusters() -> None:
    for version, error in ((OLD, 0), (NEW, E.INVALID_CONFIG)):
        case = cluster(version)
        assert altered(case, 4, "0", AlteredSetting("min.insync.replicas", "2")) == error
        assert altered(case, 4, "", AlteredSetting("min.insync.replicas", None, DELETE)) == error


@VERSIONS
def test_a_setting_of_the_topic_enables_unclean_elections(version: str) -> None:
    for layers, elected in (({"unclean_leader_election_enable": "true"}, 1), ({}, -1)):
        case = cluster(version, eligible_leader_replicas_version=0)
        case.create("t", [0, 1], **layers)
        case.alter([0])
        case.heartbeat(0, want_fence=True)
        assert case.partition().leader == elected


def test_before_3_9_the_setting_has_no_effect() -> None:
    case = cluster("3.8", unclean_leader_election_enable=True)
    case.create("t", [0, 1])
    case.alter([0])
    case.heartbeat(0, want_fence=True)
    assert case.partition().leader == -1
