"""Pairs of faults: which there are, and what only they find."""

from itertools import islice

import msgspec
import pytest

from emulator.judging.advice.advice import PairsAdvice, advise, advise_pairs, options_of
from emulator.judging.advice.advice_runs import AdviceWorker, Base, Choice, FaultPlayer, base_of, text_of
from emulator.judging.advice.availability import Waits
from emulator.judging.advice.loss_causes import causes_of
from emulator.judging.advice.pairs import drawn, pairs_of
from emulator.judging.advice.single_faults import single_faults
from emulator.judging.advice.summary import Broken, FaultSummary
from emulator.scenario.load import load_scenario

SAFE = ("producer.acks=all", "producer.enable.idempotence=true", "min.insync.replicas=2")
UNCLEAN = ("producer.acks=1", "unclean.leader.election.enable=true", "default.replication.factor=2")
FLUSHED = "log.flush.interval.messages=1"
LOADED = 40
"""Of the scenarios, read again; all of them take half a minute."""


def advice_request(version: str, overrides: tuple[str, ...], *names: str) -> tuple[Choice, Base, Base]:
    """(choice, base of all single faults, base of these pairs)"""
    choice = Choice(version, overrides)
    base = base_of(choice, version)
    faults = tuple(pair for pair in pairs_of(base.faults) if not names or pair.name in names)
    assert not names or len(faults) == len(names)
    return choice, base, msgspec.structs.replace(base, faults=faults)


def advised(
    version: str, overrides: tuple[str, ...], *names: str, singles: tuple[str, ...] = (), limit: int | None = None
) -> PairsAdvice:
    choice, base, of_pairs = advice_request(version, overrides, *names)
    alone = msgspec.structs.replace(base, faults=tuple(one for one in base.faults if one.name in singles))
    assert len(alone.faults) == len(singles)
    known = advise(options_of(choice, alone, (1,)), alone, lambda: None, FaultPlayer(1)).summaries if singles else []
    return advise_pairs(options_of(choice, of_pairs, (1,)), of_pairs, known, lambda: True, FaultPlayer(1), limit)


def test_every_two_faults_of_one_moment_are_a_pair_in_both_orders_unless_they_end_the_same_machine() -> None:
    faults = single_faults(6_000.0, 30_000.0)
    pairs = list(pairs_of(faults))
    apart = sum(
        one.moment == other.moment and not set(one.ends) & set(other.ends)
        for place, one in enumerate(faults)
        for other in faults[:place]
    )
    assert len(pairs) == 5 * apart > 4_000
    names = [pair.name for pair in pairs]
    assert len(set(names)) == len(names) and max(map(len, names)) <= 100
    assert all(len(set(pair.ends)) == len(pair.ends) for pair in pairs)


def test_pairs_are_scenarios() -> None:
    choice, _, base = advice_request("2.8", ())
    requested = options_of(choice, base, (1,))
    for _, place, _ in drawn(requested.runs, LOADED):
        name = requested.faults[place].name
        assert load_scenario(text_of(requested, 0, place), f"{name}.yaml").id == name


def test_what_is_drawn_is_always_the_same_and_nothing_twice() -> None:
    runs = [(0, place, 1) for place in range(50)]
    assert drawn(runs, 20) == drawn(runs, 20) == drawn(runs, 99)[:20] and sorted(drawn(runs, 99)) == runs


def test_a_promise_that_one_fault_breaks_alone_is_not_repeated() -> None:
    alone, fresh = "every-broker-loses-power-load", "broker-1-crashes-2-s-later-broker-2-loses-power-election"
    second = "every-broker-loses-power-2-s-later-client-1-sends-to-broker-0-is-lost-load"
    found = advised("2.8", SAFE, second, fresh, singles=(alone, "broker-2-loses-power-election"))
    assert (found.played, found.of, found.known) == (2, 2, 2)
    assert [(cause.check, cause.faults) for cause in found.causes] == [
        ("lost-acknowledged", (fresh,)), ("read-then-lost", (fresh,)),
    ]  # fmt: skip
    assert found.advice.remedies == {(cause.check, fresh): (FLUSHED,) for cause in found.causes}


