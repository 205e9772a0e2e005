"""Requirements of a soak. Pure: figures in, judgements out."""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from emulator.check_table import checks_despite
from verification.soak.process_memory import Trend

Held = bool | Literal["unknown"]

GROWTH_MIB = 4.0
"""Permitted growth of a node's memory from the first third of a run to the last, in MiB.

Independent of the run's length: buffers that settle, the allocator's reserve.
"""
GROWTH_MIB_PER_H = 6.0
"""Permitted growth by design, in MiB per hour.

A broker's index (16 bytes per 4 KiB of log), and a session server's log of transactions, which is truncated at 20,000.
"""
UNKNOWN_SHARE_MAX = 0.001
MUST_HOLD = checks_despite("cuts")
"""Checks of the audit that must hold.

Others are expected to be violated: a cut makes dual leaders and dual controllers, and a producer without idempotence
duplicates a record when a response is lost.
"""
EVENT_BYTES_PER_RECORD_MAX = 8_000
"""Permitted bytes of events per record.

A record of a hundred bytes has about ten events: invoked, sent, answered and ended, appended by three, read by three.
"""


class Counts(msgspec.Struct):
    """Records.

    `skipped`: never sent, because of too many in flight, or a client more than a second late.
    """

    sent: int = 0
    ok: int = 0
    failed: int = 0
    unknown: int = 0
    skipped: int = 0

    @property
    def unaccounted(self) -> int:
        return self.sent - self.ok - self.failed - self.unknown


class Kept(msgspec.Struct):
    """Acknowledged records against the logs on disk.

    `replicas`: {partition: those in sync at the end}. `missing`: {"t-0 on broker-1": records}. `examples`: a few of
    them, as text.
    """

    acknowledged: int = 0
    replicas: dict[str, list[str]] = {}
    missing: dict[str, int] = {}
    failed_but_stored: int = 0
    twice_idempotent: int = 0
    twice: int = 0
    examples: list[str] = []


class Outside(msgspec.Struct):
    """Operations that no cut could affect."""

    operations: int = 0
    unknown: int = 0
    failed: int = 0
    examples: list[str] = []


class Cut(msgspec.Struct, frozen=True):
    """One that was in force, scenario ms. `healed_ms` None: it was not healed."""

    az: str
    applied_ms: float
    healed_ms: float | None
    frames_stopped: int


class Judgement(msgspec.Struct, frozen=True):
    """`text`: with its figures."""

    name: str
    held: Held
    text: str


def growth_allowed_mib(hours: float) -> float:
    """Between the middles of the first and the last third of so many hours."""
    return GROWTH_MIB + GROWTH_MIB_PER_H * hours * 2 / 3


def judge_memory(trends: Mapping[str, Trend | None], hours: float) -> Judgement:
    """Of every node."""
    allowed = growth_allowed_mib(hours)
    known = {name: trend for name, trend in trends.items() if trend is not None}
    if not known or len(known) < len(trends):
        lacking = ", ".join(name for name in trends if name not in known) or "every node"
        return Judgement("memory", "unknown", f"too few samples of {lacking}")
    grown = {name: trend for name, trend in known.items() if trend.growth > allowed}
    if grown:
        which = ", ".join(f"{name} by {trend.growth:.1f} MiB" for name, trend in grown.items())
        return Judgement("memory", False, f"from the first third to the last grew {which}; allowed are {allowed:.1f}")
    name, most = max(known.items(), key=lambda one: one[1].growth)
    steepest, trend = max(known.items(), key=lambda one: one[1].slope_per_h)
    highest = max(trend.highest for trend in known.values())
    return Judgement(
        "memory",
        True,
        f"no node grew by more than {most.growth:.1f} MiB ({name}) from the first third to the last, allowed are "
        f"{allowed:.1f}; highest {highest:.1f} MiB; steepest {steepest}, {trend.slope_per_h:+.1f} MiB/h",
    )


def judge_accounts(reported: Counts, written: Counts) -> Judgement:
    """The clients' counts against their events."""
    text = (
        f"sent {reported.sent:,} = acknowledged {reported.ok:,} + failed {reported.failed:,} + unknown "
        f"{reported.unknown:,}; {reported.skipped:,} more were due and not sent (too many under way, or too late)"
    )
    for who, counts in (("clients' reports", reported), ("their events", written)):
        if counts.unaccounted:
            return Judgement("accounts", False, f"{who}: {counts.unaccounted:,} of {counts.sent:,} have no end")
    same = ("sent", "ok", "failed", "unknown")
    if any(getattr(reported, name) != getattr(written, name) for name in same):
        saw = ", ".join(f"{name} {getattr(written, name):,}" for name in same)
        return Judgement("accounts", False, f"{text}; but their events say {saw}")
    if not reported.sent:
        return Judgement("accounts", "unknown", "nothing was sent")
    return Judgement("accounts", True, text)


