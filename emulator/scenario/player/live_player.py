"""The player of a long-running cluster: steps come one by one, from outside.

The code of a scenario carries out each step and responds to it. A step's entries go to its own timeline, which leaves
with the response: nothing here grows with the age of the cluster.
"""

from collections.abc import Callable

from emulator.faults.actions import ActDone
from emulator.machines.client.client_operations import KeptOperations
from emulator.machines.client.client_state import Failure
from emulator.scenario.player.live_requests import Command, CommandEnded, Errand, ErrandEnded, LiveInput, WatchNode
from emulator.scenario.player.observing import OF_CLUSTERS, PREFIXES
from emulator.scenario.player.player import Player
from emulator.scenario.player.steps import StepRunner
from emulator.scenario.player.tasks import StepFailed, Steps
from emulator.scenario.player.timeline import Entry, Timeline
from emulator.scenario.player.topic_steps import TopicStep
from emulator.topology import Topology
from protocol.machine import Effect, Input, Now
from protocol.messages.message_base import Message
from protocol.outbox import Outbox

UNDER_WAY_MAX = 64
"""Maximum commands in progress.

Each ends by itself: a silent broker by a time-out, a client by its death.
"""
WRITES_MAX = 8
"""Of them, those that write into the session service, which wait for its quorum."""


class LivePlayer(Player):
    """A machine for the node `observer` of a cluster that is started and broken from outside."""

    def __init__(self, topology: Topology, record_magic: int, kafka_version: str) -> None:
        super().__init__(topology, (), record_magic, kafka_version, observed=(*PREFIXES, *OF_CLUSTERS))
        self._under_way: dict[int, Timeline] = {}
        self._writes: set[int] = set()
        self.on_change: Callable[[], None] = lambda: None
        """Called when observed data have changed."""

    def step(self, now: Now, event: Input | ActDone | LiveInput) -> list[Effect]:
        """Handle one input. The world handles the effects `CommandEnded` and `ErrandEnded`."""
        match event:
            case Command():
                self.now = now
                self._begin(event)
            case Errand():
                self.now = now
                self._ask(event)
            case WatchNode(node=node, on=on):
                self.now = now
                if on:
                    self.seen.watch(self.out, node)
                else:
                    self.seen.unwatch(node)
            case _:
                return super().step(now, event)
        return self.out.take()

    def noted(self, number: int) -> tuple[Entry, ...]:
        """Entries of a command in progress so far."""
        timeline = self._under_way.get(number)
        return () if timeline is None else tuple(timeline.entries)

    @property
    def under_way(self) -> int:
        """Commands that have not ended."""
        return len(self._under_way)

    # --- as a player that lives on ---

    def _play(self) -> Steps:
        """Nothing by itself: the session servers are observed from the start, brokers once they run."""
        self.seen.start(self.out)
        yield from ()

    def _finish(self, result: None) -> None:
        """The script is over before it began; the cluster is not."""

    def _kept(self) -> KeptOperations | None:
        return None

    def _changed(self, now: Now, what: str) -> None:
        self.waits.changed(now)
        self.on_change()

    def _noted(self, now: Now, kind: str, entry: Entry) -> None:
        """Not kept: it grows with the age of the cluster."""

    # --- commands ---

    def _begin(self, command: Command) -> None:
        number = command.number
        writes = any(isinstance(step, TopicStep) for step in command.steps)
        problem = self._too_much(writes)
        if problem:
            self.tell_world(CommandEnded(number, (), problem))
            return
        timeline = self._under_way[number] = Timeline(self.kraft)
        if writes:
            self._writes.add(number)
        errors: list[str] = []

        def ended(result: None) -> None:
            del self._under_way[number]
            self._writes.discard(number)
            self.tell_world(CommandEnded(number, tuple(timeline.entries), "".join(errors[:1])))

        steps = self._steps(command, StepRunner(self, timeline), errors)
        self.work.start(f"command {number}", ", ".join(type(step).__name__ for step in command.steps), steps, ended)

    def _steps(self, command: Command, runner: StepRunner, errors: list[str]) -> Steps:
        try:
            for step in command.steps:
                yield from runner.run(step, None)
        except StepFailed as failed:
            errors.append(str(failed))

    def _ask(self, errand: Errand) -> None:
        number = errand.number
        problem = self._too_much(False)
        if problem:
            self.tell_world(ErrandEnded(number, None, problem))
            return
        self._under_way[number] = Timeline()

        def answered(now: Now, out: Outbox, answer: Message | Failure) -> None:
            del self._under_way[number]
            if isinstance(answer, Failure):
                self.tell_world(ErrandEnded(number, None, f"{errand.client}: {answer.error}: {answer.reason}"))
            else:
                self.tell_world(ErrandEnded(number, answer))

        self.asker.ask(self.out, errand.client, errand.request, answered)

    def _too_much(self, writes: bool) -> str:
        """Reason why no more may begin now; "" if it may."""
        if len(self._under_way) >= UNDER_WAY_MAX:
            return f"{UNDER_WAY_MAX} commands have not ended yet, no more at a time"
        if writes and len(self._writes) >= WRITES_MAX:
            return f"{WRITES_MAX} writes wait for the session service, no more at a time (has it a quorum?)"
        return ""
