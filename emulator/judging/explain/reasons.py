"""Explains a broken promise in a sentence: a record's holders, and the removing event."""

from collections.abc import Sequence
from typing import Any, Final

from emulator.judging.explain.explanation import Evidence, explain
from emulator.judging.explain.loss_explanation import Fate
from emulator.judging.explain.run_history import UNTOLD, Cut, History, LostTail
from emulator.judging.oracle.promise_registry import UNCLEAN
from protocol.ids import topic_partition_of
from protocol.kinds import CutReason

ACKS: Final = {-1: "acks=all", 0: "acks=0", 1: "acks=1"}
POWER: Final = "power-loss"
NOWHERE: Final = -1
"""Without an offset: a record with acks=0 gets no response."""


def reason_of(check: str, details: Sequence[dict[str, Any]], run: Evidence) -> str:
    """Reason of a check's first violation. `details`: of its violations, as in the verdict."""
    if not details:
        return ""
    first = details[0]
    if check == "lost-acknowledged":
        return _lost(first, run)
    if check == "replica-divergence":
        return _parted(first, run)
    if check == "read-then-lost":
        return _read_then_lost(first, run)
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


def _lost(first: dict[str, Any], run: Evidence) -> str:
    fate = _fate(first, run)
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
        sentences.append(_in_sync(fate, run.history))
    return "; ".join(one for one in (*sentences, *_taken(fate, run, unclean=first["allowed"] == UNCLEAN)) if one)


def _read_then_lost(first: dict[str, Any], run: Evidence) -> str:
    fate = _fate(first, run)
    if fate is None:
        return str(first["text"])
    by = f"broker-{fate.record.broker}, leading in epoch {fate.record.epoch}"
    sentences = [f"what {by}, had written at offset {first['offset']} was read (times: {first['times']})"]
    if fate.committed_ms is not None:
        sentences.append(_in_sync(fate, run.history))
    return "; ".join(one for one in (*sentences, *_taken(fate, run, unclean=False)) if one)


def _parted(first: dict[str, Any], run: Evidence) -> str:
    """The follower that kept a diverging record, and the rule of its version that allows it."""
    found = next(one for one in run.violations() if one.what == "divergence")
    rule = explain(run, found)
    sentences = [str(first["text"]), *run.rules.events[:1]]
    return "; ".join([*sentences, *([f"semantics {rule.text}"] if rule is not None else [])])


def _fate(first: dict[str, Any], run: Evidence) -> Fate | None:
    """The fate of a violation's record; None if no leader ever wrote it."""
    topic_partition = topic_partition_of(first["partition"])
    assert topic_partition is not None, first
    found = run.rules.losses.fates.of(topic_partition, first.get("offset", NOWHERE), first["digest"])
    return found[0] if found else None


def _taken(fate: Fate, run: Evidence, *, unclean: bool) -> list[str]:
    """The leader elected without the record, and the event that removed the record from it."""
    sentences = []
    if fate.by is not None:
        how = " in an unclean election" if unclean else ""
        sentences.append(f"broker-{fate.by.broker} was elected{how} for epoch {fate.by.epoch} and did not have it")
    powerless = any(POWER in str(getattr(entry[5], "what", "")) for entry in run.events)
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
