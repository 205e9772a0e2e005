"""Judgement of a run: its expectations against observations, checks and measures.

`judge` makes the list `expectations` of verdict.json. `held` is true, false, or "unknown" where a check or a measure of
it is missing. A missing entry does not meet an expectation.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from emulator.scenario.expectations import NOTHING
from emulator.scenario.observations.comparable import first_partition, same, version_name
from emulator.scenario.observations.observation_model import Entry, Observations
from emulator.scenario.scenario_model import Expectation, ExpectedExit, ExpectedViolation, Scenario
from emulator.topology import broker_name

Held = bool | str
"""True, False, or "unknown"."""

UNKNOWN = "unknown"
APART = frozenset(("nth", "broker", "group", "partition", "called", "verb", "topic"))
"""Keys of an expectation that say which entry is meant."""


class Judged(msgspec.Struct, frozen=True):
    """A judged expectation. `seen`: the actual result; null if there was none."""

    text: str
    held: Held
    seen: Any


def judge(
    scenario: Scenario,
    observations: Observations,
    checks: Mapping[str, Mapping[str, Any]],
    measures: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Judge a scenario's expectations, violations and exits.

    `checks` and `measures` as in verdict.json, the observations as read. One {"text", "held", "seen"} for each
    expectation of the run's version, then one for each expected violation and exit.
    """
    version = version_name(observations.kafka)
    judged = [
        _judged(expectation, scenario, observations, checks, measures or {})
        for expectation in scenario.expectations_for(version)
    ]
    wanted = scenario.violations_expected(version).values()
    judged += [_violation(v, checks) for v in wanted if not v.sometimes]
    judged += [_exit(e, measures or {}) for e in scenario.exits_expected(version).values()]
    return [msgspec.to_builtins(one) for one in judged]


def _judged(
    expectation: Expectation,
    scenario: Scenario,
    observations: Observations,
    checks: Mapping[str, Mapping[str, Any]],
    measures: Mapping[str, Any],
) -> Judged:
    what = expectation.what
    match expectation.of:
        case "attempts":
            held, seen = _attempts(what, observations)
        case "transaction":
            held, seen = _entry(what, _transactions(what, observations))
        case "fetch":
            held, seen = _entry(what, _fetches(observations, what["broker"]))
        case "consume" | "commit" | "committed" as kind:
            held, seen = _entry(what, _of_group(kind, what, observations))
        case "workload":
            return _workload(expectation.text, what, scenario, observations)
        case "metadata":
            answers = _saw(observations, "metadata", broker=what["broker"])
            held, seen = _entry(what, [{"error": 0, **answer} for answer in answers])
        case "list_offsets":
            held, seen = _entry(what, _offsets(what, observations))
        case "wait":
            held, seen = _entry(what, _waits(what["called"], observations))
        case "admin":
            keys = {key: what[key] for key in ("verb", "topic") if key in what}
            held, seen = _entry(what, _saw(observations, "admin", **keys))
        case "snapshot":
            held, seen = _snapshot(what, observations)
        case "state":
            held, seen = _entry(what, _states(what, observations))
        case "controller":
            held, seen = _entry(what, [c for c in observations.controllers if c["controller"] is not None])
        case "quorum":
            held, seen = _quorum(what, _saw(observations, "quorum"))
        case "partitions":
            held, seen = _partitions(what, _saw(observations, "partitions"))
        case "isr_changes":
            changes = _isr_changes(what, observations)
            held, seen = all(_bounds(what, changes)), changes
        case "check":
            return _check(expectation.text, what, checks)
        case "measure":
            return _measure(expectation.text, what, measures)
        case of:
            raise AssertionError(f"an expectation of {of!r} cannot have been loaded")
    return Judged(expectation.text, held, seen)


def _saw(observations: Observations, kind: str, **keys: Any) -> list[Entry]:
    return [
        entry
        for entry in observations.timeline
        if entry.get("saw") == kind and all(same(entry.get(key), value) for key, value in keys.items())
    ]


def _states(what: Mapping[str, Any], observations: Observations) -> list[Entry]:
    """Of the partition that is meant, without a word the first."""
    first = first_partition(observations)
    meant = what.get("partition", first)
    return [state for state in observations.partition_states if (state.get("partition") or first) == meant]


def _transactions(what: Mapping[str, Any], observations: Observations) -> list[Entry]:
    keys = {key: what[key] for key in ("transactional_id", "number") if key in what}
    return _saw(observations, "transaction", **keys)


