"""Table of the checks, in the order of verdicts.

All other lists of checks are derived from it. Of each check there are two judges, found by its name: the query is in
`audit.checks`, in the module of the same name (with `_` for `-`), and the oracle's function is in
`emulator.judging.oracle`, decorated with `oracle_check`.
"""

from typing import Final, Literal

import msgspec

SettingGroup = Literal["writes", "batches read", "positions", "records", "bytes", "leaders"]
"""Settings that are not modelled, by what they can change: see `emulator.settings.bearing`."""


class AdviceWords(msgspec.Struct, frozen=True, kw_only=True):
    """Words of advice for a check.

    `promise`: in the list of promises; `heading`: of a column; `verb`: "5 faults VERB". `of_reads`: consumers, not
    producers, notice the violation. `copies`: more copies, or copies that are flushed, can keep the promise.
    """

    promise: str
    heading: str
    verb: str
    of_reads: bool = False
    copies: bool = False


class CheckRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about one check that both judges, scenarios and settings share.

    `settings`: groups of settings, not modelled, that can change its verdict, apart from those that can change every
    verdict. `advice`: None: advice does not report it. `column`: column of a campaign's row with its violations; "":
    none. `despite`: it holds with acks=all and clean elections whatever links are cut (the soak requires it); whatever
    processes crash (crash testing requires it).
    """

    name: str
    settings: tuple[SettingGroup, ...] = ()
    advice: AdviceWords | None = None
    column: str = ""
    despite: tuple[Literal["cuts", "crashes"], ...] = ()


CHECKS: Final[dict[str, CheckRecord]] = {
    record.name: record
    for record in (
        CheckRecord(
            name="lost-acknowledged",
            settings=("writes", "records"),
            advice=AdviceWords(
                promise="no acknowledged record is lost", heading="lost", verb="lose acknowledged records", copies=True
            ),
            column="lost",
            despite=("cuts",),
        ),
        CheckRecord(
            name="duplicate",
            settings=("writes", "records"),
            advice=AdviceWords(promise="none is there twice", heading="twice", verb="leave records twice"),
            column="duplicated",
        ),
        CheckRecord(
            name="reordered",
            settings=("writes", "records"),
            advice=AdviceWords(promise="order is kept", heading="order", verb="break the order"),
            column="reordered",
        ),
        CheckRecord(name="failed-but-stored", settings=("writes", "records"), despite=("cuts",)),
        CheckRecord(name="acknowledged-below-min-insync", despite=("crashes",)),
        CheckRecord(
            name="read-then-lost",
            settings=("batches read", "records"),
            advice=AdviceWords(
                promise="a record that was read stays", heading="read, gone", verb="lose records that were read",
                of_reads=True, copies=True,
            ),
            despite=("cuts",),
        ),
        CheckRecord(name="phantom-read", settings=("batches read", "bytes"), despite=("cuts", "crashes")),
        CheckRecord(name="read-above-high-watermark", settings=("batches read",), despite=("cuts", "crashes")),
        CheckRecord(name="read-gap", settings=("batches read", "records"), despite=("cuts", "crashes")),
        CheckRecord(
            name="non-monotonic-read",
            settings=("positions",),
            advice=AdviceWords(
                promise="no consumer reads a record again", heading="read again",
                verb="return records to consumers again", of_reads=True, copies=True,
            ),
        ),
        CheckRecord(
            name="skipped-read",
            settings=("positions", "records"),
            advice=AdviceWords(
                promise="a change of leader leaves nothing out", heading="skipped",
                verb="skip records at a change of leader", of_reads=True, copies=True,
            ),
        ),
        CheckRecord(
            name="unseen",
            settings=("positions", "records"),
            advice=AdviceWords(
                promise="a consumer that reads on has read all records before", heading="unseen",
                verb="let consumers skip records", of_reads=True, copies=True,
            ),
        ),
        CheckRecord(name="inconsistent-offsets", settings=("positions", "records")),
        CheckRecord(name="offset-out-of-range", settings=("positions", "records")),
        CheckRecord(name="group-ahead-of-log", settings=("records",), despite=("crashes",)),
        CheckRecord(name="committed-offset-regression"),
        CheckRecord(name="lost-commit", settings=("writes", "records")),
        CheckRecord(name="unrequested-commit", settings=("writes", "records")),
        CheckRecord(name="torn-commit", settings=("writes", "records")),
        CheckRecord(name="aborted-read", settings=("batches read", "records")),
        CheckRecord(name="dirty-read", settings=("batches read", "records")),
        CheckRecord(name="circular-dependency", settings=("writes", "records")),
        CheckRecord(name="duplicate-commit", settings=("writes", "records")),
        CheckRecord(name="output-without-offsets", settings=("writes", "records")),
        CheckRecord(name="offsets-without-output", settings=("writes", "records")),
        CheckRecord(name="zombie-write", settings=("records",)),
        CheckRecord(name="hanging-transaction", settings=("records",)),
        CheckRecord(
            name="replica-divergence",
            settings=("records",),
            advice=AdviceWords(
                promise="replicas do not differ", heading="differ", verb="leave replicas that differ", copies=True
            ),
            column="diverged",
            despite=("cuts",),
        ),
        CheckRecord(name="log-matching", settings=("bytes",), despite=("cuts",)),
        CheckRecord(name="dual-leader", settings=("leaders",)),
        CheckRecord(name="dual-controller"),
        CheckRecord(name="dual-quorum-leader", despite=("cuts",)),
        CheckRecord(name="metadata-divergence", despite=("cuts",)),
        CheckRecord(name="quorum-high-watermark", despite=("cuts",)),
        CheckRecord(name="high-watermark-regression", settings=("batches read", "bytes"), despite=("cuts",)),
        CheckRecord(name="high-watermark-above-log-end", despite=("cuts", "crashes")),
        CheckRecord(name="leader-epoch-monotonicity", settings=("bytes",), despite=("cuts",)),
        CheckRecord(name="partition-state", despite=("cuts", "crashes")),
        CheckRecord(name="fenced-leader-change", despite=("crashes",)),
        CheckRecord(name="committed-truncated"),
        CheckRecord(name="epoch-cache", settings=("bytes",)),
        CheckRecord(name="checkpoint-ahead"),
        CheckRecord(name="no-leader"),
        CheckRecord(name="under-replicated"),
        CheckRecord(name="unanswered-request"),
        CheckRecord(name="too-few-copies", settings=("records",)),
    )
}  # fmt: skip
"""{name: the check's record}"""


def checks_of(group: SettingGroup) -> tuple[str, ...]:
    """Checks whose verdict the group of settings can change."""
    return tuple(name for name, record in CHECKS.items() if group in record.settings)


def checks_despite(fault: Literal["cuts", "crashes"]) -> tuple[str, ...]:
    """Checks that hold whatever such faults there are."""
    return tuple(name for name, record in CHECKS.items() if fault in record.despite)


ADVICE: Final = {name: record.advice for name, record in CHECKS.items() if record.advice is not None}
"""{check that advice reports: its words}"""
