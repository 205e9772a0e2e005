"""States that controllers wrote under a superseded controller epoch. Pure.

The rule is that of the check dual-controller: transactions have an order (their zxids), whatever clocks and servers'
reports say. A state with a new leader epoch, or a partition's first, with an older controller epoch than the one
committed by then was written by a controller whose successor had begun.

The newest changes are kept, up to a limit, so that a late one can be inserted among them.
"""

from __future__ import annotations

from bisect import insort
from typing import Final, NamedTuple

import msgspec

from audit.following.event import Event
from protocol.numbers import number_in
from protocol.undecodable import UNDECODABLE

CHANGES_MAX: Final = 20_000
EPOCH_PATH: Final = "/controller_epoch"


class _State(msgspec.Struct):
    """Fields that are read of the znode's JSON."""

    leader_epoch: int = 0
    controller_epoch: int = 0


class _Change(NamedTuple):
    """A change; sorts by transaction, an epoch before the states of its own transaction."""

    zxid: int
    is_state: bool
    path: str
    gone: bool
    created: bool
    leader_epoch: int
    controller_epoch: int
    at_ms: float
    name: str


class WrittenLate(NamedTuple):
    """Late states of one controller epoch: count, first event, and the epoch committed by then."""

    controller_epoch: int
    reached: int
    states: int
    at_ms: float
    name: str


class Committed:
    """History of commits.

    `written_late`: {controller epoch: its states after a later epoch's commit}.
    """

    def __init__(self) -> None:
        self._written_late: dict[int, WrittenLate] = {}
        self._changes: list[_Change] = []
        self._known: set[tuple[int, str]] = set()
        self._taken = 0
        self._reached = 0
        self._leader_epochs: dict[str, int] = {}
        self._before = (0, dict[str, int](), dict[int, WrittenLate]())

    def changed(self, event: Event) -> None:
        """Add a change, as the first server reports it."""
        change = _change_of(event)
        if change is None or (change.zxid, change.path) in self._known:
            return
        self._known.add((change.zxid, change.path))
        if self._changes and change < self._changes[-1]:
            self._again()
        insort(self._changes, change)
        if len(self._changes) > 2 * CHANGES_MAX:
            self._forget()

    def written_late(self) -> dict[int, WrittenLate]:
        while self._taken < len(self._changes):
            self._take(self._changes[self._taken])
            self._taken += 1
        return self._written_late

    def _take(self, change: _Change) -> None:
        if not change.is_state:
            self._reached = max(self._reached, change.controller_epoch)
            return
        if change.gone:
            self._leader_epochs.pop(change.path, None)
            return
        before = self._leader_epochs.get(change.path)
        self._leader_epochs[change.path] = change.leader_epoch
        epoch = change.controller_epoch
        decided = change.created or (before is not None and change.leader_epoch > before)
        if decided and epoch < self._reached:
            found = self._written_late.get(epoch)
            self._written_late[epoch] = (
                found._replace(states=found.states + 1)
                if found is not None
                else WrittenLate(epoch, self._reached, 1, change.at_ms, change.name)
            )

    def _again(self) -> None:
        """Return to the state before the kept changes."""
        self._taken = 0
        self._reached, epochs, late = self._before
        self._leader_epochs, self._written_late = dict(epochs), dict(late)

    def _forget(self) -> None:
        """Drop the older half of the kept changes; later arrivals count as if they came after it."""
        self._again()
        old, self._changes = self._changes[:CHANGES_MAX], self._changes[CHANGES_MAX:]
        for change in old:
            self._take(change)
            self._known.discard((change.zxid, change.path))
        self._before = (self._reached, dict(self._leader_epochs), dict(self._written_late))


def _change_of(event: Event) -> _Change | None:
    path, data, zxid = event.path or "", event.data or "", event.zxid or 0
    gone, created = event.change == "deleted", event.change == "created"
    if path == EPOCH_PATH:
        epoch = number_in(data)
        if epoch is None:
            return None
        return _Change(zxid, False, path, gone, created, 0, epoch, event.at_ms, event.name)
    try:
        state = msgspec.json.decode(data, type=_State) if data else _State()
    except UNDECODABLE:
        return None
    return _Change(
        zxid, True, path, gone, created, state.leader_epoch, state.controller_epoch, event.at_ms, event.name
    )
