"""Pre-tests of checks about leaders, controllers, the quorum and committed states."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

from audit.pretests.pretest_registry import pretest
from audit.pretests.pretested_run import PretestedRun, Row
from emulator.faults.machine_fault_kinds import KILLING

_ROLES = ("role_changed", "controller_changed", "log_deleted")


# --- terms ---


@pretest("table", "overlaps")
@pretest("about", "two-at-once")
def overlaps(run: PretestedRun) -> bool:
    """Whether two nodes held one role at a time, in different epochs."""
    held: defaultdict[tuple[str, int], list[tuple[int, str, float, float]]] = defaultdict(list)
    for office, epoch, node, from_ms, to_ms in _terms(run):
        held[office].append((epoch, node, from_ms, to_ms))
    return any(
        one[0] != other[0] and one[1] != other[1] and max(one[2], other[2]) < min(one[3], other[3])
        for terms in held.values()
        for number, one in enumerate(terms)
        for other in terms[:number]
    )


@pretest("violations", "dual-leader")
def dual_leader(run: PretestedRun) -> bool:
    return overlaps(run)


def _terms(run: PretestedRun) -> list[tuple[tuple[str, int], int, str, float, float]]:
    """(office, epoch, node, from, to) of each term; one without an end lasts for ever."""
    reported: defaultdict[tuple[str, int, str, int], list[tuple[bool, int, float]]] = defaultdict(list)
    for row in run.in_order(*_ROLES):
        if row["event"] == "controller_changed":
            office, holds, epoch = ("", -1), row["active"], row["controller_epoch"]
        else:
            office = row["topic"], row["partition"]
            leads = row["event"] == "role_changed" and row["role"] == "leader"
            holds, epoch = leads, row.get("leader_epoch", -1)
        of_life = reported[(*office, row["node"], row["incarnation"])]
        if not of_life or of_life[-1][:2] != (holds, epoch):
            of_life.append((holds, epoch, row["at_ms"]))
    died = _deaths(run)
    terms = []
    for (topic, partition, node, incarnation), of_life in reported.items():
        ends = [at_ms for _, _, at_ms in of_life[1:]] + [float("inf")]
        for (holds, epoch, at_ms), next_ms in zip(of_life, ends, strict=True):
            died_ms = max(died.get((node, incarnation), float("inf")), at_ms)
            if holds:
                terms.append(((topic, partition), epoch, node, at_ms, min(next_ms, died_ms)))
    return terms


def _deaths(run: PretestedRun) -> dict[tuple[str, int], float]:
    """Latest possible end of each incarnation: the node's next event of a start or an end."""
    times: defaultdict[str, list[float]] = defaultdict(list)
    for row in run.of("node_started", "node_stopped"):
        times[row["node"]].append(row["at_ms"])
    for row in run.of("machine_fault"):
        if row["what"] in KILLING:
            times[row["target"]].append(row["at_ms"])
    return {
        (row["node"], row["incarnation"]): min(
            (at_ms for at_ms in times[row["node"]] if at_ms > row["at_ms"]), default=float("inf")
        )
        for row in run.of("node_started")
    }


@pretest("table", "small_isrs")
@pretest("violations", "acknowledged-below-min-insync")
def small_isrs(run: PretestedRun) -> bool:
    if run.has("topic_configured", "broker_configured"):
        return True

    def is_small(row: Row, isr: str) -> bool:
        least = row.get("min_insync_replicas")
        return least is not None and len(isr.split(",")) < least

    return any(
        (row["event"] == "role_changed" and row["role"] == "leader" and is_small(row, row["isr"]))
        or (row["event"] == "isr_change_ended" and row["result"] == "done" and is_small(row, row["isr"]))
        or (row["event"] == "isr_change_asked" and row["change"] == "expand" and is_small(row, row["now"]))
        for row in run.of("role_changed", "isr_change_ended", "isr_change_asked")
    )


# --- committed states ---


@pretest("violations", "partition-state")
def partition_state(run: PretestedRun) -> bool:
    if run.states is None:
        return True
    for states in run.states.values():
        if any(state.leader >= 0 and state.leader not in state.isr for state in states):
            return True
        for one, other in pairwise(states):
            if other.leader_epoch < one.leader_epoch or other.controller_epoch < one.controller_epoch:
                return True
            if other.leader_epoch == one.leader_epoch and other.leader != one.leader:
                return True
    return False


@pretest("violations", "fenced-leader-change")
def fenced_leader_change(run: PretestedRun) -> bool:
    changes = [row for row in run.of("isr_change_ended") if row["result"] == "done"]
    if not changes or run.states is None:
        return bool(changes)
    return any(
        state.leader_epoch > row["leader_epoch"] >= 0
        for row in changes
        if row.get("leader_epoch") is not None
        for state in run.states.get((row["topic"], row["partition"]), ())
        if state.version is None or state.version <= row["zk_version"]
    )


@pretest("violations", "dual-controller")
def dual_controller(run: PretestedRun) -> bool:
    active: dict[int, str] = {}
    for row in run.of("controller_changed"):
        epoch = row["controller_epoch"]
        if row["active"] and epoch > 0 and active.setdefault(epoch, row["node"]) != row["node"]:
            return True
    if not run.has("znode_changed"):
        return False
    if run.states is None or run.controller_epochs is None:
        return True
    for states in run.states.values():
        last_epoch = -1
        for state in states:
            reached = max((epoch for zxid, epoch in run.controller_epochs if zxid <= state.zxid), default=-1)
            decided = state.change == "created" or state.leader_epoch > last_epoch
            if decided and state.controller_epoch < reached:
                return True
            last_epoch = state.leader_epoch
    return False


# --- the quorum of KRaft ---


@pretest("violations", "dual-quorum-leader")
def dual_quorum_leader(run: PretestedRun) -> bool:
    led: dict[int, int] = {}
    return any(
        row["leader"] >= 0 and led.setdefault(row["epoch"], row["leader"]) != row["leader"]
        for row in run.of("quorum_state_changed")
    )


@pretest("violations", "quorum-high-watermark")
def quorum_high_watermark(run: PretestedRun) -> bool:
    committed: dict[tuple[str, int], int] = {}
    for row in run.in_order("quorum_state_changed", "metadata_committed"):
        life = row["node"], row["incarnation"]
        if row["event"] == "metadata_committed":
            committed[life] = max(committed.get(life, -1), row["offset"])
            continue
        known, highest = row.get("high_watermark"), row.get("highest_watermark")
        if known is None or highest is None:  # of an older run
            return True
        reached = min(known, row["log_end"]) if known >= 0 else row["log_end"]
        if reached < max(highest, committed.get(life, -1)):
            return True
    return False


@pretest("violations", "metadata-divergence")
def metadata_divergence(run: PretestedRun) -> bool:
    held: defaultdict[tuple[str, int], set[tuple[int, int, int, int]]] = defaultdict(set)
    loaded: dict[tuple[str, int], int] = {}
    for row in run.of("metadata_committed"):
        held[row["node"], row["incarnation"]].add((row["base_offset"], row["offset"], row["epoch"], row["digest"]))
    for row in run.of("metadata_snapshot"):
        if row["action"] == "loaded":
            life = row["node"], row["incarnation"]
            loaded[life] = max(loaded.get(life, 0), row["offset"])
    batches = set().union(*held.values())
    for life, own in held.items():
        reached = max(end for _, end, _, _ in own)
        if any(reached >= batch[1] > loaded.get(life, 0) for batch in batches - own):
            return True
    return False
