"""A run of a few events, for the audit's own needs (a class archive, a machine to warm up)."""

from pathlib import Path

import msgspec

from protocol import events as e

TINY_RUN = "tiny-run"
_TOPIC_PARTITION = ("t", 0)
_EVENTS: tuple[e.Event, ...] = (
    e.NodeStarted("broker,controller", "az-0", "2.6", "2.6"),
    e.ControllerChanged(True, 1, "elected"),
    e.ZnodeChanged("/brokers/topics/t/partitions/0/state", "created", 0, 1, '{"leader":0,"leader_epoch":0,"isr":[0]}'),
    e.RoleChanged(*_TOPIC_PARTITION, "leader", 0, 0, -1, 1, 0, 0, "0"),
    e.BatchAppended(*_TOPIC_PARTITION, 0, 0, 0, 7, True),
    e.LeaderEpochBegan(*_TOPIC_PARTITION, 0, 0, -1, -1, 0, "0:0"),
    e.HighWatermarkMoved(*_TOPIC_PARTITION, 1, 0, True, 0),
    e.OperationInvoked("client-0.1:1", "produce", *_TOPIC_PARTITION, 1, "a", 0, -1),
    e.AttemptEnded("client-0.1:1", 1, 0, 0, ""),
    e.OperationEnded("client-0.1:1", "produce", "ok", 0, *_TOPIC_PARTITION, 0, 0, 7, 1),
    e.RecordsRead("client-0.1:2", *_TOPIC_PARTITION, 0, 0, 0, 7, 1, 0),
    e.FrameSent("broker-0.1#1", "broker-1", "fetcher", 1, "FETCH", "request", 1, 100),
)


def tiny_run(scratch: Path) -> Path:
    """Create the run in `scratch`, with events of both levels; returns its directory."""
    run = scratch / TINY_RUN
    (run / "events").mkdir(parents=True, exist_ok=True)
    lines: dict[bool, list[bytes]] = {False: [], True: []}
    for seq, event in enumerate(_EVENTS, 1):
        envelope = {
            "format": e.EVENT_FORMAT, "run": TINY_RUN, "node": "broker-0", "incarnation": 1, "seq": seq,
            "cause": "start", "mono_ms": float(seq), "wall_ms": float(seq), "at_ms": float(seq),
            "level": event.LEVEL, "event": event.NAME,
        }  # fmt: skip
        lines[event.LEVEL == "wire"].append(msgspec.json.encode(envelope | msgspec.to_builtins(event)) + b"\n")
    (run / "events" / "broker-0.1.jsonl").write_bytes(b"".join(lines[False]))
    (run / "events" / "broker-0.1.wire.jsonl").write_bytes(b"".join(lines[True]))
    return run
