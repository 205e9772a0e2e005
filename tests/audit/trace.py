"""Traces for the audit's tests, told in a few verbs and made of the classes of `protocol.events`.

    trace = Trace().brokers(3).leader(0, epoch=0).produce("a", at=0)
    trace.write(tmp_path)        # a run's directory

A verb emits what the emulator would: `produce` is a client's operation, its append on the leader and on the
`followers`,
and the high watermark that follows. Time goes on by one millisecond with every event, unless `at_ms` says otherwise.
"""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from pathlib import Path
from typing import Self

import msgspec

from protocol import events as e

TOPIC = "t"
_RUN = re.compile(rb'"run":"[^"]*"')


def digest_of(value: str) -> int:
    """Stands for the CRC of a batch with this value."""
    return zlib.crc32(value.encode())


class Trace:
    """Events of one run. `files`: {(node, incarnation, wire?): lines}."""

    def __init__(self, run: str = "trace") -> None:
        self.run = run
        self.at_ms = 0.0
        self.files: dict[tuple[str, int, bool], list[bytes]] = defaultdict(list)
        self.incarnations: dict[str, int] = {}
        self.seqs: dict[str, int] = {}
        self.operations = 0
        self.zxid = 0
        self.states: set[int] = set()

    def emit(self, node: str, event: e.Event, *, at_ms: float | None = None) -> Self:
        """One event of `node`, in its current incarnation."""
        self.at_ms = self.at_ms + 1 if at_ms is None else at_ms
        incarnation = self.incarnations.setdefault(node, 1)
        seq = self.seqs[node] = self.seqs.get(node, 0) + 1
        envelope = {
            "format": e.EVENT_FORMAT, "run": self.run, "node": node, "incarnation": incarnation, "seq": seq,
            "cause": "test", "mono_ms": self.at_ms, "wall_ms": 1.79e12 + self.at_ms, "at_ms": self.at_ms,
            "level": event.LEVEL, "event": event.NAME,
        }  # fmt: skip
        assert list(envelope) == list(e.ENVELOPE)
        line = msgspec.json.encode(envelope | msgspec.to_builtins(event)) + b"\n"
        self.files[node, incarnation, event.LEVEL == "wire"].append(line)
        return self

    def write(self, directory: Path) -> Path:
        """The run's directory, made in `directory`."""
        run = directory / self.run
        (run / "events").mkdir(parents=True)
        for (node, incarnation, wire), lines in self.files.items():
            name = f"{node}.{incarnation}{'.wire' if wire else ''}.jsonl"
            (run / "events" / name).write_bytes(b"".join(map(self._of_this_run, lines)))
        return run

    def _of_this_run(self, line: bytes) -> bytes:
        """Whatever the run was called meanwhile."""
        called = b'"run":' + msgspec.json.encode(self.run)
        return _RUN.sub(lambda _: called, line, count=1)

    # --- processes ---

    def start(self, node: str, roles: str = "broker,controller", az: str | None = None) -> Self:
        """A node's first event, or the first of its next incarnation."""
        if node in self.incarnations:
            self.incarnations[node] += 1
            self.seqs[node] = 0
        number = node.rpartition("-")[2]
        return self.emit(node, e.NodeStarted(roles, az if az is not None else f"az-{number}", "2.6", "2.6"))

    def cluster(self, brokers: int = 3) -> Self:
        """Brokers, one client, and broker-2 as controller."""
        for broker in range(brokers):
            self.start(f"broker-{broker}")
        self.start("client-0", "client").start("session-0", "session")
        return self.controller(f"broker-{brokers - 1}", epoch=1)

    def stop(self, node: str, code: int = 0, reason: str = "") -> Self:
        return self.emit(node, e.NodeStopped(code, reason))

    def kill(self, node: str, what: str = "kill") -> Self:
        return self.emit("injector", e.MachineFault(what, node, life=self.incarnations.get(node, 0)))

    def controller(self, node: str, *, epoch: int, active: bool = True, at_ms: float | None = None) -> Self:
        return self.emit(node, e.ControllerChanged(active, epoch, "test"), at_ms=at_ms)

    # --- roles and logs ---

    def role(
        self, broker: int, role: str, *, epoch: int, leader: int = 0, partition: int = 0, at_ms: float | None = None
    ) -> Self:
        isr = "0,1,2" if role == "leader" else ""
        event = e.RoleChanged(TOPIC, partition, role, leader, epoch, epoch - 1, 1, 0, 0, isr)
        return self.emit(f"broker-{broker}", event, at_ms=at_ms)

    def leader(self, broker: int, *, epoch: int, followers: tuple[int, ...] = (), partition: int = 0) -> Self:
        """`broker` leads from now on, and `followers` know it."""
        self.state(leader=broker, epoch=epoch, isr=(broker, *followers), partition=partition)
        self.role(broker, "leader", epoch=epoch, leader=broker, partition=partition)
        for follower in followers:
            self.role(follower, "follower", epoch=epoch, leader=broker, partition=partition)
        return self

    def state(
        self, *, leader: int, epoch: int, isr: tuple[int, ...], controller_epoch: int = 1, partition: int = 0
    ) -> Self:
        """The session service commits a partition's state. Takes no time."""
        change = "changed" if partition in self.states else "created"
        self.states.add(partition)
        known = {"leader": leader, "leader_epoch": epoch, "isr": isr, "controller_epoch": controller_epoch}
        return self.znode(partition, change, msgspec.json.encode(known | {"version": 1}).decode())

    def znode(self, partition: int, change: str, data: str = "") -> Self:
        self.zxid += 1
        path = f"/brokers/topics/{TOPIC}/partitions/{partition}/state"
        return self.emit("session-0", e.ZnodeChanged(path, change, self.zxid, self.zxid, data), at_ms=self.at_ms)

    def append(
        self,
        broker: int,
        value: str,
        *,
        at: int,
        epoch: int,
        as_leader: bool = False,
        last: int | None = None,
        partition: int = 0,
    ) -> Self:
        """A batch with `value` at offsets `at` to `last`."""
        end = at if last is None else last
        batch = e.BatchAppended(TOPIC, partition, at, end, epoch, digest_of(value), as_leader)
        return self.emit(f"broker-{broker}", batch)

    def truncate(self, broker: int, to: int, *, log_end: int, reason: str = "epoch", partition: int = 0) -> Self:
        cut = e.LogTruncated(TOPIC, partition, to, log_end, to < log_end, 0, reason)
        return self.emit(f"broker-{broker}", cut)

    def loaded(self, broker: int, log_end: int, *, log_start: int = 0, clean: bool = False) -> Self:
        return self.emit(f"broker-{broker}", e.LogLoaded(TOPIC, 0, log_start, log_end, 0, clean))

    def created(self, broker: int) -> Self:
        return self.emit(f"broker-{broker}", e.LogCreated(TOPIC, 0, ""))

    def deleted(self, broker: int, log_end: int, *, reason: str = "topic-deleted") -> Self:
        return self.emit(f"broker-{broker}", e.LogDeleted(TOPIC, 0, log_end, reason, ""))

    def removed(self, *, by: int = 2) -> Self:
        for partition in self.states:
            self.znode(partition, "deleted")
        self.states.clear()
        return self.emit(f"broker-{by}", e.TopicRemoved(TOPIC, 1))

    def watermark(self, broker: int, to: int, *, previous: int, epoch: int, leading: bool = True) -> Self:
        return self.emit(f"broker-{broker}", e.HighWatermarkMoved(TOPIC, 0, to, previous, leading, epoch))

    # --- clients ---

    def ended(
        self,
        value: str,
        *,
        at: int,
        acks: int = -1,
        outcome: str = "ok",
        error: int = 0,
        broker: int = 0,
        partition: int = 0,
    ) -> Self:
        """A produce from its invocation to its end, as the client saw it."""
        self.operations += 1
        operation = f"client-0.{self.incarnations.get('client-0', 1)}:{self.operations}"
        digest = digest_of(value)
        self.emit("client-0", e.OperationInvoked(operation, "produce", TOPIC, partition, acks, value, broker, -1))
        self.emit("client-0", e.AttemptSent(operation, 1, broker, digest))
        self.emit("client-0", e.AttemptEnded(operation, 1, error, at, ""))
        ended = e.OperationEnded(operation, "produce", outcome, error, TOPIC, partition, at, -1, digest, acks)
        return self.emit("client-0", ended)

    def read(self, value: str, *, at: int, epoch: int, high_watermark: int, broker: int = 0) -> Self:
        self.operations += 1
        operation = f"client-0.1:{self.operations}"
        read = e.RecordsRead(operation, TOPIC, 0, at, at, epoch, digest_of(value), high_watermark, broker)
        return self.emit("client-0", read)

    def produce(
        self,
        value: str,
        *,
        at: int,
        epoch: int = 0,
        leader: int = 0,
        followers: tuple[int, ...] = (1, 2),
        acks: int = -1,
    ) -> Self:
        """`value` acknowledged at offset `at`, appended by `leader` and `followers`; with followers, exposed too."""
        self.append(leader, value, at=at, epoch=epoch, as_leader=True)
        for follower in followers:
            self.append(follower, value, at=at, epoch=epoch)
        if followers:
            self.watermark(leader, at + 1, previous=at, epoch=epoch)
        return self.ended(value, at=at, acks=acks, broker=leader)


def healthy() -> Trace:
    """Three replicas, three records, nothing wrong."""
    trace = Trace("healthy").cluster().leader(0, epoch=0, followers=(1, 2))
    for offset, value in enumerate("abc"):
        trace.produce(value, at=offset)
    return trace.read("a", at=0, epoch=0, high_watermark=3)


def dual_leader() -> Trace:
    """az-isolated-leader: broker-0 goes on answering c, d, e while broker-1 leads; then it truncates and catches up."""
    trace = Trace("dual-leader").cluster().leader(0, epoch=0, followers=(1, 2))
    trace.produce("a", at=0).produce("b", at=1)
    trace.leader(1, epoch=1, followers=(2,))
    for offset, value in enumerate("cde", start=2):
        trace.produce(value, at=offset, leader=0, followers=(), acks=1)
    for offset, value in enumerate("fg", start=2):
        trace.produce(value, at=offset, epoch=1, leader=1, followers=(2,), acks=1)
    trace.role(0, "follower", epoch=1, leader=1)
    trace.truncate(0, 2, log_end=5)
    for offset, value in enumerate("fg", start=2):
        trace.append(0, value, at=offset, epoch=1)
    return trace
