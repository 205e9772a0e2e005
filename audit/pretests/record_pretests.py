"""Pre-tests of checks about clients: their records, their reads, and groups' offsets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from audit.pretests.pretest_registry import pretest
from audit.pretests.pretested_run import Log, PretestedRun, Row

_OF_GROUPS = ("commit", "committed")
_REACHED_NO_RECORD = ("OffsetOutOfRangeException", "LogTruncationException")


def _produced(run: PretestedRun, *outcomes: str) -> Iterator[Row]:
    return (row for row in run.of("operation_ended") if row["kind"] == "produce" and row["outcome"] in outcomes)


def _holds(batches: Sequence[Row], offset: int) -> bool:
    """Whether one of the batches has the offset."""
    return any(batch["base_offset"] <= offset <= batch["last_offset"] for batch in batches)


def _records(row: Row) -> int:
    return int(row.get("records") or 1)


def _batch(row: Row) -> tuple[str, int, int]:
    return row["topic"], row["partition"], row["digest"]


@pretest("table", "lost")
@pretest("violations", "lost-acknowledged")
def lost(run: PretestedRun) -> bool:
    def is_held(row: Row) -> bool:
        last = row["offset"] + _records(row) - 1
        return any(
            row["offset"] < 0 or batch["base_offset"] <= row["offset"] <= last <= batch["last_offset"]
            for batch in run.held.get(_batch(row), ())
        )

    return not all(map(is_held, _produced(run, "ok")))


@pretest("about", "unappended")
def unappended(run: PretestedRun) -> bool:
    def is_appended(row: Row) -> bool:
        last = row["offset"] + _records(row) - 1
        return row["offset"] < 0 or any(
            batch["base_offset"] <= row["offset"] <= last <= batch["last_offset"]
            for batch in run.appended.get(_batch(row), ())
        )

    return lost(run) and not all(map(is_appended, _produced(run, "ok")))


@pretest("table", "reused_sequences")
def reused_sequences(run: PretestedRun) -> bool:
    return run.has("duplicate_answered")


@pretest("table", "deleted")
def deleted(run: PretestedRun) -> bool:
    return run.has("log_start_moved")


@pretest("table", "copied")
@pretest("violations", "duplicate")
def copied(run: PretestedRun) -> bool:
    return any(len(batches) > 1 for batches in run.held.values())


@pretest("violations", "failed-but-stored")
def failed(run: PretestedRun) -> bool:
    return any(_batch(row) in run.held for row in _produced(run, "failed"))


@pretest("about", "unavailable")
def unavailable(run: PretestedRun) -> bool:
    return any(row["outcome"] != "ok" for row in run.of("operation_ended") if row["kind"] == "produce")


@pretest("about", "unknown-outcomes")
def unknown_outcomes(run: PretestedRun) -> bool:
    return any(True for _ in _produced(run, "unknown"))


@pretest("violations", "reordered")
def reordered(run: PretestedRun) -> bool:
    """Whether offsets of a node's records fall, of those that the final leader has."""
    highest: dict[tuple[str, str, int], int] = {}
    acknowledged = (row for row in _produced(run, "ok") if row["offset"] >= 0)
    rows = [(_number(row), row) for row in acknowledged if _holds(run.held.get(_batch(row), ()), row["offset"])]
    if any(number is None for number, _ in rows):
        return True
    # Of two that share a number the higher offset counts as the earlier one.
    for _, row in sorted(rows, key=lambda one: (one[1]["node"], one[1]["incarnation"], one[0], -one[1]["offset"])):
        producer = row["node"], row["topic"], row["partition"]
        if row["offset"] < highest.get(producer, -1):
            return True
        highest[producer] = row["offset"]
    return False


def _number(row: Row) -> int | None:
    """Ordinal of an operation among its client's."""
    number = row["operation"].rpartition(":")[2]
    return int(number) if number.isascii() and number.isdecimal() and len(number) < 18 else None


# --- reads ---


