"""Clients' time-outs: candidates, the choice among waits, takeovers, and the command."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from emulator.cli.app import app
from emulator.exit_codes import BROKEN, UNUSABLE
from emulator.judging.advice.advice_cluster import of_counts
from emulator.judging.advice.advice_runs import Choice, base_of
from emulator.judging.advice.availability import Waits
from emulator.judging.advice.outcomes import Outcome
from emulator.judging.advice.single_faults import Fault
from emulator.judging.timeouts.group_takeover import takeover_of
from emulator.judging.timeouts.timeout_choice import (
    Chosen,
    Measured,
    candidates,
    chosen,
    delivery_timeout_ms,
    failed_in_time,
    faults_to_outlast,
    measured,
    session_timeout_ms,
    sessions,
    slow_faults,
    with_others,
)
from emulator.judging.timeouts.timeout_runs import TakeoverOptions, added, play_takeovers
from emulator.topology import KRAFT
from protocol.events import GroupMemberChanged, MachineFault

CUT, PAUSED, CRASH = ("cut", "az-0"), ("paused", "az-1"), ("crash", "az-1")
LASTS_MS = {"cut": 40_000.0, "paused": 40_000.0, "crash": 40_000.0}


def test_candidates_are_the_present_one_and_those_that_can_help() -> None:
    assert candidates(30_000, 15_000) == (30_000, 15_000, 10_000, 7_000, 5_000, 3_000, 2_000)
    assert candidates(5_000, 60_000) == (5_000, 3_000, 2_000)
    assert candidates(1_000, 1_000) == (1_000,)
    assert sessions(10_000, 6_000, 1_800_000, 15_000) == (10_000, 15_000, 6_000)
    assert sessions(45_000, 6_000, 8_000, 60_000) == (45_000, 6_000)


def test_the_longest_time_out_is_chosen_with_which_all_recover_that_can() -> None:
    tried = [
        (30_000, {CUT: 41_000.0, PAUSED: 31_000.0, CRASH: 9_000.0}),
        (10_000, {CUT: 41_000.0, PAUSED: 12_000.0, CRASH: 9_000.0}),
        (3_000, {CUT: 41_000.0, PAUSED: 5_000.0, CRASH: 9_000.0}),
    ]
    assert chosen(tried, 15_000, LASTS_MS) == Chosen(10_000, 12_000.0, {}, (CUT,))
    assert chosen(tried, 6_000, LASTS_MS) == Chosen(3_000, 5_000.0, {CRASH: 9_000.0}, (CUT,))
    assert chosen(tried, 2_000, LASTS_MS) == Chosen(30_000, 0.0, {PAUSED: 31_000.0, CRASH: 9_000.0}, (CUT,))


def test_where_no_candidate_is_best_everywhere_the_shortest_is_taken() -> None:
    """One recovers only with a long time-out, another one only with a short one."""
    tried = [(30_000, {PAUSED: 31_000.0, CRASH: 1_000.0}), (3_000, {PAUSED: 5_000.0, CRASH: 20_000.0})]
    assert chosen(tried, 15_000, LASTS_MS) == Chosen(3_000, 20_000.0, {}, ())


def test_only_slow_faults_are_played_with_other_candidates() -> None:
    present = Measured(30_000, {CUT: 1_000.0, PAUSED: 31_000.0}, {PAUSED: 2_000.0})
    assert slow_faults(present, 15_000) == {"paused"}
    other = with_others(Measured(3_000, {PAUSED: 5_000.0}), present)
    assert other.writes == {CUT: 1_000.0, PAUSED: 5_000.0}
    assert other.reads == {}


def test_the_worst_seed_counts_and_an_inconclusive_run_does_not() -> None:
    found = measured(
        3_000,
        [
            Outcome(fault="crash", seed=1, writes=Waits({"az-0": 1_500.0}, {"az-0": 1})),
            Outcome(fault="crash", seed=2, writes=Waits({"az-0": 4_500.0}), reads=Waits({"az-0": 0.0})),
            Outcome(fault="cut", seed=1, inconclusive="no verdict"),
        ],
    )
    crash = ("crash", "az-0")
    assert found == Measured(3_000, {crash: 4_500.0}, {crash: 0.0}, {crash: 1}, {"cut": "no verdict"})
    assert [*failed_in_time(found, Chosen(3_000, 0.0, {}, ()))] == [(crash, 1)]
    assert [*failed_in_time(found, Chosen(3_000, 0.0, {}, (crash,)))] == []


def test_a_write_has_time_for_its_wait_and_one_more_attempt() -> None:
    assert delivery_timeout_ms(7_200.0, 5_000, 5.0, 100.0) == 13_000
    assert delivery_timeout_ms(0.0, 30_000, 0.0, 0.0) == 30_000
    assert session_timeout_ms({45_000: 47_000.0, 10_000: 12_000.0, 6_000: 5_000.0}, 15_000) == 10_000
    assert session_timeout_ms({10_000: 12_000.0}, 5_000) is None


def test_every_fault_lasts_longer_than_the_wanted_recovery() -> None:
    base = base_of(Choice("2.8"), "2.8")
    faults = faults_to_outlast(base.faults, 120_000)
    assert faults and all(fault.lasts_s > 120 and fault.moment == "load" for fault in faults)


def changed(client: str, change: str, partitions: str, at_ms: float) -> tuple[Any, ...]:
    event = GroupMemberChanged(
        group="readers", member=client, instance="", generation=1, change=change, partitions=partitions, reason="",
    )  # fmt: skip
    return client, 0, 0, 0, at_ms, event


def test_a_takeover_ends_when_others_have_every_partition() -> None:
    death = ("injector", 0, 0, 0, 100.0, MachineFault("kill", "client-1"))
    held = [changed("client-1", "assigned", "t-0,t-1,t-2", 1.0), changed("client-1", "revoked", "t-2", 2.0)]
    later = [changed("client-0", "assigned", "t-0", 300.0), changed("client-2", "assigned", "t-1", 450.0)]
    assert takeover_of(6_000, [*held, death, *later]).waited_ms == 350.0
    assert takeover_of(6_000, [*held, death, later[0]]).why == "no other consumer has t-1"
    assert takeover_of(6_000, [death, *later]).why == "client-1 had no partition when it died"
    back = changed("client-1", "assigned", "t-0,t-1", 500.0)
    assert takeover_of(6_000, [*held, death, back]).waited_ms is None


def test_a_later_override_replaces_an_earlier_one() -> None:
    choice = Choice("2.8", ("producer.acks=all", "producer.request.timeout.ms=1"))
    assert added(choice, "producer.request.timeout.ms=2").overrides == (
        "producer.acks=all", "producer.request.timeout.ms=2",
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("version", "metadata"), [("2.8", "zookeeper"), ("4.4", KRAFT)])
def test_a_dead_consumers_partitions_are_taken_over_after_its_session(version: str, metadata: str) -> None:
    choice = Choice(version, ("producer.acks=all",))
    base = base_of(choice, version, of_counts(3, 3, metadata))
    options = TakeoverOptions(
        cluster=base.cluster, choice=choice, replicas=base.replicas, left_open=base.left_open, runs=((6_000, 1),)
    )
    [takeover] = play_takeovers(options, 1, lambda: True)
    assert takeover.waited_ms is not None and 4_000 < takeover.waited_ms < 12_000, takeover


def run(*words: str) -> int:
    code: Any = app(["plan", "timeouts", *words], result_action="return_value")
    return int(code)


@pytest.mark.slow
def test_the_command_advises_and_says_what_no_time_out_helps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session of 18 s with ZooKeeper: no client recovers from a crash within 12 s."""
    played = {"broker-0-crashes-load", "az-1-is-cut-off-load"}

    def some(faults: Iterable[Fault], within_ms: int) -> tuple[Fault, ...]:
        return tuple(fault for fault in faults_to_outlast(faults, within_ms) if fault.name in played)

    monkeypatch.setattr("emulator.cli.commands.plan_timeouts.faults_to_outlast", some)
    monkeypatch.chdir(tmp_path)
    words = ("--kafka-version", "2.8", "--brokers", "2", "--azs", "2", "--seeds", "1", "--set", "producer.acks=all")
    assert run(*words, "--within", "12s", "--json") == BROKEN
    document = msgspec.json.decode(capsys.readouterr().out)
    settings = {one["name"]: one for one in document["settings"]}
    request = settings["producer.request.timeout.ms"]["advised"]
    assert settings["producer.delivery.timeout.ms"]["advised"] >= request
    late = {one["fault"] for one in document["late_ms"]}
    assert "broker-0-crashes-load" in late and late <= document["replay"].keys()
    assert ["az-1-is-cut-off-load", "az-1"] in document["lasting"]
    assert (tmp_path / "runs/timeouts/broker-0-crashes-load.yaml").is_file()


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--within", "soon"), "--within 'soon': expected a time such as 90s, 10m or 1h"),
        (("--within", "11m"), "--within 11m: must be from 1s to 10m"),
        (("--kafka-version", "2.0"), "Kafka 2.0.1: producers have no delivery.timeout.ms before 2.1"),
        (("--kafka-version", "9.9"), "unknown Kafka version '9.9'"),
    ],
)
def test_what_it_cannot_use_is_one_line(words: tuple[str, ...], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*words) == UNUSABLE
    assert f"faultline plan timeouts: {error}" in capsys.readouterr().err
