"""Advice as it might be, without anything played.
Two faults, one of which breaks two promises.
"""

from msgspec.structs import replace

from emulator.judging.advice.advice import Advice, PairsAdvice, options_of
from emulator.judging.advice.advice_cluster import THREE_AZS
from emulator.judging.advice.advice_output import AdviceReport
from emulator.judging.advice.advice_runs import Base, Choice
from emulator.judging.advice.availability import Waits
from emulator.judging.advice.loss_causes import causes_of
from emulator.judging.advice.pairs import pairs_of
from emulator.judging.advice.single_faults import single_faults
from emulator.judging.advice.summary import Broken, FaultSummary

LOST, READ = "lost-acknowledged", "read-then-lost"
AZS = ("az-0", "az-1", "az-2")


def sample_advice() -> AdviceReport:
    first, second, third = single_faults(6_000.0, 30_000.0)[:3]
    first = replace(first, text="<b>broker-0</b> loses power")
    faults, left_open = (first, second, third), {"producer.acks": "1"}
    base = Base(THREE_AZS, "2.8", 3, {"min.insync.replicas": 2}, left_open, faults, ("a & b",))
    quiet = Waits(dict.fromkeys(AZS, 0.0))
    broken = (Broken(LOST, 1, 3, 2, "its <tail> went"), Broken(READ, 3, 3, 1, "it was read"))
    summaries = [
        FaultSummary(fault=first, runs=3, conclusive=3, inconclusive="", broken=broken, writes=quiet, reads=quiet),
        FaultSummary(
            fault=second,
            runs=3,
            conclusive=2,
            inconclusive="a wait was not reached",
            broken=(),
            writes=Waits({**quiet.waited_ms, "az-1": 18_900.0}, {"az-1": 4}),
            reads=Waits({**quiet.waited_ms, "az-2": 61_000.0}, {"az-2": 1}),
        ),
        FaultSummary(fault=third, runs=3, conclusive=3, inconclusive="", broken=(), writes=quiet, reads=quiet),
    ]
    requested = options_of(Choice("2.8"), base, (1, 2, 3))
    advice = Advice(requested, summaries, {(LOST, first.name): ("a=1", "b=2")}, 40)
    return AdviceReport(advice, base, {first.name: "faultline run 'x y.yaml'"})


def sample_pair_advice(count: int = 7) -> AdviceReport:
    """The same, with `count` pairs that break one promise for one cause.
    One more is ended by nothing.
    """
    single = sample_advice()
    pairs = list(pairs_of(single_faults(6_000.0, 30_000.0)))[: count + 1]
    *alike, last = pairs
    quiet = Waits(dict.fromkeys(AZS, 0.0))
    summaries = [
        FaultSummary(
            fault=pair,
            runs=1,
            conclusive=1,
            inconclusive="",
            broken=(Broken(LOST, 1, 1, 1, f"record-{place} went" if pair is not last else "an <unknown> cause"),),
            writes=quiet,
            reads=quiet,
        )
        for place, pair in enumerate(pairs)
    ]
    base = replace(single.base, faults=tuple(pairs))
    remedies: dict[tuple[str, str], tuple[str, ...]] = {(LOST, pair.name): ("c=3",) for pair in alike[:-1]}
    advice = Advice(options_of(Choice("2.8"), base, (1,)), summaries, remedies, 11)
    found = PairsAdvice(advice, causes_of(summaries), len(pairs), 4_680, 2)
    replays = {**single.replays, **{pair.name: f"faultline run {pair.name}.yaml" for pair in pairs}}
    return replace(single, replays=replays, pairs=found)