def _waits(called: str, observations: Observations) -> list[Entry]:
    """Whether each wait of that name held."""
    kinds = {"reached": True, "not-reached": False}
    ended = [entry for entry in observations.timeline if entry.get("saw") in kinds and entry["until"] == called]
    return [{"held": kinds[entry["saw"]]} for entry in ended]


def _fetches(observations: Observations, broker: int) -> list[Entry]:
    """Fetches of a broker, with a list of only the values beside the records."""
    return [
        {**entry, "values": None if entry["records"] is None else [record[-1] for record in entry["records"]]}
        for entry in _saw(observations, "fetch", broker=broker)
    ]


def _of_group(kind: str, what: Mapping[str, Any], observations: Observations) -> list[Entry]:
    """A group's operations on one partition, by default the scenario's first.

    `none`: no committed offset.
    """
    first = first_partition(observations)
    found = []
    for entry in _saw(observations, kind, group=what["group"]):
        if entry.get("partition", first) == what.get("partition", first):
            shown: Entry = dict(entry)
            shown.update((key, NOTHING) for key in ("committed", "offset") if entry.get(key, 0) is None)
            if kind == "consume":
                shown["values"] = [record[-1] for record in entry["records"]]
            found.append(shown)
    return found


def _offsets(what: Mapping[str, Any], observations: Observations) -> list[Entry]:
    """A broker's offsets of one partition, by default the scenario's first."""
    first = first_partition(observations)
    listed = _saw(observations, "list-offsets", broker=what["broker"])
    return [entry for entry in listed if entry.get("partition", first) == what.get("partition", first)]


def _entry(what: Mapping[str, Any], entries: list[Entry]) -> tuple[Held, Any]:
    """The `nth` entry (by default the last) has every expected value."""
    nth = what.get("nth", len(entries))
    if not 1 <= nth <= len(entries):
        return False, None
    entry = entries[nth - 1]
    expected = {key: value for key, value in what.items() if key not in APART}
    seen = {key: entry.get(key) for key in expected}
    return same(expected, seen), seen


def _partitions(what: Mapping[str, Any], entries: list[Entry]) -> tuple[Held, Any]:
    """Counts are as expected; leaders, and replicas, differ at most so much among brokers."""
    nth = what.get("nth", len(entries))
    if not 1 <= nth <= len(entries):
        return False, None
    entry = entries[nth - 1]
    seen: dict[str, Any] = {}
    held = True
    for key, expected in what.items():
        match key:
            case "nth":
                continue
            case "not_led_by":
                seen[key] = [broker for broker in expected if not entry["leaders"].get(broker_name(broker))]
                held = held and seen[key] == expected
            case "leaders_apart" | "replicas_apart":
                counts = entry[key.removesuffix("_apart")].values()
                seen[key] = max(counts) - min(counts)
                held = held and seen[key] <= expected
            case _:
                seen[key] = entry.get(key)
                held = held and same(expected, seen[key])
    return held, seen


def _quorum(what: Mapping[str, Any], entries: list[Entry]) -> tuple[Held, Any]:
    """A controller's answer to DescribeQuorum; without `controller` the leader's.

    Only the leader answers without an error, with its epoch.
    """
    whose = what.get("controller")
    entries = [one for one in entries if ("leader" in one if whose is None else one["controller"] == whose)]
    nth = what.get("nth", len(entries))
    if not 1 <= nth <= len(entries):
        return False, None
    entry = entries[nth - 1]
    epoch = entry.get("epoch")
    held = what.get("leads", "leader" in entry) == ("leader" in entry)
    bounds = (what.get("epoch_at_least"), what.get("epoch_at_most"))
    if any(bound is not None for bound in bounds):
        low, high = bounds
        held = held and epoch is not None and (low or epoch) <= epoch <= (epoch if high is None else high)
    return held, {"leads": "leader" in entry, "epoch": epoch}


def _attempts(what: Mapping[str, Any], observations: Observations) -> tuple[Held, Any]:
    """Of each value, the last attempt that fits broker and acks."""
    keys = {key: what[key] for key in ("broker", "acks") if key in what}
    expected, seen = [], []
    offsets = what.get("offsets", [])
    for index, value in enumerate(what["values"]):
        tries = _saw(observations, "attempt", value=value, **keys)
        wanted = {"value": value}
        if "error" in what:
            wanted["error"] = what["error"]
        if "tries" in what:
            wanted["tries"] = what["tries"]
        if index < len(offsets):
            wanted["offset"] = offsets[index]
        found = {**tries[-1], "tries": len(tries)} if tries else {}
        expected.append(wanted)
        seen.append({key: found.get(key) for key in wanted})
    return same(expected, seen) and len(offsets) in (0, len(expected)), seen


