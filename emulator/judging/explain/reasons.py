"""Explains a broken promise in a sentence: a record's holders, and the removing event."""

from typing import Any, Final

from emulator.judging.explain.broken_promises import broken_promises
from emulator.judging.explain.history_builder import history_of
from emulator.judging.explain.loss_explanation import Fate, Fates
from emulator.judging.explain.promise_rules import Rules, gates_of
from emulator.judging.explain.replica_logs import ReplicaLogs
from emulator.judging.explain.run_history import UNTOLD, Cut, History, LostTail
from emulator.judging.judged import JudgedRun
from emulator.judging.oracle.promise_registry import UNCLEAN
from emulator.runs.resolve import Resolved
from protocol.ids import topic_partition_of
from protocol.kinds import CutReason

ACKS: Final = {-1: "acks=all", 0: "acks=0", 1: "acks=1"}
POWER: Final = "power-loss"
NOWHERE: Final = -1
"""Without an offset: a record with acks=0 gets no response."""


def reason_of(check: str, run: JudgedRun, resolved: Resolved) -> str:
    """Reason of the first violation in the evidence."""
    evidence = run.verdict.checks[check].evidence
    if not evidence:
        return ""
    first = evidence[0]
    if check == "lost-acknowledged":
        return _lost(first, run, resolved)
    if check == "replica-divergence":
        return _parted(first, run, resolved)
    if check == "read-then-lost":
        return _read_then_lost(first, run, resolved)
    if check == "duplicate":
        return (
            f"a batch was sent in {first['attempts']} attempts, because no response came, and is in the log "
            f"{first['copies']} times: "
            + ("the leader knew the producer, but not the batch" if first["idempotent"] else
               "without idempotence a broker cannot recognize a batch that it has already")
        )  # fmt: skip
    if check == "reordered":
        return f"{first['text']}: several requests were in flight, and an earlier one was sent again after a later one"
    return str(first["text"])


def _lost(first: dict[str, Any], run: JudgedRun, resolved: Resolved) -> str:
    history, fate = _fate(first, run, resolved)
    acks = ACKS[first["acks"]]
    if fate is None:
        return f"{first['value']} was sent with {acks}, and no leader ever wrote it: acks=0 gets no response"
    by = f"broker-{fate.record.broker}, leading in epoch {fate.record.epoch}"
    if "offset" in first:
        sentences = [f"{first['value']} was acknowledged with {acks} at offset {first['offset']} by {by}"]
    else:
        sentences = [f"{first['value']} was sent with {acks} and written at offset {fate.offset} by {by}"]
    if fate.committed_ms is None:
        sentences.append("no high watermark ever passed it")
    elif fate.by is not None and first["acks"] == -1:
        sentences.append(_in_sync(fate, history))
    return "; ".join(one for one in (*sentences, *_taken(fate, run, unclean=first["allowed"] == UNCLEAN)) if one)


def _read_then_lost(first: dict[str, Any], run: JudgedRun, resolved: Resolved) -> str:
    history, fate = _fate(first, run, resolved)
    if fate is None:
        return str(first["text"])
    by = f"broker-{fate.record.broker}, leading in epoch {fate.record.epoch}"
    sentences = [f"what {by}, had written at offset {first['offset']} was read (times: {first['times']})"]
    if fate.committed_ms is not None:
        sentences.append(_in_sync(fate, history))
    return "; ".join(one for one in (*sentences, *_taken(fate, run, unclean=False)) if one)


def _parted(first: dict[str, Any], run: JudgedRun, resolved: Resolved) -> str:
    """The follower that kept a diverging record, and the rule of its version that allows it."""
    history = history_of(run.played.world.trace.entries)
    rules = Rules(resolved, history, tails=[])
    found = (one for one in broken_promises(run.truth, history) if one.what == "divergence")
    rule = rules.allowing(next(found))
    return "; ".join([str(first["text"]), *rules.events[:1], *([f"semantics {rule}"] if rule else [])])


def _fate(first: dict[str, Any], run: JudgedRun, resolved: Resolved) -> tuple[History, Fate | None]:
    """The fate of a violation's record; None if no leader ever wrote it."""
    history = history_of(run.played.world.trace.entries)
    fates = Fates(history, ReplicaLogs(gates_of(resolved), history, []))
    topic_partition = topic_partition_of(first["partition"])
    assert topic_partition is not None, first
    found = fates.of(topic_partition, first.get("offset", NOWHERE), first["digest"])
    return history, found[0] if found else None


def _taken(fate: Fate, run: JudgedRun, *, unclean: bool) -> list[str]:
    """The leader elected without the record, and the event that removed the record from it."""
    sentences = []
    if fate.by is not None:
        how = " in an unclean election" if unclean else ""
        sentences.append(f"broker-{fate.by.broker} was elected{how} for epoch {fate.by.epoch} and did not have it")
    powerless = any(POWER in str(getattr(entry[5], "what", "")) for entry in run.played.world.trace.entries)
    return sentences + _gone(fate, power=powerless)


def _in_sync(fate: Fate, history: History) -> str:
    states = [one for one in history.states.get(fate.topic_partition, []) if one.at_ms <= (fate.committed_ms or 0.0)]
    return f"its ISR was {sorted(states[-1].state.isr)} then" if states else ""


def _gone(fate: Fate, *, power: bool) -> list[str]:
    match fate.gone:
        case Cut(broker=broker, reason=reason, to=to) if reason == UNTOLD:
            how = "with its power it lost what was not flushed" if power else "its log was shorter"
            return [f"when broker-{broker} came back, {how}, from offset {to} on"]
        case Cut(broker=broker, reason=CutReason.HIGH_WATERMARK, to=to):
            return [
                f"broker-{broker} had cut its log to its own high watermark, {to}, when it began to follow (KIP-101)"
            ]
        case Cut(broker=broker, to=to):
            return [f"broker-{broker} had cut its log to {to} to follow another leader"]
        case LostTail(broker=broker, first=first):
            return [f"broker-{broker} came back without what was behind offset {first}"]
    return []
