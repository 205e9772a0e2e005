"""Makes a run's directory of any size for the audit's benchmark, with one dual leader.

    python -m benchmarks.synthetic_run DIRECTORY [EVENTS] [PARTITIONS] [WIRE]

Three brokers, one client. A record is ten events: invoked, sent, answered and ended at the client, one append and one
move of the high watermark on each replica. In the last tenth of partition 0 broker-0 is cut off and goes on answering
acks=1; it truncates what it wrote at the end, so the audit has lost records and a dual leader to find. WIRE is how many
`frame_sent` events (their own files) come on top of EVENTS. Lines are made from the classes of `protocol.events`.
"""

import sys
from pathlib import Path
from typing import IO

import msgspec

from emulator.exit_codes import HELD, UNUSABLE
from emulator.toplevel_errors import ended
from protocol import events as e

RUN = "synthetic"
EVENTS_PER_RECORD = 10
_ENCODER = msgspec.json.Encoder()
_FIRST_FIELDS = (
    "format",
    "run",
    "node",
    "incarnation",
    "seq",
    "cause",
    "mono_ms",
    "wall_ms",
    "at_ms",
    "level",
    "event",
)
assert tuple(e.ENVELOPE) == _FIRST_FIELDS, "the envelope has changed: change `Writer.write` too"


class Writer:
    """One node's file. Hand-made envelope: three million lines through a dict take minutes."""

    def __init__(self, path: Path, node: str, seq: int = 0, run: str = RUN) -> None:
        self.file: IO[bytes] = path.open("wb", buffering=1 << 20)
        self.node = node
        self.run = run
        self.seq = seq

    def write(self, at_ms: float, event: e.Event) -> None:
        self.seq += 1
        self.file.write(
            b'{"format":%d,"run":"%s","node":"%s","incarnation":1,"seq":%d,"cause":"client-0.1#3/%d","mono_ms":%.3f,'
            b'"wall_ms":%.3f,"at_ms":%.3f,"level":"%s","event":"%s",%s\n'
            % (
                e.EVENT_FORMAT, self.run.encode(), self.node.encode(), self.seq, self.seq, at_ms, 1.79e12 + at_ms,
                at_ms, event.LEVEL.encode(), event.NAME.encode(), _ENCODER.encode(event)[1:],
            )
        )  # fmt: skip

    def close(self) -> None:
        self.file.close()


class Partition:
    """State of one partition being written: the majority's log, and the stale leader's."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.log_end = 0
        self.epoch = 0
        self.leader = 0
        self.stale_end: int | None = None
        self.cut_at = 0
        self.missed: list[int] = []
        """Digests of the majority's writes since `cut_at`."""
        self.caches: dict[int, list[tuple[int, int]]] = {}
        """{broker: its leader epochs and where they begin}"""


def write_run(directory: Path, events: int, partitions: int = 4, wire: int = 0, *, run: str = RUN) -> int:
    """Write a run; returns the number of events.

    `events` and `wire`, rounded down to whole records. `run`: its name.
    """
    (directory / "events").mkdir(parents=True, exist_ok=True)
    nodes = {
        name: Writer(directory / "events" / f"{name}.1.jsonl", name, run=run)
        for name in (*map(_broker, range(3)), "client-0")
    }
    for name, writer in nodes.items():
        roles = "client" if name == "client-0" else "broker,controller"
        writer.write(0.0, e.NodeStarted(roles=roles, az=f"az-{name[-1]}", kafka_version="2.6", protocol_version="2.6"))
    nodes["broker-2"].write(1.0, e.ControllerChanged(True, 1, "elected"))
    parts = [Partition(number) for number in range(partitions)]
    for part in parts:
        for broker in range(3):
            nodes[_broker(broker)].write(2.0, _role(part, broker))
    records = events // EVENTS_PER_RECORD
    written = 5 + 3 * partitions
    cut_at = records - records // 10
    for index in range(records):
        at_ms = 10.0 + index * 0.5
        part = parts[index % partitions]
        if index == cut_at:
            written += _elect_new_leader(nodes, parts[0], at_ms)
        stale = part.stale_end is not None and index % 3 == 0
        written += _write_record(nodes, part, index, at_ms, stale)
    written += _heal(nodes, parts[0], 10.0 + records * 0.5)
    for writer in nodes.values():
        writer.close()
    return written + _write_wire(directory, nodes, wire)


def _broker(number: int) -> str:
    return f"broker-{number}"


def _role(part: Partition, broker: int) -> e.RoleChanged:
    leads = broker == part.leader
    return e.RoleChanged(
        topic="t", partition=part.number, role="leader" if leads else "follower", leader=part.leader,
        leader_epoch=part.epoch, previous_epoch=part.epoch - 1, controller_epoch=1, log_end=part.log_end,
        high_watermark=part.log_end, isr="0,1,2" if leads else "",
    )  # fmt: skip


