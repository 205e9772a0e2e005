"""Settings of the quorum by Kafka's names."""

import pytest

from controller.quorum.settings import QuorumSettings, static_voters


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
