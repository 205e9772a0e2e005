"""Pre-tests of checks about replicas: their logs, epochs and high watermarks."""

from __future__ import annotations

from audit.pretests.pretest_registry import pretest
from audit.pretests.pretested_run import PretestedRun, Replica, Row

_LOSSES = ("power-loss", "lose-disk", "lose-unsynced")
_WITH_EPOCHS = ("log_loaded", "log_truncated", "log_start_moved", "leader_epoch_began")


def _replica(row: Row) -> Replica:
    return row["node"], row["topic"], row["partition"]


@pretest("table", "unreadable")
def unreadable(run: PretestedRun) -> bool:
    """Whether a log is not whole from offset 0 on, or a partition has no final leader."""
    begins_elsewhere = (
        any(row["log_start"] != 0 for row in run.of("log_loaded"))
        or any(row["reason"] == "full" for row in run.of("log_truncated"))
        or run.has("log_start_moved")
    )
    if begins_elsewhere or any(row["what"] in _LOSSES for row in run.of("machine_fault")):
        return True
    for log in run.logs.values():
        end = 0
        for batch in log.batches:
            if batch["base_offset"] != end or batch["last_offset"] < end or batch["leader_epoch"] < 0:
                return True
            end = batch["last_offset"] + 1
        if log.bound is not None and end < log.bound:
            return True
    with_log = {replica for replica, log in run.logs.items() if log.batches or log.bound is not None}
    return any(
        (run.leaders.get((topic, partition), ""), topic, partition) not in with_log for _, topic, partition in with_log
    )


@pretest("violations", "replica-divergence")
def replica_divergence(run: PretestedRun) -> bool:
    found: dict[tuple[str, int, int], tuple[int, int]] = {}
    return any(
        found.setdefault((topic, partition, batch["base_offset"]), _contents(batch)) != _contents(batch)
        for (_, topic, partition), log in run.logs.items()
        for batch in log.batches
    )


def _contents(batch: Row) -> tuple[int, int]:
    return batch["leader_epoch"], batch["digest"]


@pretest("violations", "log-matching")
def log_matching(run: PretestedRun) -> bool:
    found: dict[tuple[str, int, int, int], int] = {}
    return any(
        found.setdefault((row["topic"], row["partition"], row["leader_epoch"], row["base_offset"]), row["digest"])
        != row["digest"]
        for row in run.of("batch_appended")
    )


@pretest("violations", "high-watermark-regression")
def high_watermark_regression(run: PretestedRun) -> bool:
    reached: dict[tuple[Replica, int], int] = {}
    for row in run.in_order("high_watermark_moved"):
        if row["leading"]:
            term = _replica(row), row["leader_epoch"]
            if row["high_watermark"] < reached.get(term, row["high_watermark"]):
                return True
            reached[term] = row["high_watermark"]
    read: dict[tuple[str, int, int], tuple[int, int]] = {}
    return any(
        read.setdefault((row["topic"], row["partition"], row["base_offset"]), _contents(row)) != _contents(row)
        for row in run.of("records_read")
    )


@pretest("violations", "high-watermark-above-log-end")
def high_watermark_above_log_end(run: PretestedRun) -> bool:
    ends: dict[tuple[Replica, int], int] = {}
    highest: dict[tuple[Replica, int], int] = {}
    for row in run.of("high_watermark_moved", "batch_appended", "log_loaded", "log_truncated", "role_changed"):
        life = _replica(row), row["incarnation"]
        if row["event"] != "high_watermark_moved":
            end = row["last_offset"] + 1 if row["event"] == "batch_appended" else row["log_end"]
            ends[life] = max(ends.get(life, end), end)
        if row["event"] in ("high_watermark_moved", "log_loaded", "role_changed"):
            highest[life] = max(highest.get(life, row["high_watermark"]), row["high_watermark"])
    return any(reached > ends.get(life, 0) for life, reached in highest.items())


@pretest("violations", "committed-truncated")
def committed_truncated(run: PretestedRun) -> bool:
    """Whether a truncation cuts below any high watermark that its replica had had by then."""
    known: dict[Replica, int] = {}
    for row in run.in_order("high_watermark_moved", "role_changed", "log_truncated"):
        replica = _replica(row)
        if row["event"] != "log_truncated":
            known[replica] = max(known.get(replica, 0), row["high_watermark"])
        elif row["reason"] != "full" and row["to"] < min(row["log_end"], known.get(replica, 0)):
            return True
    return False


@pretest("violations", "checkpoint-ahead")
def checkpoint_ahead(run: PretestedRun) -> bool:
    return checkpoint_untold(run) or any(row["checkpointed"] > row["log_end"] for row in run.of("log_loaded"))


@pretest("evidence", "checkpoint-ahead")
def checkpoint_untold(run: PretestedRun) -> bool:
    return any(row.get("checkpointed") is None for row in run.of("log_loaded"))


@pretest("evidence", "epoch-cache")
def epochs_untold(run: PretestedRun) -> bool:
    with_epochs = {_replica(row) for row in run.of("log_created", *_WITH_EPOCHS)}
    return (
        unreadable(run)
        or any(row.get("epochs") is None for row in run.of(*_WITH_EPOCHS))
        or any(log.batches and replica not in with_epochs for replica, log in run.logs.items())
    )


@pretest("violations", "epoch-cache")
def epoch_cache(run: PretestedRun) -> bool:
    if epochs_untold(run):
        return True
    for row in run.of("log_loaded", "log_truncated"):
        end = row["to"] if row["event"] == "log_truncated" else row["log_end"]
        begins = [entry.rpartition(":")[2] for entry in row["epochs"].split(" ") if entry]
        if not all(begin.isdecimal() and int(begin) < end for begin in begins):
            return True
    last: dict[Replica, str] = {}
    for row in run.in_order("log_created", *_WITH_EPOCHS):
        last[_replica(row)] = "" if row["event"] == "log_created" else row["epochs"]
    for replica, log in run.logs.items():
        cached = {*last.get(replica, "").split(" ")}
        firsts = {batch["leader_epoch"]: batch["base_offset"] for batch in reversed(log.batches)}
        if not cached.issuperset(f"{epoch}:{first}" for epoch, first in firsts.items()):
            return True
    return False


@pretest("violations", "leader-epoch-monotonicity")
def leader_epoch_monotonicity(run: PretestedRun) -> bool:
    reached: dict[Replica, int] = {}
    led: dict[tuple[str, int, int], str] = {}
    for row in run.in_order("role_changed"):
        epoch, replica = row["leader_epoch"], _replica(row)
        if epoch < 0:
            continue
        if epoch < reached.get(replica, epoch):
            return True
        reached[replica] = epoch
        if row["role"] == "leader" and led.setdefault((*replica[1:], epoch), row["node"]) != row["node"]:
            return True
    for log in run.logs.values():
        if any(
            other["leader_epoch"] < one["leader_epoch"] or other["base_offset"] <= one["last_offset"]
            for one, other in zip(log.batches, log.batches[1:], strict=False)
        ):
            return True
    return False
