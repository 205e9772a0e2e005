"""Schedule of the active controller's tasks: no-op records, fencing, elections.

From 4.0 on all run at fixed periods from the claim on. Before, a heartbeat schedules the fencing, and the elections are
scheduled while there is something to elect. Kraft-semantics 2.8 and 3.4.

Source: PeriodicTaskControlManager; until 3.9 QuorumController.maybeSchedule*, rescheduleMaybeFenceStaleBrokers.
"""

from typing import Final, Literal

from controller.kraft.controller_settings import ControllerSettings
from protocol.gates import Gates

Task = Literal["no-op", "fence", "balance", "unclean"]
IMMEDIATE_MS: Final = 10
"""Delay of a task that has left something to do, so that requests get their turn."""
FENCINGS_PER_SESSION: Final = 8
NEVER_MS: Final = float("inf")


class PeriodicTasks:
    """Tasks and the times at which they are due."""

    def __init__(self, gates: Gates, settings: ControllerSettings) -> None:
        self._periodic = gates.periodic_tasks
        self._due_ms: dict[Task, float] = {}
        periods: dict[Task, float] = {"no-op": settings.metadata_max_idle_interval_ms}
        if self._periodic:
            periods["fence"] = settings.broker_session_timeout_ms / FENCINGS_PER_SESSION
        if settings.auto_leader_rebalance_enable:
            periods["balance"] = settings.leader_imbalance_check_interval_seconds * 1000
        if gates.unclean_election_task:
            periods["unclean"] = settings.unclean_leader_election_interval_ms
        self._period_ms: dict[Task, float] = {task: period for task, period in periods.items() if period > 0}
        self._more: set[Task] = set()
        """Elections that left something to do (until 3.9)."""

    @property
    def due_at_ms(self) -> float:
        return min(self._due_ms.values(), default=NEVER_MS)

    def activate(self, now_ms: float) -> None:
        """Begin at a claim: each periodic task with its full period."""
        self.deactivate()
        for task, period_ms in self._period_ms.items():
            if self._periodic or task == "no-op":
                self._due_ms[task] = now_ms + period_ms

    def deactivate(self) -> None:
        self._due_ms.clear()
        self._more.clear()

    def take_due(self, now_ms: float) -> Task | None:
        """A task that is due, the earliest first.

        It is scheduled again by `ran`, or by what it finds.
        """
        task = min(self._due_ms, key=lambda one: self._due_ms[one], default=None)
        if task is None or self._due_ms[task] > now_ms:
            return None
        del self._due_ms[task]
        return task

    def ran(self, now_ms: float, task: Task, *, more: bool) -> None:
        """Schedule a task again after its run. `more`: it has left something to do."""
        if self._periodic or task == "no-op":
            self._due_ms[task] = now_ms + (IMMEDIATE_MS if more else self._period_ms[task])
        elif more:
            self._more.add(task)
        else:
            self._more.discard(task)

    def fence_at(self, at_ms: float) -> None:
        """Schedule the fencing for the next expiry of a session (until 3.9)."""
        if self._periodic:
            return
        self._due_ms.pop("fence", None)
        if at_ms < NEVER_MS:
            self._due_ms["fence"] = at_ms

    def schedule_elections(self, now_ms: float, *, imbalanced: bool, leaderless: bool) -> None:
        """Schedule the elections after a write, if there is something to elect (until 3.9)."""
        wanted: tuple[tuple[Task, bool], ...] = (("balance", imbalanced), ("unclean", leaderless))
        for task, exists in wanted:
            if self._periodic or not exists or task not in self._period_ms or task in self._due_ms:
                continue
            self._due_ms[task] = now_ms + (IMMEDIATE_MS if task in self._more else self._period_ms[task])
