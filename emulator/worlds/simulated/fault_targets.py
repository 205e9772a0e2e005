"""Faults of the nodes and links of a simulated world."""

from collections.abc import Callable
from functools import partial

import msgspec

from emulator.faults.machine_fault_kinds import HardwareFault
from emulator.storage import inspect
from emulator.worlds.simulated.heap import Heap
from emulator.worlds.simulated.node import WALL_EPOCH_MS, SimulatedNode
from protocol.events import HardwareChanged, MachineFault, NodeStarted, NodeStopped
from protocol.kinds import ExitKind
from protocol.link_rules import LinkRule
from protocol.machine import Started, StopRequested

OVER = "the run is over"
POWER_LOSS = "power-loss"


class Breakable(Heap):
    """A heap whose nodes start and stop, whose disks fail, and whose links have rules."""

    # --- machines ---

    def start(self, name: str) -> None:
        """Begin an incarnation."""
        node = self.nodes[name]
        assert not node.alive, f"{name} is alive"
        node.incarnation += 1
        node.seq = 0
        node.accepted = 0
        node.paused = False
        node.resumes_ms = 0.0
        node.warm.clear()
        node.died = None
        node.timers.clear()
        node.closed.clear()
        node.busy_until_ms = node.stall_ms = 0.0
        node.files.capacity_bytes = None
        node.files.faults.made_room()
        self._watch(node)
        node.machine = self._factory(node.node, node.files)
        event = NodeStarted(",".join(node.node.roles), node.node.az, *self.start_details(name))
        self.trace.add(node, "start", self.now_ms, event)
        self._step(node, Started(self.draws.life_seed(name), node.incarnation), "start")

    def kill(self, name: str, what: str = "kill") -> None:
        """SIGKILL; a stopped node stays stopped."""
        node = self.nodes[name]
        if node.alive:
            self.trace.add(node, "fault", self.now_ms, MachineFault(what, name, life=node.incarnation))
            self._die(node, "killed", kernel_lives=what != POWER_LOSS)

    def over(self) -> None:
        """End the run: every living node that is not paused writes its last events."""
        for node in self.nodes.values():
            if node.alive and not node.paused:
                for event in (*node.links.last_words(), NodeStopped(0, OVER, ExitKind.REQUESTED)):
                    self.trace.add(node, "exit", self.now_ms, event)

    def stop(self, name: str) -> None:
        """SIGTERM."""
        node = self.nodes[name]
        self.trace.add(node, "fault", self.now_ms, MachineFault("stop", name))
        self._step(node, StopRequested(), "stop")

    def pause(self, name: str) -> None:
        """SIGSTOP: inputs wait."""
        node = self.nodes[name]
        self.trace.add(node, "fault", self.now_ms, MachineFault("pause", name))
        node.paused = True

    def resume(self, name: str) -> None:
        """SIGCONT: waiting inputs are handled in order."""
        node = self.nodes[name]
        self.trace.add(node, "fault", self.now_ms, MachineFault("resume", name))
        node.paused = False
        held, node.held = list(node.held), type(node.held)()
        delay_ms = self.draws.takes_ms(name, "resume_ms") if self.draws.latencies.resume_ms[1] else 0.0
        if not delay_ms:
            for what in held:
                what()
            return
        node.resumes_ms, node.resuming = self.now_ms + delay_ms, frozenset(node.ends)
        for what in held:
            self.at(node.resumes_ms, what)

    # --- disks ---

    def watch_storage(self, name: str, before: Callable[[str, str], None] | None) -> None:
        """Call `before(operation, path)` before every storage operation of a node; None: no call.

        It holds for any role, from now on and in later incarnations. `before` may raise NodeKilled.
        """
        node = self.nodes[name]
        node.before_storage = before
        self._watch(node)

    def _watch(self, node: SimulatedNode) -> None:
        """Install the hook of a node whose storage operations take time or are observed.

        Other nodes' operations pass without a call.
        """
        if "broker" in node.node.roles or node.before_storage is not None or node.hardware.slow:
            node.files.operation_hook = partial(self._before_storage, node)

    def change_hardware(self, fault: HardwareFault) -> None:
        """Change the node's machine in this incarnation and later ones."""
        name = fault.node
        node = self.nodes[name]
        hardware = node.hardware = fault.of(node.hardware)
        node.wall_epoch_ms = WALL_EPOCH_MS + hardware.clock_ahead_ms
        self._watch(node)
        self.trace.add(node, "fault", self.now_ms, MachineFault(fault.VERB, name))
        self.trace.add(node, "fault", self.now_ms, HardwareChanged(name, *msgspec.structs.astuple(hardware)))

    def fill_disk(self, name: str, directory: str = "") -> None:
        """Fill its disk, or that log directory, for this incarnation; a start frees space."""
        node = self.nodes[name]
        self.trace.add(node, "fault", self.now_ms, MachineFault("disk-full", name, directory))
        if directory:
            node.files.faults.full.add(directory)
        else:
            node.files.capacity_bytes = node.files.used_bytes

    def fail_disk(self, name: str, directory: str = "") -> None:
        """Fail every operation on its disk, or that log directory, until it is replaced."""
        node = self.nodes[name]
        self.trace.add(node, "fault", self.now_ms, MachineFault("disk-error", name, directory))
        node.files.faults.failing.add(directory)

    def replace_disk(self, name: str, directory: str = "") -> None:
        """Replace a stopped node's disk, or that log directory, by an empty one."""
        node = self.nodes[name]
        assert not node.alive, name
        node.files.faults.replaced(directory)
        inspect.erase(node.files, directory)
        self.trace.add(node, "fault", self.now_ms, MachineFault("lose-disk", name, directory))

    # --- links ---

    def apply(self, rule: LinkRule) -> None:
        """Put a rule in force at every node at once."""
        self.in_force[rule.rule] = rule
        for node in self.nodes.values():
            node.links.apply(self.now_ms, rule)
            self._note_link_events(node)
            if node.leaving:
                self._let_go(node)
            for end in node.ends.values():
                self._watch_end(end)

    def heal(self, rule_id: str) -> dict[str, int]:
        """Lift a rule everywhere; {node: frames stopped}."""
        self.in_force.pop(rule_id, None)
        for node in self.nodes.values():
            node.links.heal(self.now_ms, rule_id)
            self._note_link_events(node)
        for node in self.nodes.values():
            for end in (*node.ends.values(), *node.leaving):
                self._recheck(node, end)
        return {name: node.links.frames_stopped.get(rule_id, 0) for name, node in self.nodes.items()}
