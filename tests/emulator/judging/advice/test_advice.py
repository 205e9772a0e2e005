"""Advice: what is found from settings alone, why, and what ends it.
Each test plays a few faults; all of them are `faultline advise`.
"""

from pathlib import Path

import msgspec
import pytest

from emulator.cli.command_options import AdviseOptions
from emulator.cli.commands.advise import advise_command
from emulator.exit_codes import UNUSABLE
from emulator.judging.advice.advice import Advice, advise, options_of
from emulator.judging.advice.advice_runs import AdviceWorker, Choice, FaultPlayer, base_of, text_of
from emulator.judging.advice.outcomes import Outcome
from emulator.judging.advice.remedies import changed, changes, ends, parts_for
from emulator.judging.campaigns.campaign_runs import CampaignOptions, CampaignWorker
from emulator.judging.campaigns.space import Space
from emulator.scenario.load import load_scenario
from emulator.settings.setting_registry import UnusableSetting
from verification.mutants.mutant import applied
from verification.mutants.table import MUTANTS

FEW = ("min.insync.replicas=2", "log.flush.interval.messages=1")
"""Given, so that fewer changes are left to be tried."""
SAFE = ("producer.acks=all", "producer.enable.idempotence=true", "min.insync.replicas=2")


def advised(version: str, overrides: tuple[str, ...], *names: str, seeds: tuple[int, ...] = (2,)) -> Advice:
    """Of these faults alone."""
    choice = Choice(version, overrides)
    base = base_of(choice, version)
    faults = tuple(fault for fault in base.faults if fault.name in names)
    assert len(faults) == len(names), [fault.name for fault in base.faults]
    base = msgspec.structs.replace(base, faults=faults)
    return advise(options_of(choice, base, seeds), base, lambda: None, FaultPlayer(1))


def outcomes_of(version: str, overrides: tuple[str, ...], name: str) -> Outcome:
    """Of one fault with seed 1."""
    choice = Choice(version, overrides)
    requested = options_of(choice, base_of(choice, version), (1,))
    place = next(place for place, fault in enumerate(requested.faults) if fault.name == name)
    return AdviceWorker(requested).play(place)[1]


def test_a_follower_that_cuts_to_its_high_watermark_is_found_on_0_10_2_and_a_later_version_ends_it() -> None:
    fault = "az-1-is-cut-off-election"
    advice = advised("0.10.2", ("producer.acks=all", *FEW), fault)
    lost = next(one for one in advice.summaries[0].broken if one.check == "lost-acknowledged")
    assert "KIP-101" in lost.reason
    assert "acks=all" in lost.reason
    assert "--kafka-version 2.8" in " ".join(advice.remedies["lost-acknowledged", fault])


def test_what_acks_1_loses_when_the_leaders_az_is_cut_off() -> None:
    fault = "az-0-is-cut-off-load"
    advice = advised("2.8", ("producer.acks=1", *FEW), fault, seeds=(1, 2))
    lost = next(one for one in advice.summaries[0].broken if one.check == "lost-acknowledged")
    assert "acknowledged with acks=1" in lost.reason
    assert "producer.acks=all" in advice.remedies["lost-acknowledged", fault]


def test_a_loss_with_acks_0_has_no_reported_offset() -> None:
    reason = outcomes_of("2.8", ("producer.acks=0", *FEW), "az-0-is-cut-off-load").reasons["lost-acknowledged"]
    assert "was sent with acks=0 and written at offset" in reason and "broker-1 was elected" in reason


def test_an_unclean_election_is_named_and_ended() -> None:
    fault = "broker-0-crashes-alone"
    advice = advised("2.8", ("producer.acks=all", "unclean.leader.election.enable=true"), fault)
    lost = next(one for one in advice.summaries[0].broken if one.check == "lost-acknowledged")
    assert "unclean election" in lost.reason
    change = advice.remedies["lost-acknowledged", fault]
    assert len(change) == 1
    assert change[0] in ("unclean.leader.election.enable=false", "min.insync.replicas=2")


def test_flushing_helps_where_every_broker_loses_its_power_writes_and_reads() -> None:
    fault = "every-broker-loses-power-load"
    advice = advised("2.8", SAFE, fault)
    broken = {one.check: one.reason for one in advice.summaries[0].broken}
    assert list(broken) == ["lost-acknowledged", "read-then-lost"]
    assert "was read (times: 3)" in broken["read-then-lost"]
    assert all("with its power it lost what was not flushed" in reason for reason in broken.values())
    for check in broken:
        assert advice.remedies[check, fault] == ("log.flush.interval.messages=1",)


