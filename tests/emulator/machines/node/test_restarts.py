"""A node starts with another binary or other settings.
What it is told then, and what is refused (semantics 4.6).
"""

from typing import Any

import pytest

from emulator.machines.node.restarts import UnusableStart, restarted, start_details
from emulator.machines.node.specs import RunSpec
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario

PROTOCOL = "inter.broker.protocol.version"


def spec(version: str = "2.6", **settings: Any) -> RunSpec:
    given = {name.replace("_", "."): value for name, value in settings.items()}
    return resolve(find_scenario("rolling-restart"), version, given).spec


def test_defaults_are_the_new_binarys_and_what_was_given_stays() -> None:
    before = spec("2.6")
    after = restarted(before, "broker-1", "2.8", {}).spec
    assert (after.binary("broker-1"), after.protocol("broker-1")) == ("2.8", "2.8")
    assert after.settings["broker-1"]["zookeeper.session.timeout.ms"] == 6000
    assert after.gates("broker-1").alter_isr and not after.gates("broker-0").alter_isr
    assert (after.settings["broker-0"], after.kafka_version) == (before.settings["broker-0"], "2.6")
    assert after.versions() == ("2.6", "2.8")


def test_changes_stay_for_later_starts() -> None:
    first = restarted(spec("2.6"), "broker-1", "2.8", {PROTOCOL: "2.6"}).spec
    assert (first.protocol("broker-1"), first.gates("broker-1").alter_isr) == ("2.6", False)
    second = restarted(first, "broker-1", "", {"replica.lag.time.max.ms": 5000}).spec
    assert (second.binary("broker-1"), second.protocol("broker-1")) == ("2.8", "2.6")
    third = restarted(second, "broker-1", "", {PROTOCOL: None}).spec
    assert (third.protocol("broker-1"), third.settings["broker-1"]["replica.lag.time.max.ms"]) == ("2.8", 5000)
    assert restarted(third, "broker-1", "", {}).spec == third


def test_the_event_of_the_start_has_versions_and_settings() -> None:
    after = restarted(spec("2.6"), "broker-1", "2.8", {PROTOCOL: "2.6", "min.insync.replicas": 1}).spec
    binary, protocol, settings = start_details(after, "broker-1")
    assert (binary, protocol) == ("2.8", "2.6")
    assert f"{PROTOCOL}=2.6" in settings.split() and "min.insync.replicas=1" in settings.split()
    assert start_details(after, "session-0") == ("", "", "")


def test_settings_unknown_to_the_new_binary_are_dropped_with_a_warning() -> None:
    done = restarted(spec("0.10.2"), "broker-0", "", {"replica.selector.class": "x"})
    assert "replica.selector.class" not in done.spec.settings["broker-0"]
    assert [one.name for one in done.account.dropped] == ["replica.selector.class"]


@pytest.mark.parametrize(
    ("version", "change", "node", "why"),
    [
        ("2.6", {"version": "2.88"}, "broker-0", "unknown Kafka version '2.88'"),
        ("2.6", {"replica.lag.time.max": 1}, "broker-0", "nearest: replica.lag.time.max.ms"),
        ("2.6", {"topic.min.insync.replicas": 1}, "broker-0", "a topic's setting"),
        ("2.6", {"broker.id": 7}, "broker-0", "broker.id is set here"),
        ("2.6", {"log.dirs": "a,b"}, "broker-0", "cannot change; leave it out"),
        ("2.6", {PROTOCOL: "2.8"}, "broker-0", "is newer than the binary 2.6"),
        ("2.6", {"version": "2.8"}, "session-0", "neither broker nor controller"),
        ("2.8", {"version": "2.6"}, "broker-0", "no way back to 2.6"),
        ("0.10.2", {"version": "1.1"}, "broker-0", "from format 1 to 2.*format.version has to stay at 0.10.2"),
        ("1.1", {PROTOCOL: "0.10.2"}, "broker-0", "from format 2 to 1"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(version: str, change: dict[str, Any], node: str, why: str) -> None:
    settings = dict(change)
    binary = settings.pop("version", "")
    with pytest.raises(UnusableStart, match=f"(?s){node}.*{why}"):
        restarted(spec(version), node, binary, settings)


@pytest.mark.parametrize("version", ["0.11", "1.1", "2.8"])
def test_with_the_message_format_kept_no_epoch_is_known_whatever_brokers_speak(version: str) -> None:
    """As the upgrade notes want it while clients are old.
    KIP-101 begins with the format, not with the protocol.
    """
    before = spec("0.10.2", log_message_format_version="0.10.2")
    after = restarted(before, "broker-0", version, {})
    gates = after.spec.gates("broker-0")
    assert (gates.record_magic, gates.has_epoch_cache, gates.wrapper_reads_whole) == (1, False, True)
    assert gates.inter_broker_protocol == version and not gates.truncates_to_high_watermark
    assert not after.account.not_modelled, "the format is what the clients of this run write"


def test_a_binary_is_taken_back_while_the_protocol_is_still_the_older_ones() -> None:
    up = restarted(spec("2.6"), "broker-2", "2.8", {PROTOCOL: "2.6"}).spec
    down = restarted(up, "broker-2", "2.6", {}).spec
    assert (down.binary("broker-2"), down.protocol("broker-2")) == ("2.6", "2.6")


def test_on_a_command_line_an_unknown_setting_of_the_version_is_an_error() -> None:
    with pytest.raises(UnusableStart, match=r"not a setting of Kafka 0\.10\.2"):
        restarted(spec("0.10.2"), "broker-0", "", {"replica.selector.class": "x"}, insists=["replica.selector.class"])
