"""Plays the loss of each data center of a layout, and sums up what clients elsewhere see."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from emulator.judging.advice.advice_runs import AdviceOptions, Base, Choice, FaultPlayer, base_of
from emulator.judging.advice.availability import Waits
from emulator.judging.advice.outcomes import Outcome
from emulator.judging.advice.single_faults import MARGIN_S, Fault
from emulator.judging.layouts.known_layouts import Layout

LOSSES: Final = ("crashes", "is cut off", "loses power")
"""Kinds of losses of a data center."""


class Loss(msgspec.Struct, frozen=True):
    """Outcome of one kind of loss of one data center.

    `writes_ms`, `reads_ms`: the longest wait of clients in the others; None: it lasts as long as the loss, or writes
    fail. `broken`: promises broken. `inconclusive`: why no run says more.
    """

    az: str
    kind: str
    fault: str
    writes_ms: float | None = None
    reads_ms: float | None = None
    broken: tuple[str, ...] = ()
    inconclusive: str = ""


def base_of_layout(layout: Layout, choice: Choice, metadata: str) -> tuple[Base, Choice]:
    """The facts of a layout, and the choice with its settings.

    Those of the user take precedence.
    """
    version = choice.kafka_version
    own = tuple(word for word in layout.settings(version) if word.partition("=")[0] not in choice.names)
    choice = msgspec.structs.replace(choice, overrides=(*own, *choice.overrides))
    return base_of(choice, version, layout.cluster(metadata, version)), choice


def losses_of(base: Base) -> tuple[Fault, ...]:
    """The faults that take a whole data center, under load."""
    texts = {f"{az} {kind}" for az in base.cluster.topology.azs for kind in LOSSES}
    lasting_s = max(fault.lasts_s for fault in base.faults) + MARGIN_S
    return tuple(
        msgspec.structs.replace(fault, lasts_s=lasting_s)
        for fault in base.faults
        if fault.text in texts and fault.moment == "load"
    )


def play_losses(
    base: Base, choice: Choice, seeds: Sequence[int], player: FaultPlayer, ended: Callable[[], bool | None]
) -> list[Loss]:
    """Each loss with its worst seed, in the order of the faults."""
    faults = losses_of(base)
    options = AdviceOptions(
        cluster=base.cluster, choices=(choice,), faults=faults, replicas=(base.replicas,), left_open=base.left_open,
        runs=tuple((0, place, seed) for place in range(len(faults)) for seed in seeds),
    )  # fmt: skip
    outcomes: dict[str, list[Outcome]] = {fault.name: [] for fault in faults}
    player.play(options, lambda _, outcome: outcomes[outcome.fault].append(outcome), ended)
    return [loss_of(fault, outcomes[fault.name]) for fault in faults]


def loss_of(fault: Fault, outcomes: Sequence[Outcome]) -> Loss:
    """The worst of all seeds. The clients of the lost data center itself do not count."""
    az, _, kind = fault.text.partition(" ")
    conclusive = [one for one in outcomes if not one.inconclusive]
    if not conclusive:
        return Loss(az, kind, fault.name, inconclusive=next((one.inconclusive for one in outcomes), "no run"))
    return Loss(
        az, kind, fault.name,
        writes_ms=_longest(az, fault, (one.writes for one in conclusive)),
        reads_ms=_longest(az, fault, (one.reads for one in conclusive)),
        broken=tuple(sorted({name for one in conclusive for name in one.broken})),
    )  # fmt: skip


def _longest(az: str, fault: Fault, waits: Iterable[Waits]) -> float | None:
    longest = 0.0
    for one in waits:
        if any(count for place, count in one.refused.items() if place != az):
            return None
        longest = max([longest, *(ms for place, ms in one.waited_ms.items() if place != az)])
    return longest if longest < fault.lasts_s * 1000.0 else None
