"""Makes a fresh Spark session quick: audits of a tiny run, so that the real one meets loaded classes.

The first query of a virtual machine takes several times as long as the second. A run that starts its machine early has
it plan the real audit (`audit.ahead`), and warms it up in what time is left while its cluster is at work, by some
checks at a time: when the cluster has ended, the real audit need not wait for more, for what it asks warms as well.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from protocol import events as e

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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


def warm_up(spark: SparkSession, scratch: Path, enough: Callable[[], bool] = lambda: False) -> None:
    """Audit a run of a few events, made in `scratch` (an existing directory), until it is `enough`."""
    from audit.checks.registry import CHECKS
    from audit.questions import CHECKS_A_QUERY
    from audit.run import audit_runs

    run = tiny_run(scratch)
    checks = tuple(CHECKS.values())
    for first in range(0, len(checks), CHECKS_A_QUERY):
        if enough():
            return
        [verdict] = audit_runs(spark, [run], scratch=str(scratch), checks=checks[first : first + CHECKS_A_QUERY])
        assert verdict.valid is True, verdict


def tiny_run(scratch: Path) -> Path:
    """The directory of a run of a few events, of both levels."""
    run = scratch / "warm-up"
    (run / "events").mkdir(parents=True, exist_ok=True)
    lines: dict[bool, list[bytes]] = {False: [], True: []}
    for seq, event in enumerate(_EVENTS, 1):
        envelope = {
            "format": e.EVENT_FORMAT, "run": "warm-up", "node": "broker-0", "incarnation": 1, "seq": seq,
            "cause": "start", "mono_ms": float(seq), "wall_ms": float(seq), "at_ms": float(seq),
            "level": event.LEVEL, "event": event.NAME,
        }  # fmt: skip
        lines[event.LEVEL == "wire"].append(msgspec.json.encode(envelope | msgspec.to_builtins(event)) + b"\n")
    (run / "events" / "broker-0.1.jsonl").write_bytes(b"".join(lines[False]))
    (run / "events" / "broker-0.1.wire.jsonl").write_bytes(b"".join(lines[True]))
    return run
