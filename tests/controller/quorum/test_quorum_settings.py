"""Settings of the quorum by Kafka's names, and the releases of its features."""

import pytest

from controller.quorum.quorum_features import RELEASES, features_of
from controller.quorum.settings import QuorumSettings, static_voters
from protocol.versions import UnknownVersion


def test_defaults_are_kafkas() -> None:
    assert QuorumSettings() == QuorumSettings(
        election_timeout_ms=1000, fetch_timeout_ms=2000, election_backoff_max_ms=1000, request_timeout_ms=2000,
        retry_backoff_ms=20, append_linger_ms=25,
    )  # fmt: skip


def test_settings_have_kafkas_names() -> None:
    names = {
        "controller.quorum.election.timeout.ms": 1, "controller.quorum.fetch.timeout.ms": "2",
        "controller.quorum.election.backoff.max.ms": 3, "controller.quorum.request.timeout.ms": 4,
        "controller.quorum.retry.backoff.ms": 5, "controller.quorum.append.linger.ms": 6, "node.id": 7,
    }  # fmt: skip
    assert QuorumSettings.from_settings(names) == QuorumSettings(
        election_timeout_ms=1, fetch_timeout_ms=2, election_backoff_max_ms=3, request_timeout_ms=4, retry_backoff_ms=5,
        append_linger_ms=6,
    )  # fmt: skip


def test_static_voters() -> None:
    assert static_voters("0@c0:9093, 2@[::1]:9093") == {0: "c0:9093", 2: "[::1]:9093"}
    assert static_voters("") == {}


@pytest.mark.parametrize("text", ["0", "0@c0", "x@c0:9093", "-1@c0:9093", "0@:9093", "0@c0:x", "0@c0:1,0@c1:1"])
def test_other_voters_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"controller\.quorum\.voters"):
        static_voters(text)


SINCE = {
    "pre_vote": "4.0", "check_quorum": "3.7", "begins_to_silent_voters_only": "4.2", "voters_probe": "3.9",
    "high_watermark_completes_fetches": "4.1", "leads_after_change_record": "3.6",
}  # fmt: skip
UNTIL = {"voted_is_a_state": "3.8", "begins_until_acknowledged": "3.8", "resigned_is_notified": "3.8"}


@pytest.mark.parametrize("release", RELEASES)
def test_features_by_release(release: str) -> None:
    place = RELEASES.index
    expected = {name: place(release) >= place(first) for name, first in SINCE.items()}
    expected |= {name: place(release) <= place(last) for name, last in UNTIL.items()}
    expected["short_first_backoff"] = release == "3.9"
    features = features_of(release)
    assert {name: getattr(features, name) for name in features.__struct_fields__} == expected
    assert features_of(f"{release}.1") == features


@pytest.mark.parametrize("version", ["2.8", "3.2", "", "4", "5.0"])
def test_a_version_without_a_quorum_is_unknown(version: str) -> None:
    with pytest.raises(UnknownVersion, match=r"one of: 3\.3"):
        features_of(version)
