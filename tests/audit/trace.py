"""Traces for the audit's tests: verbs build them from the classes of `protocol.events`.

    TOGETHER = True

    def test_a_record_that_only_a_stale_leader_holds_is_lost(audit: Audit) -> None:
        trace = Trace().cluster().leader(0, epoch=0, followers=(1, 2)).produce("a", at=0)
        trace.leader(1, epoch=1).produce("x", at=1, followers=(), acks=1)
        assert audit(trace).checks["lost-acknowledged"].count == 1

A verb emits what the emulator would: `produce` is a client's operation, its append on the leader and on the
`followers`, and the high watermark that follows. Time goes on by one millisecond with every event, unless `at_ms` says
otherwise. What no verb says is said with `emit`, or to the lines in `files`; what lies beside the events with `beside`.

**Say TOGETHER in the module.** All tests of all modules that say so are then one question to Spark, of which a trace
more costs some ten milliseconds, and a module more nothing; without it every call of `audit` costs seconds. Such a test
takes `audit` and its parameters alone, no other fixture, calls it once, and makes the same trace whenever it is called
(`tests.audit.together` calls it twice). Two traces are two parameters. What the scenario expects is said by keywords
(`audit(trace, violations={"dual-leader": True})`, the fields of `Expected`), and what the audit left in the run's
directory is found at `trace.path`.
"""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple, Self

import msgspec

from protocol import events as e
from protocol.events.record_values import values_text

TOPIC = "t"
_RUN = re.compile(rb'"run":"[^"]*"')


def digest_of(value: str) -> int:
    """Stands for the CRC of a batch with this value."""
    return zlib.crc32(value.encode())


class TimedEvent(NamedTuple):
    """An event of a trace."""

    node: str
    incarnation: int
    cause: str
    at_ms: float
    event: e.Event