def _elect_new_leader(nodes: dict[str, Writer], part: Partition, at_ms: float) -> int:
    part.stale_end = part.cut_at = part.log_end
    part.leader, part.epoch = 1, 1
    for broker in (1, 2):
        nodes[_broker(broker)].write(at_ms, _role(part, broker))
    return 2


def _write_record(nodes: dict[str, Writer], part: Partition, index: int, at_ms: float, stale: bool) -> int:
    client = nodes["client-0"]
    operation, digest, topic_partition = f"client-0.1:{index}", (index * 2654435761) % 2**32, ("t", part.number)
    if stale:
        assert part.stale_end is not None
        offset, acks, leader, epoch, replicas = part.stale_end, 1, 0, 0, [0]
        part.stale_end += 1
    else:
        offset, acks, leader, epoch = part.log_end, -1, part.leader, part.epoch
        replicas = [0, 1, 2] if part.stale_end is None else [1, 2]
        part.log_end += 1
        if part.stale_end is not None:
            part.missed.append(digest)
    client.write(at_ms, e.OperationInvoked(operation, "produce", *topic_partition, acks, f"value-{index}", leader, -1))
    client.write(at_ms, e.AttemptSent(operation, 1, leader, digest))
    begun = 0
    for broker in replicas:
        writer = nodes[_broker(broker)]
        writer.write(at_ms + 0.1, e.BatchAppended(*topic_partition, offset, offset, epoch, digest, broker == leader))
        begun += _epoch_began(writer, part, broker, epoch, offset, at_ms + 0.1)
        if not stale:
            writer.write(
                at_ms + 0.2, e.HighWatermarkMoved(*topic_partition, offset + 1, offset, broker == leader, epoch)
            )
    client.write(at_ms + 0.3, e.AttemptEnded(operation, 1, 0, offset, ""))
    client.write(
        at_ms + 0.3, e.OperationEnded(operation, "produce", "ok", 0, *topic_partition, offset, -1, digest, acks)
    )
    return 4 + len(replicas) * (1 if stale else 2) + begun


def _epoch_began(writer: Writer, part: Partition, broker: int, epoch: int, offset: int, at_ms: float) -> int:
    """Noted by the broker, if it is the first batch of the epoch there. How many events that is."""
    cache = part.caches.setdefault(broker, [])
    if cache and cache[-1][0] == epoch:
        return 0
    before = cache[-1] if cache else (-1, -1)
    cache.append((epoch, offset))
    began = ("t", part.number, epoch, offset, *before, len(cache) - 1)
    writer.write(at_ms, e.LeaderEpochBegan(*began, " ".join(f"{known}:{start}" for known, start in cache)))
    return 1


def _heal(nodes: dict[str, Writer], part: Partition, at_ms: float) -> int:
    """broker-0 follows, truncates its own records and fetches the missed ones."""
    if part.stale_end is None:
        return 0
    writer, cut_at = nodes["broker-0"], part.cut_at
    writer.write(at_ms, _role(part, 0))
    writer.write(at_ms, e.LogTruncated("t", part.number, cut_at, part.stale_end, True, cut_at, "epoch", "0:0"))
    begun = 0
    for offset, digest in enumerate(part.missed, start=cut_at):
        writer.write(at_ms, e.BatchAppended("t", part.number, offset, offset, part.epoch, digest, False))
        begun += _epoch_began(writer, part, 0, part.epoch, offset, at_ms)
    return 2 + len(part.missed) + begun


def _write_wire(directory: Path, nodes: dict[str, Writer], frames: int) -> int:
    each = frames // len(nodes)
    for name, after in nodes.items():
        writer = Writer(directory / "events" / f"{name}.1.wire.jsonl", name, after.seq, after.run)
        for number in range(each):
            sent = e.FrameSent("broker-1.1#4", "broker-0", "fetcher", number + 1, "FETCH", "request", number, 143)
            writer.write(number * 0.1, sent)
        writer.close()
    return each * len(nodes)


def main() -> int:
    """`DIRECTORY [EVENTS...]`."""
    if len(sys.argv) < 2:
        print("benchmarks.synthetic_run: name the directory that is written", file=sys.stderr)
        return UNUSABLE
    target = Path(sys.argv[1])
    sizes = [int(argument) for argument in sys.argv[2:]]
    print(write_run(target, *(sizes or [3_000_000])), "events in", target)
    return HELD


if __name__ == "__main__":
    sys.exit(ended("benchmarks.synthetic_run", main))