def test_kafka_6361_is_found_on_1_1_and_not_on_2_8() -> None:
    """Semantics 8: one question about one epoch does not find where two logs part."""
    pair = "az-0-is-cut-off-35-s-later-broker-1-crashes-load"
    found = {}
    for version in ("1.1", "2.8"):
        choice, _, base = advice_request(version, UNCLEAN, pair)
        found[version] = AdviceWorker(options_of(choice, base, (1,))).play(0)[1]
    assert "replica-divergence" in found["1.1"].broken and "replica-divergence" not in found["2.8"].broken
    reason = found["1.1"].reasons["replica-divergence"]
    assert "KAFKA-6361" in reason and "kept what that one did not have" in reason


def test_a_cause_is_reported_once_and_its_change_is_tried_in_every_pair() -> None:
    pairs = [f"session-{session}-crashes-2-s-later-every-broker-loses-power-load" for session in range(3)]
    found = advised("2.8", SAFE, *pairs)
    lost = [cause for cause in found.causes if cause.check == "lost-acknowledged"]
    assert sum(len(cause.faults) for cause in lost) == len(pairs) > len(lost)
    assert all(found.advice.remedies["lost-acknowledged", pair] == (FLUSHED,) for pair in pairs)


@pytest.mark.parametrize(("limit", "go_on", "played"), [(3, True, 3), (None, False, 1)])
def test_a_bound_leaves_a_sample(limit: int | None, go_on: bool, played: int) -> None:
    names = [f"session-0-crashes-at-once-session-{other}-crashes-load" for other in (1, 2)]
    names += [f"session-0-crashes-2-s-later-session-{other}-crashes-load" for other in (1, 2)]
    choice, _, base = advice_request("2.8", SAFE, *names)
    requested = options_of(choice, base, (1,))
    found = advise_pairs(requested, base, [], lambda: go_on, FaultPlayer(1), limit)
    assert (found.played, found.of, len(found.advice.summaries)) == (played, 4, played)


def test_an_interrupt_reports_the_runs_played_so_far() -> None:
    pair = "session-0-crashes-at-once-session-1-crashes-load"
    choice, _, base = advice_request("2.8", SAFE, pair)

    def interrupted() -> bool:
        raise KeyboardInterrupt

    found = advise_pairs(options_of(choice, base, (1, 2)), base, [], interrupted, FaultPlayer(1))
    assert (found.played, found.of, found.causes) == (1, 2, [])


def test_a_cause_is_one_however_many_brokers_are_named() -> None:
    """The size of an ISR, or the replicas of one of two batches, is no other cause."""
    by = "x.1 was acknowledged with acks=all at offset 3 by broker-0, leading in epoch 0; its ISR was {} then; {}"
    cut, late = "broker-2 had cut its log to 4 (KIP-101)", "broker-1 was elected for epoch 1 and did not have it"
    parted = "at offset 39 the replicas hold different batches: {} of epoch 0, {} of epoch 1; broker-1 kept it"
    reasons = [
        by.format("[0, 1, 2]", cut), by.format("[0, 1]", cut), by.format("[0]", late), by.format("[0, 2]", late),
        parted.format("broker-0", "broker-1"), parted.format("broker-0 and broker-2", "broker-1"),
    ]  # fmt: skip
    quiet = Waits()
    pairs = islice(pairs_of(single_faults(6_000.0, 30_000.0)), len(reasons))
    summaries = [
        FaultSummary(
            fault=pair, runs=1, conclusive=1, inconclusive="", writes=quiet, reads=quiet,
            broken=(Broken("lost-acknowledged", 1, 1, 1, reason),),
        )
        for pair, reason in zip(pairs, reasons, strict=True)
    ]  # fmt: skip
    causes = causes_of(summaries)
    assert [len(cause.faults) for cause in causes] == [2, 2, 2]
    assert all("… …" not in cause.text for cause in causes)