class Trace:
    """Events of one run, of Kafka `version` and with `settings`.

    `files`: {(node, incarnation, wire?): lines}. `beside`: {name: text} of the other files in its directory, which is
    `path` when it has been written. `caches`: {(broker, partition): its leader epochs and where they begin}. `cause`:
    of the events to come, as `topic_id`. `has_ids`: whether events have topic ids, as all had but those of format 1.
    """

    def __init__(self, run: str = "trace", version: str = "2.6", settings: str = "") -> None:
        self.run = run
        self.version = version
        self.settings = settings
        self.at_ms = 0.0
        self.cause = "test"
        self.events: list[TimedEvent] = []
        self.files: dict[tuple[str, int, bool], list[bytes]] = defaultdict(list)
        self.beside: dict[str, bytes] = {}
        self.path = Path()
        self.incarnations: dict[str, int] = {}
        self.seqs: dict[str, int] = {}
        self.operations = 0
        self.zxid = 0
        self.states: set[int] = set()
        self.caches: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        self.has_ids = True
        self.topic_id = ""

    def emit(self, node: str, event: e.Event, *, at_ms: float | None = None) -> Self:
        """One event of `node`, in its current incarnation."""
        if isinstance(event, e.OfTopic) and not event.topic_id:
            event.topic_id = self.topic_id
        self.at_ms = self.at_ms + 1 if at_ms is None else at_ms
        incarnation = self.incarnations.setdefault(node, 1)
        seq = self.seqs[node] = self.seqs.get(node, 0) + 1
        self.events.append(TimedEvent(node, incarnation, self.cause, self.at_ms, event))
        envelope = {
            "format": e.EVENT_FORMAT, "run": self.run, "node": node, "incarnation": incarnation, "seq": seq,
            "cause": self.cause, "mono_ms": self.at_ms, "wall_ms": 1.79e12 + self.at_ms, "at_ms": self.at_ms,
            "level": event.LEVEL, "event": event.NAME,
        }  # fmt: skip
        assert list(envelope) == list(e.ENVELOPE)
        line = msgspec.json.encode(envelope | msgspec.to_builtins(event)) + b"\n"
        self.files[node, incarnation, event.LEVEL == "wire"].append(line)
        return self

    def texts(self) -> dict[tuple[str, int, bool], bytes]:
        """The text of each of `files`."""
        texts = {key: b"".join(map(self._of_this_run, lines)) for key, lines in self.files.items()}
        if self.has_ids:
            return texts
        return {key: text.replace(b'"format":2', b'"format":1') for key, text in texts.items()}

    def write(self, directory: Path) -> Path:
        """The run's directory, made in `directory`."""
        run = directory / self.run
        (run / "events").mkdir(parents=True)
        for (node, incarnation, wire), text in self.texts().items():
            name = f"{node}.{incarnation}{'.wire' if wire else ''}.jsonl"
            (run / "events" / name).write_bytes(text)
        for name, text in self.beside.items():
            (run / name).write_bytes(text)
        self.path = run
        return run

    def _of_this_run(self, line: bytes) -> bytes:
        """The part that belongs to this run, whatever its name meanwhile."""
        called = b'"run":' + msgspec.json.encode(self.run)
        return _RUN.sub(lambda _: called, line, count=1)

    # --- processes ---

    def start(self, node: str, roles: str = "broker,controller", az: str | None = None) -> Self:
        """A node's first event, or the first of its next incarnation."""
        if node in self.incarnations:
            self.incarnations[node] += 1
            self.seqs[node] = 0
        number = node.rpartition("-")[2]
        zone = az if az is not None else f"az-{number}"
        return self.emit(node, e.NodeStarted(roles, zone, self.version, self.version, self.settings))

    def cluster(self, brokers: int = 3) -> Self:
        """Brokers, one client, and broker-2 as controller."""
        for broker in range(brokers):
            self.start(f"broker-{broker}")
        self.start("client-0", "client").start("session-0", "session")
        return self.controller(f"broker-{brokers - 1}", epoch=1)

    def input(self, cause: str) -> Self:
        """Set the cause of the events to come."""
        self.cause = cause
        return self

    def miss(self, node: str) -> Self:
        """The node's next event is not recorded."""
        self.seqs[node] += 1
        return self

    def stop(self, node: str, code: int = 0, reason: str = "") -> Self:
        return self.emit(node, e.NodeStopped(code, reason))

    def restart(self, node: str, roles: str = "broker,controller") -> Self:
        """The injector starts a node that had ended."""
        self.emit("injector", e.MachineFault("start", node, life=self.incarnations[node] + 1))
        return self.start(node, roles)

    def cut(self) -> Self:
        """A cut of az-0 is in force at broker-0."""
        self.emit("injector", e.FaultRequested("1", "cut az-0", False))
        return self.emit("broker-0", e.FaultInForce("1", "cut az-0"))

    def heal(self) -> Self:
        return self.emit("broker-0", e.FaultHealed("1", "cut az-0", 0))

    def hardware(self, node: str, what: str, operation_ms: float, clock_ahead_ms: float = 0.0) -> Self:
        """A node's disk is so slow, or its clock so wrong, from now on."""
        return self.kill(node, what).emit("injector", e.HardwareChanged(node, operation_ms, 0.0, clock_ahead_ms))

    def over(self) -> Self:
        """The run ends: all nodes stop."""
        for node in ("broker-0", "broker-1", "broker-2", "client-0", "session-0"):
            self.stop(node)
        return self

    def kill(self, node: str, what: str = "kill") -> Self:
        return self.emit("injector", e.MachineFault(what, node, life=self.incarnations.get(node, 0)))

    def controller(self, node: str, *, epoch: int, active: bool = True, at_ms: float | None = None) -> Self:
        return self.emit(node, e.ControllerChanged(active, epoch, "test"), at_ms=at_ms)

    # --- roles and logs ---

    def role(
        self,
        broker: int,
        role: str,
        *,
        epoch: int = 0,
        leader: int = 0,
        partition: int = 0,
        at_ms: float | None = None,
        isr: str = "0,1,2",
        high_watermark: int = 0,
        min_insync: int = 1,
    ) -> Self:
        """`isr`: of a leader."""
        reported = (0, high_watermark, isr if role == "leader" else "", "", "", min_insync)
        event = e.RoleChanged(TOPIC, partition, role, leader, epoch, epoch - 1, 1, *reported)
        return self.emit(f"broker-{broker}", event, at_ms=at_ms)

    def in_sync(self, broker: int, isr: str, *, high_watermark: int, min_insync: int) -> Self:
        """The leader is told that a change of its ISR is done."""
        return self.emit(f"broker-{broker}", e.IsrChangeEnded(TOPIC, 0, isr, "done", 1, 0, high_watermark, min_insync))

    def leader(self, broker: int, *, epoch: int = 0, followers: tuple[int, ...] = (), partition: int = 0) -> Self:
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

    def seen_again(self, server: str) -> Self:
        """Another server reports what the ensemble has just committed."""
        return self.emit(server, self.events[-1].event, at_ms=self.at_ms)

    def append(
        self,
        broker: int,
        value: str,
        *,
        at: int,
        epoch: int = 0,
        as_leader: bool = False,
        last: int | None = None,
        partition: int = 0,
    ) -> Self:
        """A batch with `value` at offsets `at` to `last`.

        The epoch's first one is noted in the cache.
        """
        end = at if last is None else last
        batch = e.BatchAppended(TOPIC, partition, at, end, epoch, digest_of(value), as_leader)
        self.emit(f"broker-{broker}", batch)
        cache = self.caches[broker, partition]
        if epoch >= 0 and (not cache or epoch > cache[-1][0]):
            self.epoch_began(broker, epoch, at, partition=partition)
        return self

    def answered_as_duplicate(
        self, sent: str, written: str, *, at: int, last: int = -1, broker: int = 0, epoch: int = 0
    ) -> Self:
        """`sent` came under the sequence numbers of `written`, which lies at `at` to `last`."""
        digests, last = (digest_of(sent), digest_of(written)), max(at, last)
        numbers = (7, 0, 5, 5 + last - at)
        return self.emit(f"broker-{broker}", e.DuplicateAnswered(TOPIC, 0, at, last, epoch, *digests, *numbers))

    def epoch_began(self, broker: int, epoch: int, at: int, *, partition: int = 0) -> Self:
        """Takes no time."""
        cache = self.caches[broker, partition]
        before = cache[-1] if cache else (-1, -1)
        cache.append((epoch, at))
        began = e.LeaderEpochBegan(
            TOPIC, partition, epoch, at, *before, len(cache) - 1, self._epochs(broker, partition)
        )
        return self.emit(f"broker-{broker}", began, at_ms=self.at_ms)

    def _epochs(self, broker: int, partition: int) -> str:
        return " ".join(f"{epoch}:{begins}" for epoch, begins in self.caches[broker, partition])

    def truncate(
        self,
        broker: int,
        to: int,
        *,
        log_end: int,
        reason: str = "epoch",
        partition: int = 0,
        high_watermark: int = 0,
        epochs: str | None = None,
    ) -> Self:
        """`epochs`: what is left in the cache; None: what begins below the cut."""
        cache = self.caches[broker, partition]
        cache[:] = [(epoch, begins) for epoch, begins in cache if begins < to and reason != "full"]
        left = self._epochs(broker, partition) if epochs is None else epochs
        cut = e.LogTruncated(TOPIC, partition, to, log_end, to < log_end, high_watermark, reason, left)
        return self.emit(f"broker-{broker}", cut)

    def loaded(
        self,
        broker: int,
        log_end: int,
        *,
        log_start: int = 0,
        clean: bool = False,
        checkpointed: int = -1,
        epochs: str | None = None,
    ) -> Self:
        """`epochs`: what is in the cache; None: what begins below the log's end."""
        cache = self.caches[broker, 0]
        cache[:] = [(epoch, begins) for epoch, begins in cache if begins < log_end]
        found = self._epochs(broker, 0) if epochs is None else epochs
        loaded = e.LogLoaded(TOPIC, 0, log_start, log_end, 0, clean, checkpointed=checkpointed, epochs=found)
        return self.emit(f"broker-{broker}", loaded)

    def isr_changed(self, broker: int, *, epoch: int, version: int, result: str = "done") -> Self:
        """A leader's change of the ISR ended."""
        return self.emit(f"broker-{broker}", e.IsrChangeEnded(TOPIC, 0, "0,1,2", result, version, epoch))

    def assigned(self, *brokers: int) -> Self:
        """The session service commits the replicas of partition 0. Takes no time."""
        self.zxid += 1
        data = msgspec.json.encode({"version": 1, "partitions": {"0": brokers}}).decode()
        changed = e.ZnodeChanged(f"/brokers/topics/{TOPIC}", "created", 0, self.zxid, data)
        return self.emit("session-0", changed, at_ms=self.at_ms)

    def later(self, ms: float) -> Self:
        """Nothing happens for so long; -1: the next event comes at the time of the last."""
        self.at_ms += ms
        return self

    def controller_epoch(self, epoch: int) -> Self:
        """The session service commits it. Takes no time."""
        self.zxid += 1
        changed = e.ZnodeChanged("/controller_epoch", "changed", self.zxid, self.zxid, str(epoch))
        return self.emit("session-0", changed, at_ms=self.at_ms)

    def records_deleted(self, broker: int, log_start: int, *, reason: str = "requested", epoch: int = 0) -> Self:
        """Its log begins at `log_start`, and so do its epochs."""
        cache = self.caches[broker, 0]
        below = [entry for entry in cache if entry[1] <= log_start]
        if below:
            cache[:] = [(below[-1][0], log_start), *(entry for entry in cache if entry[1] > log_start)]
        epochs = " ".join(f"{known}:{start}" for known, start in cache)
        return self.emit(f"broker-{broker}", e.LogStartMoved(TOPIC, 0, log_start, 0, reason, epoch, epochs))

    def of_topic(self, topic_id: str) -> Self:
        """The events to come are of this topic."""
        self.topic_id = topic_id
        return self

    def created(self, broker: int) -> Self:
        self.caches[broker, 0].clear()
        return self.emit(f"broker-{broker}", e.LogCreated(TOPIC, 0, ""))

    def deleted(self, broker: int, log_end: int, *, reason: str = "topic-deleted") -> Self:
        return self.emit(f"broker-{broker}", e.LogDeleted(TOPIC, 0, log_end, reason, ""))

    def removed(self, *, by: int = 2) -> Self:
        for partition in self.states:
            self.znode(partition, "deleted")
        self.states.clear()
        self.has_ids = bool(self.topic_id)
        return self.emit(f"broker-{by}", e.TopicRemoved(TOPIC, 1))

    def watermark(self, broker: int, to: int, *, previous: int, epoch: int = 0, leading: bool = True) -> Self:
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
        attempts: int = 1,
        idempotent: bool = False,
        values: str = "",
        records: int = 1,
        client: str = "",
        operation: str = "",
        transaction: str = "",
    ) -> Self:
        """A produce from its invocation to its end, as the client saw it.

        `values`: of the records of one batch, a character each; or `records`, without values; `value` then only stands
        for the batch's bytes.
        """
        operation = self.sent(
            value, broker=broker, partition=partition, attempts=attempts, values=values, records=records, acks=acks,
            client=client, operation=operation, transaction=transaction,
        )  # fmt: skip
        self.done(
            value, at=at, operation=operation, acks=acks, outcome=outcome, error=error, broker=broker,
            partition=partition, attempts=attempts, idempotent=idempotent, records=len(values) or records,
        )  # fmt: skip
        return self

    def sent(
        self,
        value: str,
        *,
        broker: int = 0,
        partition: int = 0,
        attempts: int = 1,
        acks: int = -1,
        values: str = "",
        records: int = 1,
        client: str = "",
        operation: str = "",
        transaction: str = "",
    ) -> str:
        """A produce that begins, and its attempts, of which the last has no end. Its operation.

        `operation`: NODE.INCARNATION:NUMBER; "": the next one of client-0.
        """
        self.operations += not operation
        operation = operation or f"client-0.{self.incarnations.get('client-0', 1)}:{self.operations}"
        node, digest = operation.partition(".")[0], digest_of(value)
        text = values_text([one.encode() for one in values]) if values else "" if records > 1 else value
        invoked = (TOPIC, partition, acks, text, broker, -1, client, len(values) or records, transaction)
        self.emit(node, e.OperationInvoked(operation, "produce", *invoked))
        for attempt in range(1, attempts):
            self.emit(node, e.AttemptSent(operation, attempt, broker, digest))
            self.emit(node, e.AttemptEnded(operation, attempt, -2, -1, "timed out"))
        self.emit(node, e.AttemptSent(operation, attempts, broker, digest))
        return operation

    def done(
        self,
        value: str,
        *,
        at: int,
        operation: str,
        acks: int = -1,
        outcome: str = "ok",
        error: int = 0,
        broker: int = 0,
        partition: int = 0,
        attempts: int = 1,
        idempotent: bool = False,
        records: int = 1,
    ) -> Self:
        """The end of a produce that was sent."""
        node, digest = operation.partition(".")[0], digest_of(value)
        self.emit(node, e.AttemptEnded(operation, attempts, error, at, ""))
        reported = (TOPIC, partition, at, -1, digest, acks, broker, attempts, idempotent, records)
        return self.emit(node, e.OperationEnded(operation, "produce", outcome, error, *reported))

    def ask(self, broker: int = 0, *, timeout_ms: int = 30_000, attempt: int = 1, client: int = 0) -> Self:
        """An attempt of the operation that began last, of a new one if it is the first."""
        name = f"client-{client}"
        self.operations += attempt == 1
        operation = f"{name}.{self.incarnations.get(name, 1)}:{self.operations}"
        if attempt == 1:
            self.emit(name, e.OperationInvoked(operation, "produce", TOPIC, 0, -1, "v", broker, -1))
        return self.emit(name, e.AttemptSent(operation, attempt, broker, 0, timeout_ms))

    def answer(self, error: int = 0, *, attempt: int = 1, reason: str = "") -> Self:
        """That attempt of client-0 ends."""
        operation = f"client-0.{self.incarnations.get('client-0', 1)}:{self.operations}"
        return self.emit("client-0", e.AttemptEnded(operation, attempt, error, -1, reason))

    def consume(self, offset: int = -1, *, isolation: str = "") -> str:
        """A consumer begins, at `offset` or (-1) where the cluster says. Its operation."""
        self.operations += 1
        operation = f"client-0.1:{self.operations}"
        invoked = e.OperationInvoked(operation, "fetch", TOPIC, 0, 0, "", -1, offset, isolation=isolation)
        self.emit("client-0", invoked)
        return operation

    def left(self, operation: str, offset: int, reason: str = "OffsetOutOfRangeException") -> Self:
        """A consumer leaves its position for another."""
        return self.emit("client-0", e.PositionLeft(operation, TOPIC, 0, offset, reason, False, -1))

    def group(
        self, kind: str, offset: int, *, client: int = 0, outcome: str = "ok", broker: int = 0, client_id: str = ""
    ) -> Self:
        """A group commits `offset`, or (`kind` committed) finds it.

        `broker` -1: in ZooKeeper. `client_id`: of a Kafka client, whose operations its broker's listener writes down.
        """
        self.operations += 1
        name = f"broker-{broker}" if client_id else f"client-{client}"
        operation = f"{name}.1:{self.operations}"
        requested = offset if kind == "commit" else -1
        self.emit(name, e.OperationInvoked(operation, kind, TOPIC, 0, 0, "g", -1, requested, client_id))
        error = 0 if outcome == "ok" else -2
        return self.emit(name, e.OperationEnded(operation, kind, outcome, error, TOPIC, 0, offset, -1, 0, 0, broker))

    def read(
        self, value: str, *, at: int, epoch: int = 0, high_watermark: int, broker: int = 0, operation: str = "",
        last: int = -1, stable: int = -1,
    ) -> Self:  # fmt: skip
        """The records returned to one operation; "": to one of its own."""
        if not operation:
            self.operations += 1
            operation = f"client-0.1:{self.operations}"
        end = max(at, last)
        content = (at, end, epoch, digest_of(value), high_watermark, broker)
        return self.emit("client-0", e.RecordsRead(operation, TOPIC, 0, *content, last_stable_offset=stable))

    # --- transactions ---

    def in_transaction(
        self, value: str, *, at: int, partition: int = 0, transaction: str = "", producer: int = 7,
        producer_epoch: int = 0, kind: str = "data", followers: tuple[int, ...] = (1, 2),
    ) -> Self:  # fmt: skip
        """A transactional batch that broker-0 and `followers` append.

        It is acknowledged to a client's `transaction`.
        """
        coordinator_epoch = -1 if kind == "data" else 0
        for broker in (0, *followers):
            self.append(broker, value, at=at, as_leader=broker == 0, partition=partition)
            identity = (producer, producer_epoch, 0, kind, coordinator_epoch, broker == 0, digest_of(value))
            self.emit(f"broker-{broker}", e.TransactionBatchAppended(TOPIC, partition, at, at, *identity))
        if partition == 0:
            self.watermark(0, at + 1, previous=at)
        return self.ended(value, at=at, partition=partition, transaction=transaction) if transaction else self

    def marker(
        self, kind: str, *, at: int, partition: int = 0, producer: int = 7, producer_epoch: int = 0
    ) -> Self:
        """A marker COMMIT or ABORT in all replicas."""
        value, of = f"{kind} at {at} of {partition}", (producer, producer_epoch)
        return self.in_transaction(
            value, at=at, partition=partition, producer=of[0], producer_epoch=of[1], kind=kind
        )

    def transaction(self, change: str, name: str = "T") -> Self:
        """A change of a client's transaction."""
        return self.emit("client-0", e.ProducerTransactionChanged("id", name, 1, change, 7, 0, ""))

    def coordinator(self, state: str, *, partitions: str = "t-0", producer: int = 7, at: int = 0) -> Self:
        """A state of a transactional id, in sync at offset `at` of `__transaction_state`."""
        changed = e.TransactionStateChanged("__transaction_state", 0, "id", producer, 0, state, partitions, 0, at, 0)
        return self.emit("broker-0", changed)

    def send_offset(self, offset: int, *, transaction: str = "T", outcome: str = "ok") -> Self:
        """An offset of group g for t-0, as part of a transaction."""
        self.operations += 1
        operation = f"client-0.1:{self.operations}"
        invoked = (TOPIC, 0, 0, "g", -1, offset)
        self.emit("client-0", e.OperationInvoked(operation, "send-offset", *invoked, transaction=transaction))
        error, of = 0 if outcome == "ok" else -2, (TOPIC, 0, offset, -1, 0, 0, 0)
        return self.emit("client-0", e.OperationEnded(operation, "send-offset", outcome, error, *of))

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
        """`value` acknowledged at offset `at`, appended by `leader` and `followers`.

        With followers, it is exposed too.
        """
        self.stored(value, at=at, epoch=epoch, leader=leader, followers=followers)
        if followers:
            self.watermark(leader, at + 1, previous=at, epoch=epoch)
        return self.ended(value, at=at, acks=acks, broker=leader)

    def stored(
        self,
        value: str,
        *,
        at: int,
        epoch: int = 0,
        leader: int = 0,
        followers: tuple[int, ...] = (1, 2),
        last: int | None = None,
    ) -> Self:
        """A batch that `leader` and `followers` append."""
        self.append(leader, value, at=at, last=last, epoch=epoch, as_leader=True)
        for follower in followers:
            self.append(follower, value, at=at, last=last, epoch=epoch)
        return self


def healthy(version: str = "2.6", settings: str = "") -> Trace:
    """Three replicas, three records, nothing wrong."""
    trace = Trace("healthy", version, settings).cluster().leader(0, epoch=0, followers=(1, 2))
    for offset, value in enumerate("abc"):
        trace.produce(value, at=offset)
    return trace.read("a", at=0, epoch=0, high_watermark=3)


def dual_leader() -> Trace:
    """az-isolated-leader: broker-0 goes on answering c, d, e while broker-1 leads.

    Then it truncates and catches up.
    """
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