def test_min_insync_does_not_help_the_last_replica_standing_and_flushing_does() -> None:
    """KIP-966: the last replica in the ISR loses its power.
    With it goes what all three had acknowledged.
    """
    fault = "broker-0-loses-power-alone"
    advice = advised("2.8", SAFE, fault)
    lost = next(one for one in advice.summaries[0].broken if one.check == "lost-acknowledged")
    assert "acks=all" in lost.reason and "its ISR was [0, 1, 2] then" in lost.reason
    assert "with its power it lost what was not flushed" in lost.reason
    assert advice.remedies["lost-acknowledged", fault] == ("log.flush.interval.messages=1",)


@pytest.mark.parametrize("mutant", ["acks-all-as-1", "new-leader-cuts"])
def test_machines_that_are_wrong_are_found_under_safe_settings(mutant: str) -> None:
    fault = "az-0-is-cut-off-load"
    assert outcomes_of("2.8", SAFE, fault).broken == {}
    with applied(MUTANTS[mutant]):
        wrong = outcomes_of("2.8", SAFE, fault)
    assert wrong.broken["lost-acknowledged"] > 0 and "acks=all" in wrong.reasons["lost-acknowledged"]


@pytest.mark.parametrize(
    ("version", "overrides", "fault", "check"),
    [
        ("2.8", ("producer.acks=1", *FEW), "broker-0-is-paused-load", "lost-acknowledged"),
        ("2.8", SAFE, "every-broker-loses-power-idle", "read-then-lost"),
    ],
)
def test_a_change_keeps_the_promise_when_it_is_made_and_no_part_of_it_does(
    version: str, overrides: tuple[str, ...], fault: str, check: str
) -> None:
    """Played anew with the change among the settings that are asked about, as a person would."""
    before = outcomes_of(version, overrides, fault).broken
    change = advised(version, overrides, fault, seeds=(1,)).remedies[check, fault]

    def worse(parts: tuple[str, ...]) -> set[str]:
        made = changed(Choice(version, overrides), parts)
        try:
            broken = outcomes_of(made.kafka_version, made.overrides, fault).broken
        except UnusableSetting as refused:
            return {str(refused)}
        return {name for name in broken if name == check or name not in before}

    assert check in before and worse(change) == set()
    assert all(worse((part,)) for part in change if len(change) > 1)


def test_reads_wait_as_long_as_no_leader_answers_and_a_consumer_without_a_policy_stops_for_good() -> None:
    fault, unclean = "broker-0-crashes-alone", ("producer.acks=all", "unclean.leader.election.enable=true")
    read_on, stopped = (
        outcomes_of("2.8", (*unclean, f"consumer.auto.offset.reset={policy}"), fault) for policy in ("latest", "none")
    )
    assert read_on.reads.refused == {} and stopped.reads.refused == {"az-0": 1, "az-1": 1, "az-2": 1}
    for az, ms in read_on.reads.waited_ms.items():
        assert 20_000 < ms < stopped.reads.waited_ms[az]
    assert stopped.writes == read_on.writes


def test_a_client_cut_off_from_the_leader_reads_nothing_and_others_do() -> None:
    outcome = outcomes_of("2.8", SAFE, "az-1-is-cut-off-load")
    assert outcome.reads.waited_ms["az-1"] > 20_000 and outcome.broken == {}
    assert outcome.reads.waited_ms["az-0"] == outcome.reads.waited_ms["az-2"] == 0.0


def test_a_lost_answer_doubles_what_is_not_idempotent() -> None:
    fault = "broker-0-sends-to-client-0-is-lost-load"
    advice = advised("2.8", ("producer.acks=all",), fault)
    assert "duplicate" in {one.check for one in advice.summaries[0].broken}
    assert advice.remedies["duplicate", fault] == ("producer.enable.idempotence=true",)


def test_safe_settings_break_nothing_and_waiting_clients_are_named() -> None:
    names = ("az-0-is-cut-off-load", "broker-0-crashes-load", "broker-1-crashes-election")
    advice = advised("2.8", SAFE, *names)
    for summary in advice.summaries:
        assert summary.conclusive == summary.runs, summary.inconclusive
        assert summary.broken == ()
        assert max(summary.writes.waited_ms.values()) > 1_000.0
        assert max(summary.reads.waited_ms.values()) > 1_000.0