@pretest("table", "leaps")
@pretest("violations", "read-gap", "non-monotonic-read", "skipped-read")
def leaps(run: PretestedRun) -> bool:
    before: dict[tuple[str, str, int], int] = {}
    for row in run.in_order("records_read", "position_left"):
        position = row["operation"], row["topic"], row["partition"]
        if row["event"] == "position_left":
            before.pop(position, None)
            continue
        if before.get(position, row["base_offset"] - 1) + 1 != row["base_offset"]:
            return True
        before[position] = row["last_offset"]
    return False


@pretest("table", "lost_reads")
@pretest("violations", "read-then-lost")
def lost_reads(run: PretestedRun) -> bool:
    return not all(_holds(run.held.get(_batch(row), ()), row["base_offset"]) for row in run.of("records_read"))


@pretest("table", "doubtful_turns")
@pretest("violations", "unseen")
def doubtful_turns(run: PretestedRun) -> bool:
    return leaps(run) or lost_reads(run)


@pretest("violations", "phantom-read")
def phantom_read(run: PretestedRun) -> bool:
    return not all(_holds(run.appended.get(_batch(row), ()), row["base_offset"]) for row in run.of("records_read"))


@pretest("violations", "read-above-high-watermark")
def read_above_high_watermark(run: PretestedRun) -> bool:
    return any(row["last_offset"] >= row["high_watermark"] for row in run.of("records_read"))


@pretest("violations", "inconsistent-offsets")
def inconsistent_offsets(run: PretestedRun) -> bool:
    """Whether batches of different contents were read at offsets that overlap."""

    def place(row: Row) -> tuple[str, int]:
        return row["topic"], row["partition"]

    for _, rows in groupby(sorted(run.of("records_read"), key=place), place):
        reached, last = -1, None
        for base, digest, end in sorted({(row["base_offset"], row["digest"], row["last_offset"]) for row in rows}):
            if base <= reached and (base, digest) != last:
                return True
            reached, last = max(reached, end), (base, digest)
    return False


@pretest("violations", "offset-out-of-range")
def offset_out_of_range(run: PretestedRun) -> bool:
    return any(row["reason"] in _REACHED_NO_RECORD for row in run.of("position_left"))


# --- groups ---


@pretest("table", "group_operations")
def group_operations(run: PretestedRun) -> bool:
    return any(row["kind"] in _OF_GROUPS for row in run.of("operation_invoked"))


@pretest("violations", "group-ahead-of-log")
def group_ahead_of_log(run: PretestedRun) -> bool:
    def end(row: Row) -> int:
        node = run.leaders.get((row["topic"], row["partition"]), "")
        return run.logs.get((node, row["topic"], row["partition"]), Log([], None)).end

    return _contradict(run) or any(row["offset"] > end(row) for row in _of_groups(run, "commit"))


@pretest("violations", "committed-offset-regression")
def committed_offset_regression(run: PretestedRun) -> bool:
    """Whether a look at committed offsets found less than an earlier commit of any group."""
    if _contradict(run):
        return True
    invoked = {row["operation"]: row for row in run.of("operation_invoked")}
    commits = [*_of_groups(run, "commit")]

    def is_before(commit: Row, look: Row) -> bool:
        earlier = (commit["incarnation"], commit["seq"]) < (look["incarnation"], look["seq"])
        return commit["at_ms"] <= look["at_ms"] or (commit["node"] == look["node"] and earlier)

    return any(
        commit["offset"] > look["offset"] and is_before(commit, invoked[look["operation"]])
        for look in _of_groups(run, "committed")
        if look["operation"] in invoked
        for commit in commits
        if _at(commit)[1:] == _at(look)[1:]
    )


def _at(row: Row) -> tuple[str, str, int]:
    return row["kind"], row["topic"], row["partition"]


def _of_groups(run: PretestedRun, kind: str) -> Iterator[Row]:
    return (row for row in run.of("operation_ended") if row["kind"] == kind and row["outcome"] == "ok")


def _contradict(run: PretestedRun) -> bool:
    """Whether the beginning and the end of a group's operation differ in kind or place."""
    invoked = {row["operation"]: _at(row) for row in run.of("operation_invoked") if row["kind"] in _OF_GROUPS}
    ended = {row["operation"]: _at(row) for row in run.of("operation_ended") if row["kind"] in _OF_GROUPS}
    return any(invoked.get(operation) != at for operation, at in ended.items())
