"""Drawn transactions: files that are read back, judged runs, the rules of what they break."""

import pytest

from emulator.judging.explain.broken_promises import Broken
from emulator.judging.explain.run_history import LostTail
from emulator.judging.explain.transaction_rules import (
    LATE_BATCH,
    LATE_END,
    LOST_RECORDS,
    ZOMBIE_OFFSETS,
    Interference,
    broken_transactions,
    transaction_rule,
)
from emulator.judging.fuzzing.execute import tried
from emulator.judging.fuzzing.fault_generator import SPACE
from emulator.judging.fuzzing.finding_files import read, readable
from emulator.judging.fuzzing.fuzz_search import HuntOptions
from emulator.judging.oracle.transaction_facts import ProducerBatch
from emulator.judging.oracle.truth import Term, Truth
from emulator.scenario import scenario_model as m
from protocol.events import Event, ProducerTransactionChanged, TransactionStateChanged
from protocol.gates import gates_for
from protocol.ids import TopicPartition

PLACE: TopicPartition = ("t", 0)
STATES: TopicPartition = ("__transaction_state", 0)


def options(version: str, seed: int = 1) -> HuntOptions:
    return HuntOptions(version, seed, space=SPACE, transactions=True)


def test_drawn_transactions_are_read_back_and_differ(subtests: pytest.Subtests) -> None:
    for version in ("0.11", "2.8", "4.4"):
        with subtests.test(version):
            drawn = [options(version).scenario(number) for number in range(16)]
            for scenario in drawn:
                again = read(readable(scenario), scenario.id)
                assert again is not None, readable(scenario)
                assert (again.topology, again.settings) == (scenario.topology, scenario.settings)
                assert len(again.steps) == len(scenario.steps)
            loads = [step for scenario in drawn for step in scenario.steps if isinstance(step, m.Workload)]
            assert {bool(step.output) for step in loads} == {True, False}
            assert all(step.transactional_id or "transactional.id" in step.settings for step in loads)
            late = {step.apis for one in drawn for step in one.steps if isinstance(step, m.Delay)}
            assert {("EndTxn",), ("Produce",)} <= late


def test_without_transactions_schedules_are_as_before() -> None:
    plain = HuntOptions("2.8", space=SPACE).scenario(3)
    assert not any(isinstance(step, m.Workload) and step.transactional_id for step in plain.steps)
    assert "transaction.state.log.min.isr" not in plain.settings


@pytest.mark.parametrize("version", ["2.8", "4.4"])
def test_a_run_keeps_its_promises(version: str) -> None:
    trial = tried(options(version).scenario(1), 1)
    assert not trial.error and not trial.broken
    assert any("transaction_state_changed" in one and "CompleteCommit" in one for one in trial.reached)


def test_two_of_kafkas_own_errors_are_found_unaided(subtests: pytest.Subtests) -> None:
    """By schedules as drawn from the first seed."""
    for version, number, error, shown in (
        ("2.8", 105, "(KAFKA-14402)", True),
        ("3.6", 105, "(KAFKA-14402)", False),
        ("2.8", 125, "(KAFKA-17754)", True),
    ):
        with subtests.test(error, version=version):
            hunt = HuntOptions(version, 1, space=SPACE, metadata="zookeeper", transactions=True)
            trial = tried(hunt.scenario(number), number)
            assert not trial.bug and not trial.error
            assert any(error in one.rule for one in trial.broken) == shown


# --- rules ---


def timed(*events: Event) -> list[tuple[str, int, int, float, float, Event]]:
    return [("client-0", 1, number, 0.0, float(number), event) for number, event in enumerate(events)]


def client(change: str, transaction: str, epoch: int = 0) -> ProducerTransactionChanged:
    return ProducerTransactionChanged("x", transaction, 1, change, 7, epoch, "")


def coordinator(state: str, epoch: int = 0) -> TransactionStateChanged:
    return TransactionStateChanged(*STATES, "x", 7, epoch, state, "t-0", 0, 0, 0)


def test_a_transaction_that_another_one_has_ended_is_found(subtests: pytest.Subtests) -> None:
    begun = (client("begun", "T"), coordinator("Ongoing"))
    cases: dict[str, tuple[tuple[Event, ...], set[str]]] = {
        "its own commit": ((*begun, client("committing", "T"), coordinator("PrepareCommit")), set()),
        "a commit that it has not called": ((*begun, coordinator("PrepareCommit")), {"T"}),
        "an abort where it has called commit": (
            (*begun, client("committing", "T"), coordinator("PrepareAbort")), {"T"}
        ),
        "a fence raises the epoch": ((*begun, coordinator("PrepareAbort", epoch=1)), set()),
        "each end raises the epoch": ((*begun, coordinator("PrepareCommit", epoch=1)), set()),
    }  # fmt: skip
    for name, (events, expected) in cases.items():
        with subtests.test(name):
            assert Interference(timed(*events)).ended == expected


def hanging() -> tuple[Truth, Broken]:
    """A batch of an aborted transaction behind its marker, and what the check finds of it."""
    log = [
        ProducerBatch(0, 0, 1, 7, 0, "data"),
        ProducerBatch(1, 1, 2, 7, 0, "abort"),
        ProducerBatch(2, 2, 3, 7, 0, "data"),
    ]
    truth = Truth(producers={PLACE: {"broker-0": log}}, leaders=[Term(PLACE, "broker-0", 0, 0.0)])
    (found,) = broken_transactions(truth)
    assert (found.what, found.offset, found.producer_id) == ("hanging-transaction", 2, 7)
    return truth, found


def test_each_broken_promise_has_the_rule_of_its_version(subtests: pytest.Subtests) -> None:
    truth, hangs = hanging()
    late = timed(client("begun", "T"), coordinator("Ongoing"), coordinator("PrepareCommit"))
    unrequested = Broken("unrequested-commit", "", PLACE, 0, transaction="T")
    duplicate = Broken("duplicate-commit", "", PLACE, 0)
    lost = LostTail(1.0, 0, topic_partition=STATES, first=3, last=4)
    elsewhere = LostTail(1.0, 0, topic_partition=("u", 0), first=3, last=4)
    for name, version, broken, events, tails, expected in (
        ("a late batch before verification", "3.5", hangs, [], [], LATE_BATCH),
        ("verification refuses it", "3.6", hangs, [], [], ""),
        ("a late end", "3.9", unrequested, late, [], LATE_END),
        ("no late end", "3.9", unrequested, [], [], ""),
        ("offsets without a generation", "2.4", duplicate, [], [], ZOMBIE_OFFSETS),
        ("offsets with it", "2.5", duplicate, [], [], ""),
        ("a late end processes an input twice", "2.5", duplicate, late, [], LATE_END),
        ("states were lost", "3.6", hangs, [], [lost], LOST_RECORDS),
        ("another log has lost records", "3.6", hangs, [], [elsewhere], ""),
    ):
        with subtests.test(name):
            assert transaction_rule(gates_for(version), truth, events, tails, broken) == expected
