"""Context of a scenario's steps: clients, observations, the timeline.

Also orders that a step waits for.
"""

from collections.abc import Callable
from typing import Any

from emulator.faults.actions import Act, ActDone, Action
from emulator.machines.client.client_requests import ClientRequests
from emulator.machines.client.direct import DirectClient
from emulator.machines.client.exchange import Exchanges
from emulator.machines.client.group_commands import GroupCommands
from emulator.scenario.conditions import Condition
from emulator.scenario.player.client_step_execution import LibraryProducers
from emulator.scenario.player.observing import Observing
from emulator.scenario.player.session_writes import SessionWrites
from emulator.scenario.player.tasks import Order
from emulator.scenario.player.timeline import Timeline
from emulator.scenario.player.wait_steps import Waits
from emulator.topology import KRAFT, Topology
from protocol.chance import Chance
from protocol.gates import gates_for
from protocol.machine import Now
from protocol.outbox import Outbox
from protocol.purposes import OBSERVE
from protocol.work import Runner


class Stage:
    """Clients and observations of brokers of `kafka_version`. `observed`: the observed znodes."""

    def __init__(self, topology: Topology, kafka_version: str, observed: tuple[str, ...]) -> None:
        self.topology = topology
        self.kraft = topology.metadata == KRAFT
        self.timeline = Timeline(self.kraft)
        self.now = Now(0.0, 0.0)
        self.out = Outbox()
        self.work = Runner(lambda: self.now.mono_ms, at_once=True)
        """Steps in progress, and other waiting work."""
        self.seen = Observing(topology, self._changed, observed, self._noted)
        self.waits = Waits(self.seen, self.out)
        self.waits.kraft = self.kraft
        self.gates = gates_for(kafka_version)
        """Of brokers of that version."""
        self.direct: DirectClient | None = None
        self.writes: SessionWrites | None = None
        self.admin_exchanges = Exchanges("player-admin")
        self.transaction_exchanges = Exchanges("player-transactions")
        self.quorum_exchanges = Exchanges("player-quorum", OBSERVE)
        self.asker = ClientRequests()
        self.libraries: LibraryProducers | None = None
        self.groups: GroupCommands | None = None
        self.chance = Chance(0)
        self._acts: dict[int, Callable[[ActDone], None]] = {}
        self._act_count = 0
        self._sleep_count = 0

    def _changed(self, now: Now, what: str) -> None:
        self.timeline.changed(now.mono_ms, what, self.seen)
        self.waits.changed(now)

    def _noted(self, now: Now, kind: str, entry: dict[str, Any]) -> None:
        self.timeline.log_changed(now.mono_ms, kind, entry)
        self.waits.changed_ms = now.mono_ms  # for `settle`: a controller's view is a change, too

    def act(self, action: Action) -> Order:
        """Done to the cluster by the world; the outcome is the ActDone."""

        def begin(done: Callable[[Any], None]) -> None:
            self._act_count += 1
            self._acts[self._act_count] = done
            self.tell_world(Act(self._act_count, action))

        return Order(f"{type(action).__name__} of the world", begin)

    def tell_world(self, effect: Any) -> None:
        """An effect that only a player's world knows."""
        self.out._effects.append(effect)

    def sleep(self, ms: float) -> Order:
        def begin(done: Callable[[Any], None]) -> None:
            self._sleep_count += 1
            self.out.set_timer(("player-sleep", self._sleep_count), max(0.0, ms), lambda now, out: done(None))

        return Order(f"{ms:g} ms", begin)

    def until(self, condition: Condition, limit_s: float) -> Order:
        """The outcome: whether it was reached."""
        return Order("its condition", lambda done: self.waits.wait(self.now, condition, limit_s, done))