def _snapshot(what: Mapping[str, Any], observations: Observations) -> tuple[Held, Any]:
    """Named replicas of a partition hold these values, epoch entries, high watermark.

    The partition is by default the first; the high watermark is the checkpointed one.
    """
    first = first_partition(observations)
    meant = what.get("partition", first)
    snapshots = _saw(observations, "snapshot", label=what["label"])
    snapshots = [one for one in snapshots if (one.get("partition") or first) == meant]
    if not snapshots:
        return False, None
    replicas = snapshots[-1]["replicas"]
    seen = {node: _replica(replicas.get(node), what) for node in what["replicas"]}
    expected = {key: what[key] for key in ("values", "epochs", "high_watermark") if key in what}
    return bool(seen) and all(same(expected, replica) for replica in seen.values()), seen


def _replica(replica: Mapping[str, Any] | None, what: Mapping[str, Any]) -> dict[str, Any] | None:
    if replica is None:
        return None
    checkpointed = replica["high_watermark_checkpoint"]
    found = {
        "values": [record[-1] for record in replica["log"]],
        "epochs": replica["leader_epochs"],
        "high_watermark": "none" if checkpointed is None else checkpointed,
    }
    return {key: value for key, value in found.items() if key in what}


def _isr_changes(what: Mapping[str, Any], observations: Observations) -> int:
    """Number of the broker's requests to shrink, or expand, the ISR."""
    changes = [change for change in observations.isr_changes if same(change["broker"], what["broker"])]
    shrinks: int = sum(change["now"].count(",") < change["was"].count(",") for change in changes)
    return shrinks if what["change"] == "shrink" else len(changes) - shrinks


def _workload(text: str, what: Mapping[str, Any], scenario: Scenario, observations: Observations) -> Judged:
    """Count over all workloads of a name; unknown where a client could not report its own."""
    azs = what.get("azs") or scenario.topology.azs
    clients = {node.name for node in scenario.topology.nodes if node.az in azs}
    ended = [one for one in _saw(observations, "workload", name=what["name"]) if one["client"] in clients]
    silent = sorted({f"{one['client']}: {one['error']}" for one in ended if one.get("error")})
    if silent:
        return Judged(text, UNKNOWN, "; ".join(silent))
    if not ended:
        return Judged(text, False, None)
    count = sum(one.get(what["count"], 0) for one in ended)
    return Judged(text, all(_bounds(what, count)), count)


def _check(text: str, what: Mapping[str, Any], checks: Mapping[str, Mapping[str, Any]]) -> Judged:
    check = checks.get(what["name"])
    if check is None:
        return Judged(text, UNKNOWN, f"{what['name']} was not judged: this run's judge has no such check")
    if check.get("verdict") not in ("held", "violated"):
        return Judged(text, UNKNOWN, ": ".join(word for word in (check.get("verdict"), check.get("reason")) if word))
    expected = {key: what[key] for key in ("verdict", "count") if key in what}
    seen = {key: check.get(key) for key in expected}
    return Judged(text, same(expected, seen), seen)


def _violation(violation: ExpectedViolation, checks: Mapping[str, Mapping[str, Any]]) -> Judged:
    text = f"{violation.check} is violated: {violation.because}"
    what: dict[str, Any] = {"name": violation.check, "verdict": "violated"}
    if violation.count is not None:
        what |= {"count": violation.count}
    return _check(text, what, checks)


def _exit(expected: ExpectedExit, measures: Mapping[str, Any]) -> Judged:
    text = f"{expected.node} exits: {expected.because}"
    exits = measures.get("exits")
    return Judged(text, UNKNOWN, None) if exits is None else Judged(text, expected.node in exits, exits)


def _measure(text: str, what: Mapping[str, Any], measures: Mapping[str, Any]) -> Judged:
    """`unavailable_ms.az-0`: dots lead into nested measures."""
    found: Any = measures
    for part in what["name"].split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    if isinstance(found, bool) or not isinstance(found, int | float):
        return Judged(text, UNKNOWN, f"{what['name']} was not measured")
    return Judged(text, all(_bounds(what, found)), found)


def _bounds(what: Mapping[str, Any], found: float) -> Iterator[bool]:
    yield found >= what.get("at_least", found)
    yield found <= what.get("at_most", found)
