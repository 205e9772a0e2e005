"""Truths written by hand."""

from emulator.judging.oracle.log_extent import Reached
from emulator.judging.oracle.truth import (
    Batch,
    Given,
    LeaderView,
    OfGroup,
    QuiescentPeriod,
    State,
    Term,
    Truth,
    Waited,
    Write,
)
from emulator.machines.client.client_state import Read
from protocol.ids import NO_BROKER, LeaderEpoch, Offset

PLACE = ("t", 0)
ALL = -1


def batches(*values: str, epoch: int = 0, first: int = 0) -> list[Batch]:
    """One batch per value; equal values have equal digests."""
    return [Batch(first + n, first + n, epoch, digest(value)) for n, value in enumerate(values)]


def digest(value: str) -> int:
    return int.from_bytes(value.encode(), "big")


def write(value: str, offset: int, *, acks: int = ALL, outcome: str = "ok") -> Write:
    return Write(f"observer.1:{value}", value, PLACE, acks, outcome, offset, digest(value))


def leads(node: int, epoch: int, from_ms: float, to_ms: float | None = None) -> Term:
    return Term(PLACE, f"broker-{node}", epoch, from_ms, to_ms)


def controls(node: int, epoch: int, from_ms: float, to_ms: float | None = None) -> Term:
    return Term(None, f"broker-{node}", epoch, from_ms, to_ms)


def given(
    value: str, offset: int, *, epoch: int = 0, high_watermark: int = 3, operation: str = "observer.1:9", by: int = 0
) -> Given:
    return Given(PLACE, operation, Read(offset, offset, epoch, digest(value), high_watermark, by))


def of_group(
    kind: str, offset: int, *, begun: int, over: int | None = None, outcome: str = "ok", number: int = 0
) -> OfGroup:
    """One that ends before the next begins, unless it says `over`."""
    requested = offset if kind == "commit" else -1
    ended = begun + 1 if over is None else over
    return OfGroup(kind, "g", PLACE, f"client-0.1:{number or begun}", requested, offset, outcome, begun, ended, begun)


def healthy() -> Truth:
    """a, b, c on three replicas, all acknowledged and read."""
    log = batches("a", "b", "c")
    return Truth(
        logs={PLACE: {f"broker-{n}": list(log) for n in range(3)}},
        writes=[write(value, offset) for offset, value in enumerate("abc")],
        appended={PLACE: {(0, n, n, digest(value)) for n, value in enumerate("abc")}},
        reads=[given(value, n) for n, value in enumerate("abc")],
        reached=[Reached(PLACE, f"broker-{n}", 1, high_watermark=3, log_end=3) for n in range(3)],
        of_groups=[of_group("commit", 3, begun=0), of_group("committed", 3, begun=1)],
        states=[State(PLACE, 7, leader=0, leader_epoch=0, isr=(0, 1, 2), controller_epoch=1, created=True)],
        leaders=[leads(0, 0, 100.0)],
        controllers=[controls(2, 1, 50.0)],
        leader_views=[LeaderView(PLACE, f"broker-{NO_BROKER}", 3, 2, 0, 0)],  # whom `write` names
        roles_seen=3,
        caches={PLACE: {f"broker-{n}": [(LeaderEpoch(0), Offset(0))] for n in range(3)}},
        logs_found=1,
        assignments={PLACE: (0, 1, 2)},
        waited=[Waited("observer.1:a", 1, "observer", 0, 20_000, 500.0, 1_500.0)],
        quiescent=QuiescentPeriod(since_ms=1_000.0, end_ms=60_000.0, session_ms=6_000, lag_ms=10_000),
    )