def judge_kept(kept: Kept, checks: Mapping[str, str]) -> Judgement:
    """`checks`: {name: verdict} of the audit."""
    wrong = [f"{count:,} of them are not in {topic_partition}" for topic_partition, count in kept.missing.items()]
    if kept.failed_but_stored:
        wrong.append(f"{kept.failed_but_stored:,} records that had failed for certain are stored")
    if kept.twice_idempotent:
        wrong.append(f"{kept.twice_idempotent:,} records of idempotent producers are stored twice")
    wrong += [f"the audit says {name}: violated" for name in MUST_HOLD if checks.get(name) == "violated"]
    where = f"{kept.acknowledged:,} acknowledged records"
    if wrong:
        return Judgement("acknowledged records are kept", False, "; ".join([where, *wrong, *kept.examples[:3]]))
    doubtful = [name for name in MUST_HOLD if checks.get(name) != "held"]
    if doubtful or not kept.acknowledged or not all(kept.replicas.values()):
        reasons = [f"the audit says {name}: {checks.get(name, 'nothing')}" for name in doubtful]
        reasons += [f"{partition} had no replica in sync" for partition, who in kept.replicas.items() if not who]
        return Judgement("acknowledged records are kept", "unknown", "; ".join([where, *reasons]))
    logs = sum(map(len, kept.replicas.values()))
    return Judgement(
        "acknowledged records are kept",
        True,
        f"all {where} are in each of the {logs} logs in sync; {kept.twice:,} records are there twice, none of an "
        f"idempotent producer; the audit's checks of it held",
    )


def judge_unknown(outside: Outside, share_max: float = UNKNOWN_SHARE_MAX) -> Judgement:
    """At most so many unknown outcomes where no cut can be the reason."""
    name = "unknown outcomes outside the cuts"
    if not outside.operations:
        return Judgement(name, "unknown", "no operation lay outside the cuts")
    share = outside.unknown / outside.operations
    text = f"{outside.unknown:,} of {outside.operations:,} ({share:.3%}), allowed are {share_max:.1%}"
    more = "" if share <= share_max else "".join(f"; {one}" for one in outside.examples[:3])
    return Judgement(name, share <= share_max, text + more)


def judge_cuts(cuts: Sequence[Cut], planned: int) -> Judgement:
    """A cut that stopped nothing, or was not healed, tells nothing."""
    bad = [f"{cut.az} at {cut.applied_ms / 1000:.0f} s" for cut in cuts if not cut.frames_stopped or not cut.healed_ms]
    if bad or len(cuts) < max(1, planned):
        what = f"without effect or not healed: {', '.join(bad)}" if bad else f"{len(cuts)} of {planned} were made"
        return Judgement("cuts", "unknown", what)
    stopped = sum(cut.frames_stopped for cut in cuts)
    return Judgement("cuts", True, f"{len(cuts)} cuts, all healed; they stopped {stopped:,} frames")


def judge_disk(event_bytes: int, records: int, hours: float) -> Judgement:
    """Size of events, which depends on the operations and not on the cluster's age."""
    if not records or hours <= 0:
        return Judgement("disk of events", "unknown", "nothing was sent")
    per_record = event_bytes / records
    text = (
        f"{event_bytes / 2**20:,.0f} MiB, {per_record:,.0f} bytes per record, {event_bytes / hours / 2**30:.2f} GiB/h"
    )
    return Judgement("disk of events", per_record <= EVENT_BYTES_PER_RECORD_MAX, text)


def in_doubt(judgements: Sequence[Judgement], late_ms: float, limit_ms: float) -> list[Judgement]:
    """Judgements with late timers: results of time-outs are unknown rather than broken.

    Acknowledged records, and every record's end, must be there in any case.
    """
    if late_ms <= limit_ms:
        return list(judgements)
    why = f"timers were late by {late_ms:.0f} ms (p99.9), more than {limit_ms:.0f} ms"
    name = "unknown outcomes outside the cuts"
    return [
        Judgement(one.name, "unknown", f"{one.text}; {why}") if one.name == name and one.held is False else one
        for one in judgements
    ]


def exit_code(judgements: Sequence[Judgement]) -> int:
    """0 all held, 1 one is broken, 3 one is unknown."""
    if any(one.held is False for one in judgements):
        return 1
    return 3 if any(one.held == "unknown" for one in judgements) else 0