def test_the_scenario_of_a_fault_replays_to_the_same_broken_promise(tmp_path: Path) -> None:
    advice = advised("2.8", SAFE, "every-broker-loses-power-load")
    path = tmp_path / "every-broker-loses-power-load.yaml"
    path.write_text(text_of(advice.options, 0, 0), encoding="utf-8")
    space = Space(scenario=str(path), kafka_version="2.8", overrides=SAFE, first_seed=2)
    row = CampaignWorker(CampaignOptions(space, golden="")).play(0)
    assert row.error == ""
    assert {one.check: one.verdict for one in row.checks}["lost-acknowledged"] == "violated"


def test_every_fault_is_a_scenario() -> None:
    choice = Choice("2.8")
    base = base_of(choice, "2.8")
    requested = options_of(choice, base, (1,))
    names = [fault.name for fault in base.faults]
    assert len(set(names)) == len(names)
    for place, name in enumerate(names):
        assert load_scenario(text_of(requested, 0, place), f"{name}.yaml").id == name


def test_a_change_is_the_last_word() -> None:
    choice = Choice("0.10.2", ("producer.acks=1", "min.insync.replicas=2"), ("server.properties",))
    assert changed(choice, ("producer.acks=all", "--kafka-version 2.8")) == Choice(
        "2.8", ("min.insync.replicas=2", "producer.acks=all"), ("server.properties",)
    )


def test_changes_grow_and_what_is_so_already_is_none() -> None:
    parts = parts_for({"producer.acks": "all", "producer.enable.idempotence": True}, "2.8", 3)
    words = [part.word for part in parts]
    assert words == ["min.insync.replicas=2", "log.flush.interval.messages=1"]
    assert list(changes(parts, 2)) == [tuple(words)]


def test_what_a_topic_has_of_its_own_is_changed_there() -> None:
    """It wins over its brokers', whose change would end nothing."""
    own = {"topic.min.insync.replicas": 1, "topic.unclean.leader.election.enable": True, "topic.flush.messages": 9}
    brokers = {"min.insync.replicas": 2, "unclean.leader.election.enable": False, "log.flush.interval.messages": 1}
    clients = {"producer.acks": "all", "producer.enable.idempotence": True}
    parts = parts_for({**brokers, **clients, **own}, "2.8", 1)
    in_sync, replicated = "topic.min.insync.replicas=2", "default.replication.factor=3"
    assert [part.word for part in parts] == [
        in_sync, "topic.unclean.leader.election.enable=false", replicated, "topic.flush.messages=1",
    ]  # fmt: skip
    assert [words for words in changes(parts, 2, replicas=1) if in_sync in words] == [(in_sync, replicated)]


def test_a_change_that_would_be_refused_is_no_advice() -> None:
    """With acks=all nothing would ever be written, so nothing would be lost."""
    fault = "az-0-is-cut-off-load"
    advice = advised("2.8", ("producer.acks=1", "min.insync.replicas=5"), fault, seeds=(1,))
    assert any(one.check == "lost-acknowledged" for one in advice.summaries[0].broken)
    assert not {"producer.acks=all", "producer.enable.idempotence=true"} & set().union(*advice.remedies.values())


def test_nothing_played_ends_nothing() -> None:
    assert not ends("duplicate", frozenset(), [])


@pytest.mark.parametrize(
    ("whose", "text", "reported"),
    [
        ("broker", "broker.id=0\nmin.insync.replica=2", ":2: unknown setting 'min.insync.replica'; nearest: min."),
        ("consumer", "group.id=g\nauto.offset.rest=latest", ":2: unknown setting 'auto.offset.rest'; nearest: auto.of"),
        ("consumer", "auto.offset.reset=first", ":1: consumer.auto.offset.reset: expected one of latest, "),
        ("consumer", "session.timeout.ms=9\nheartbeat.interval.ms=9", ":1: heartbeat.interval.ms=9 must be less than"),
        ("producer", "acks=1\nenable.idempotence=true", "producer:2: enable.idempotence=true needs acks=all"),
        ("producer", "request.timeout.ms=30\ndelivery.timeout.ms=20", "delivery.timeout.ms 20 is less than linger.ms"),
        ("broker", "replica.lag.time.max.ms=100", ":1: replica.fetch.wait.max.ms=500 must not be more than replica"),
    ],
)
def test_an_error_in_a_file_is_reported_with_its_line_and_rule(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], whose: str, text: str, reported: str
) -> None:
    file = tmp_path / f"{whose}.properties"
    file.write_text(text + "\n", encoding="utf-8")
    assert advise_command((f"{whose}:{file}",), AdviseOptions()) == UNUSABLE
    assert reported in capsys.readouterr().err.replace(f"{whose}.properties", whose)
