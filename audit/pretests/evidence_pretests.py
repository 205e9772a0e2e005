"""Pre-tests of the search for contradictory events.

`audit.evidence_contradictions` and `audit.causality_violations` have its queries.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Any, Final

from audit.pretests.pretest_registry import pretest
from audit.pretests.pretested_run import CONTROLLER_EPOCH, PretestedRun, Replica, Row, states_of_znodes
from audit.suspect_offsets import SPARE_MS


@pretest("about", "operations")
def operations(run: PretestedRun) -> bool:
    """Whether an operation ended twice or without a beginning, or differs from its attempts."""
    begun: set[tuple[str, int, str]] = set()
    answered: set[tuple[str, int, str]] = set()
    done: set[tuple[str, int, str]] = set()
    ended: Counter[tuple[str, int, str]] = Counter()
    for row in run.of("operation_invoked", "attempt_ended", "operation_ended"):
        number = row["operation"].rpartition(":")[2]
        if not (number.isascii() and number.isdecimal() and len(number) < 18 and str(int(number)) == number):
            return True
        one = row["node"], row["incarnation"], number
        if row["event"] == "operation_invoked":
            begun.add(one)
        elif row["event"] == "attempt_ended":
            answered.add(one)
            if row["error"] == 0:
                done.add(one)
        else:
            ended[one] += 1
            if ended[one] > 1 or one not in begun:
                return True
            if row["kind"] == "produce" and (
                (row["outcome"] == "ok" and one not in answered) or (row["outcome"] == "failed" and one in done)
            ):
                return True
    return False


@pretest("about", "led-untold")
def led_untold(run: PretestedRun) -> bool:
    led: set[tuple[Replica, int, int]] = set()
    for row in run.in_order("role_changed", "batch_appended"):
        term = (row["node"], row["topic"], row["partition"]), row["incarnation"], row["leader_epoch"]
        if row["event"] == "role_changed":
            if row["role"] == "leader":
                led.add(term)
        elif row["as_leader"] and term not in led:
            return True
    return False


@pretest("about", "loaded-untold")
def loaded_untold(run: PretestedRun) -> bool:
    ends: dict[Replica, int] = {}
    for row in run.in_order("batch_appended", "log_loaded"):
        replica = row["node"], row["topic"], row["partition"]
        if row["event"] == "batch_appended":
            ends[replica] = max(ends.get(replica, 0), row["last_offset"] + 1)
        elif row["log_end"] > max(row["log_start"], ends.get(replica, 0)):
            return True
    return False


@pretest("about", "clock")
def clock(run: PretestedRun) -> bool:
    """A pre-tested run's clocks advance line by line."""
    return False


@pretest("about", "clocks")
def clocks(run: PretestedRun) -> bool:
    """Whether an event that another one causes may precede it."""
    return any(
        _precedes(causes, effects)
        for causes, effects in (
            _appends(run),
            _roles(run),
            _controllers(run),
            _quorum(run),
            _rules(run),
            _starts(run),
            _records(run),
        )
    )


Times = dict[Any, float]
"""{cause: time of its first event}"""
_UNKNOWN: Final[Times] = {"": float("inf")}


def _precedes(causes: Times, effects: Times) -> bool:
    """Whether an effect's first time is before that of its cause."""
    return any(effects[key] < at_ms - SPARE_MS for key, at_ms in causes.items() if key in effects)


def _first(rows: Iterable[Row], key: Callable[[Row], Any]) -> Times:
    times: defaultdict[Any, float] = defaultdict(lambda: float("inf"))
    for row in rows:
        times[key(row)] = min(times[key(row)], row["at_ms"])
    return times


def _appends(run: PretestedRun) -> tuple[Times, Times]:
    def key(row: Row) -> Any:
        return row["topic"], row["partition"], row["leader_epoch"], row["base_offset"]

    rows = [*run.of("batch_appended")]
    return _first((row for row in rows if row["as_leader"]), key), _first(
        (row for row in rows if not row["as_leader"]), key
    )


def _roles(run: PretestedRun) -> tuple[Times, Times]:
    """A role follows the committed state of its leader epoch."""
    began = (row for row in run.of("role_changed") if row["leader_epoch"] >= 0)
    effects = _first(began, lambda row: (row["topic"], row["partition"], row["leader_epoch"]))
    causes: Times = {}
    for row, topic, partition, state in states_of_znodes(run):
        if state is not None:
            key = topic, partition, state.leader_epoch
            causes[key] = min(causes.get(key, row["at_ms"]), row["at_ms"])
        elif row["change"] != "deleted":
            return _UNKNOWN, {"": 0.0}
    return causes, effects


def _controllers(run: PretestedRun) -> tuple[Times, Times]:
    """A controller's term follows its committed epoch."""
    active = (row for row in run.of("controller_changed") if row["active"] and row["controller_epoch"] > 0)
    effects = _first(active, lambda row: row["controller_epoch"])
    if run.controller_epochs is None:
        return _UNKNOWN, {"": 0.0}
    committed = (row for row in run.of("znode_changed") if row["path"] == CONTROLLER_EPOCH)
    return _first(committed, lambda row: int(row["data"])), effects


def _quorum(run: PretestedRun) -> tuple[Times, Times]:
    rows = [*run.of("quorum_state_changed")]
    led = (row for row in rows if row["state"] == "leader")
    known = (row for row in rows if row["state"] != "leader" and row["leader"] >= 0)
    return _first(led, lambda row: (row["epoch"], row["leader"])), _first(
        known, lambda row: (row["epoch"], row["leader"])
    )


def _rules(run: PretestedRun) -> tuple[Times, Times]:
    return _first(run.of("fault_asked"), lambda row: row["rule"]), _first(
        run.of("fault_in_force"), lambda row: row["rule"]
    )


def _starts(run: PretestedRun) -> tuple[Times, Times]:
    requested = (row for row in run.of("machine_fault") if row["what"] == "start")
    return _first(requested, lambda row: (row["target"], row.get("life"))), _first(
        run.of("node_started"), lambda row: (row["node"], row["incarnation"])
    )


def _records(run: PretestedRun) -> tuple[Times, Times]:
    def key(row: Row) -> Any:
        return row["topic"], row["partition"], row["digest"]

    answered = (
        row
        for row in run.of("operation_ended")
        if row["kind"] == "produce" and row["outcome"] == "ok" and row["acks"] != 0
    )
    return _first((row for row in run.of("batch_appended") if row["as_leader"]), key), _first(answered, key)
