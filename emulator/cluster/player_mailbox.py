"""The mailbox of the live player: hands it steps and client commands, and awaits their ends.

The player runs in the supervisor's process. If it meets a bug, the outcome of its unfinished commands is unknown, and a
new player takes over; the cluster goes on.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

import trio

from emulator.cluster.control_requests import Refused
from emulator.scenario.player.live_player import LivePlayer
from emulator.scenario.player.live_requests import Command, CommandEnded, Errand, ErrandEnded, Live, WatchNode
from emulator.scenario.player.timeline import Entry
from emulator.topology import OBSERVER
from emulator.worlds.network.in_process import InProcess
from emulator.worlds.network.node_supervisor import Cluster
from protocol.messages.message_base import Message

LIVES_MAX: Final = 16
"""Limit of players in a cluster; one that dies more often has a bug that the user must see."""


class Job:
    """One unfinished request. `noted()`: its results so far, or in the end."""

    def __init__(self) -> None:
        self.noted: Callable[[], Sequence[Entry]] = tuple


class _Pending:
    def __init__(self) -> None:
        self.done = trio.Event()
        self.entries: tuple[Entry, ...] = ()
        self.answer: Message | None = None
        self.error = ""


class PlayerMailbox:
    """`make`: a new player. `await run()` for as long as the cluster lives."""

    def __init__(self, cluster: Cluster, make: Callable[[], LivePlayer]) -> None:
        self._cluster = cluster
        self._make = make
        self._here: InProcess | None = None
        self._count = 0
        self._pending: dict[int, _Pending] = {}
        self._changed = trio.Event()
        self.player = self._new_player()

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run players; returns when the last has died."""
        for life in range(LIVES_MAX):
            if life:
                self.player = self._new_player()
            self._here = await self._cluster.run_here(OBSERVER, self.player, self._took_effect)
            self.watch_running()
            if not life:
                task_status.started()
            await self._here.ended.wait()
            reason = self._here.exit.reason if self._here.exit is not None else "it ended"
            print(f"the player ended: {reason}", file=sys.stderr, flush=True)
            self._lose_all(reason)
        self._here = None

    def watch_running(self) -> None:
        """Observe the brokers, session servers and controllers that run, and no others."""
        running = self._cluster.running()
        for node in self._cluster.topology.nodes:
            if {"broker", "session", "controller"} & set(node.roles):
                self._post(WatchNode(node.name, node.name in running))

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until `holds` returns true of the player's observations."""
        while not holds():
            await self._changed.wait()

    async def do(self, steps: tuple[Live, ...], job: Job) -> tuple[Entry, ...]:
        """Notes of the steps. Raises Refused if one could not be done."""
        number, pending = self._begin()
        job.noted = lambda: pending.entries or self.player.noted(number)
        self._post(Command(number, steps))
        await self._end(number, pending)
        return pending.entries

    async def ask(self, client: str, request: Message) -> Message:
        """Answer of a client's process. Raises Refused."""
        number, pending = self._begin()
        self._post(Errand(number, client, request))
        await self._end(number, pending)
        assert pending.answer is not None
        return pending.answer

    def _new_player(self) -> LivePlayer:
        player = self._make()
        player.on_change = self.note_change
        return player

    def note_change(self) -> None:
        """Wake the waits of `until` to check again."""
        self._changed.set()
        self._changed = trio.Event()

    def _begin(self) -> tuple[int, _Pending]:
        if self._here is None or self._here.ended.is_set():
            raise Refused("the cluster's own client has ended; see supervisor.log")
        self._count += 1
        pending = self._pending[self._count] = _Pending()
        return self._count, pending

    async def _end(self, number: int, pending: _Pending) -> None:
        try:
            await pending.done.wait()
        finally:
            del self._pending[number]
        if pending.error:
            raise Refused(pending.error)

    def _post(self, event: Any) -> None:
        assert self._here is not None
        self._here.shell.post(event, "command")

    def _took_effect(self, effect: Any) -> None:
        """Handle the effects that the shell does not know."""
        assert isinstance(effect, CommandEnded | ErrandEnded), effect
        pending = self._pending.get(effect.number)
        if pending is None:
            return  # its request was cancelled, with the cluster
        if isinstance(effect, CommandEnded):
            pending.entries = effect.entries
        else:
            pending.answer = effect.answer
        pending.error = effect.error
        pending.done.set()

    def _lose_all(self, reason: str) -> None:
        for number, pending in self._pending.items():
            if not pending.done.is_set():
                pending.entries = self.player.noted(number)
                pending.error = f"the outcome is unknown: {reason}"
                pending.done.set()
