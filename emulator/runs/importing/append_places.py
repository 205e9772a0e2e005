"""Places of a replica's batches among the events of its lines.

Lines do not say when a batch was appended; segments have the batches, without the truncated ones. A surviving batch
came after every truncation that would have removed it, after the node's role in its leader epoch, and before the first
log end that includes it. Between these bounds the batch's own timestamp decides.

A batch that an earlier copy of the folder has, and the final log has not, came before the truncation that removed it.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from protocol import events as e

NO_EPOCH: Final = -1


class BatchAt(NamedTuple):
    """A batch at [base_offset, last_offset].

    `epoch` -1: its format has none; `at_ms`: its greatest timestamp.
    """

    base_offset: int
    last_offset: int
    epoch: int
    digest: int
    at_ms: int
    file: str
    position: int


class Marker(NamedTuple):
    """An event of one replica that bounds its appends. `number`: of the event among the node's.

    `cut`: the log's end after it, if it removed records or may have; None: it removed none. `log_end`: before it, -1
    unknown. `epoch`, `leads`: of a role.
    """

    number: int
    wall_ms: float
    incarnation: int
    cut: int | None
    log_end: int
    epoch: int
    leads: bool


class Placed(NamedTuple):
    """A batch behind the event `after` (-1: before all).

    `as_leader`: the node led in the batch's epoch.
    """

    after: int
    wall_ms: float
    incarnation: int
    batch: BatchAt
    as_leader: bool
    is_copy: bool


def marker_of(number: int, wall_ms: float, incarnation: int, event: e.Event) -> Marker | None:
    """The marker of an event; None: it bounds no append."""
    match event:
        case e.RoleChanged():
            leads = event.role == "leader"
            return Marker(number, wall_ms, incarnation, None, event.log_end, event.leader_epoch, leads)
        case e.LogTruncated():
            cut = 0 if event.reason == "full" else min(event.to, max(event.log_end, event.to))
            return Marker(number, wall_ms, incarnation, cut, event.log_end, NO_EPOCH, False)
        case e.LogLoaded():
            return Marker(number, wall_ms, incarnation, event.log_end, event.log_end, NO_EPOCH, False)
        case e.LogCreated():
            return Marker(number, wall_ms, incarnation, 0, 0, NO_EPOCH, False)
        case _:
            return None


def place_batches(
    markers: Sequence[Marker], batches: Sequence[BatchAt], copied: Iterable[BatchAt], end: tuple[float, int]
) -> list[Placed]:
    """Places of surviving batches, and of those that only copies have, in the events' order.

    `end`: (time, incarnation) of the node's last event.
    """
    placed = [_survivor(markers, batch, end) for batch in batches]
    held = {(one.base_offset, one.digest) for one in batches}
    for batch in sorted(copied, key=lambda one: one.base_offset):
        if (batch.base_offset, batch.digest) not in held:
            held.add((batch.base_offset, batch.digest))
            removed = _removed(markers, batch)
            if removed is not None:
                placed.append(removed)
    return sorted(_ascending(placed), key=lambda one: one.after)


def _survivor(markers: Sequence[Marker], batch: BatchAt, end: tuple[float, int]) -> Placed:
    low = -1
    for position, marker in enumerate(markers):
        if marker.cut is not None and marker.cut <= batch.last_offset:
            low = position
    if batch.epoch != NO_EPOCH:
        low = max(low, next((at for at, one in enumerate(markers) if one.epoch >= batch.epoch), low))
    high = next((at for at in range(low + 1, len(markers)) if markers[at].log_end > batch.last_offset), len(markers))
    return _between(markers, batch, low, high, end, is_copy=False)


def _removed(markers: Sequence[Marker], batch: BatchAt) -> Placed | None:
    """The place of a batch before the cut that removed it; None: the lines have no such cut."""
    since = next((at for at, one in enumerate(markers) if one.epoch >= batch.epoch), -1)
    cuts = [
        at for at, one in enumerate(markers)
        if at > since and one.cut is not None and one.cut <= batch.last_offset and (one.log_end > batch.last_offset)
    ]  # fmt: skip
    if not cuts:
        return None
    high = next((at for at in range(since + 1, cuts[0]) if markers[at].log_end > batch.last_offset), cuts[0])
    return _between(markers, batch, since, high, (markers[high].wall_ms, markers[high].incarnation), is_copy=True)


def _between(
    markers: Sequence[Marker], batch: BatchAt, low: int, high: int, end: tuple[float, int], *, is_copy: bool
) -> Placed:
    """Behind the last marker in (low, high) whose time is not after the batch's own."""
    at = low
    while at + 1 < high and markers[at + 1].wall_ms <= batch.at_ms:
        at += 1
    least = markers[at].wall_ms if at >= 0 else float("-inf")
    most = markers[high].wall_ms if high < len(markers) else end[0]
    incarnation = markers[at].incarnation if at >= 0 else (markers[0].incarnation if markers else end[1])
    wall_ms = min(max(float(batch.at_ms), least), max(most, least))
    led = next((one for one in reversed(markers[: at + 1]) if one.epoch != NO_EPOCH), None)
    as_leader = led is not None and led.leads and batch.epoch in (led.epoch, NO_EPOCH)
    return Placed(markers[at].number if at >= 0 else -1, wall_ms, incarnation, batch, as_leader, is_copy)


def _ascending(placed: Sequence[Placed]) -> list[Placed]:
    """Put no batch before one of a lower offset: a log grows at its end."""
    found: list[Placed] = []
    for one in placed:
        before = found[-1] if found and not one.is_copy and not found[-1].is_copy else None
        if before is not None and (before.after, before.wall_ms) > (one.after, one.wall_ms):
            one = one._replace(after=before.after, wall_ms=before.wall_ms, incarnation=before.incarnation)
        found.append(one)
    return found
