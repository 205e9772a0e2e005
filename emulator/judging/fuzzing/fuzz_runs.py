"""Plays a drawn scenario; skips impossible steps, and lets the cluster settle at the end.

A cluster with open faults need not settle."""

from emulator.faults import actions as act
from emulator.judging.explain.finished_run import Exited, FinishedRun
from emulator.judging.explain.kraft_settled import kraft_brokers_of
from emulator.judging.explain.recoveries import Recoveries
from emulator.judging.explain.settled_partitions import Unsettled
from emulator.judging.explain.settled_state import assignments, brokers_of, ensemble_state, state_of
from emulator.judging.explain.settled_state import unsettled as unsettled_now
from emulator.judging.explain.stuck import ORDINARY_EXITS
from emulator.judging.oracle.probe import Probe
from emulator.machines.broker.transaction_metadata import PREPARED
from emulator.runs.resolve import Resolved
from emulator.runs.simulated import let_pass, play_script, scripted_world
from emulator.scenario.player.player import Player
from emulator.topology import KRAFT, OBSERVER
from emulator.worlds.simulated.heap import RunTooLong
from emulator.worlds.simulated.node import SimulatedNode
from emulator.worlds.simulated.world import SimulatedWorld
from protocol.gates import Gates
from protocol.kinds import ExitKind
from protocol.records.transaction_states import TRANSACTIONS_TOPIC, TransactionState

SETTLE_LIMIT_MS = 150_000.0
"""Limit of the settling time after the script.

The longest waits are TCP's next attempt after the longest cut, a leader's report of its ISR (60 s), and a
session of 20 s.
"""
LEFT_MS = 10_000.0
"""Time after the script if faults remain open; the last started node has its logs by then."""
LOOK_MS = 1_000.0
AGAIN_MS = 3_000.0
"""Time from the exit of a broker that returned too early to its next start.

It applies after the script.
"""
COMPLETED = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
TOO_EARLY = (*ORDINARY_EXITS, ExitKind.NO_SESSION_SERVICE)


class ScheduleRun(FinishedRun, kw_only=True):
    """A finished run. `undone`: numbers of the script's impossible steps, from 1."""

    undone: list[int]


def play_schedule(resolved: Resolved, seed: int, *, looks_on: bool = True, helped: bool = True) -> ScheduleRun:
    """Play a scenario.

    `looks_on`: continue after the last step until the cluster has settled. `helped`: restart brokers then that returned
    too early. Without both, the run ends as `faultline run` does. Raises RunTooLong; any other exception is a bug of
    this program.
    """
    spec, steps = resolved.spec, resolved.scenario.steps
    player = Player(spec.topology, steps, resolved.record_magic, spec.kafka_version, steps_may_fail=True)
    operations = player.operations
    probe, logs = Probe(operations), Recoveries()
    exits: list[Exited] = []
    over = False

    def look(node: SimulatedNode, now_ms: float) -> None:
        probe.look(node, now_ms)
        if node.machine is not None:
            logs.look(node, now_ms)
            return
        logs.ended(node, now_ms)
        end, name = node.died, node.node.name
        if end is not None and end.code != 0 and name != OBSERVER:
            exits.append(Exited(now_ms, name, end.code, end.reason, end.kind))
            if over and end.kind in TOO_EARLY:
                world.at(now_ms + AGAIN_MS, lambda: start(name))

    def start(name: str) -> None:
        if not world.nodes[name].alive:
            world.start(name)

    def do(node: SimulatedNode, order: act.Act) -> None:
        logs.ordered(order.action, world.nodes, world.now_ms)
        world.executor.do(node, order)

    world = scripted_world(player, seed, lambda: spec, after_step=look)
    world.on_act = do
    try:
        play_script(world, player)
    except RunTooLong as error:
        raise RunTooLong(f"{error}; waits: {player.work.waiting_tasks()}") from error
    over = looks_on and helped
    for name, node in world.nodes.items() if over else ():
        if not node.alive and node.died is not None and node.died.kind in TOO_EARLY and name != OBSERVER:
            start(name)
    run = ScheduleRun(
        resolved=resolved, world=world, probe=probe, operations=operations, recoveries=logs.found, exits=exits,
        undone=_undone(player),
    )  # fmt: skip
    if not looks_on:
        run.unsettled = unsettled_schedule(world) if _mended(world) else []
    elif _mended(world):
        run.unsettled = _settle(world, spec.gates(next(iter(spec.settings))))
    else:
        let_pass(world, LEFT_MS)
    return run


def _undone(player: Player) -> list[int]:
    """Numbers of the impossible steps."""
    return [entry["step"] for entry in player.timeline.entries if entry.get("saw") == "step-failed"]


def _mended(world: SimulatedWorld) -> bool:
    """Whether no fault remains open; otherwise no promise to settle holds."""
    if world.in_force:
        return False
    return not any(
        node.paused or node.hardware.slow or (not node.alive and node.died is None)
        for name, node in world.nodes.items()
        if name != OBSERVER
    )


def _settle(world: SimulatedWorld, gates: Gates) -> list[Unsettled]:
    """Let time pass until the cluster has settled, or the limit; returns the failures.

    It does not wait for brokers that never receive an ISR.
    """
    limit_ms = world.now_ms + SETTLE_LIMIT_MS
    while found := unsettled_schedule(world):
        relevant = gates.watches_isr_changes or any(one.what != "told-isr" for one in found)
        if world.now_ms >= limit_ms or not relevant:
            return found
        let_pass(world, LOOK_MS)
    return []


def unsettled_schedule(world: SimulatedWorld) -> list[Unsettled]:
    """Failures to settle now, also of reported ISRs; where there are none, of transactions."""
    return [*unsettled_now(world), *isr_untold(world)] or without_end(world)


def without_end(world: SimulatedWorld) -> list[Unsettled]:
    """Transactions that are decided, and whose coordinator has not completed them."""
    found: list[Unsettled] = []
    for number, broker in (brokers_of(world) | kraft_brokers_of(world)).items():
        for held in broker.broker.transactions.log.all_held():
            metadata = held.metadata
            if metadata.state in PREPARED or metadata.pending in COMPLETED:
                place = (TRANSACTIONS_TOPIC, broker.broker.transactions.log.partition_of(metadata.transactional_id))
                text = f"broker-{number} has not completed {metadata.transactional_id}, {metadata.state.text}"
                found.append(Unsettled("transaction", text, place, number))
    return found


def isr_untold(world: SimulatedWorld) -> list[Unsettled]:
    """Brokers whose metadata has another ISR than ZooKeeper."""
    tree = None if world.topology.metadata == KRAFT else ensemble_state(world)[0]
    if tree is None:
        return []
    found: list[Unsettled] = []
    brokers = brokers_of(world)
    for topic_partition in assignments(tree):
        state = state_of(tree, topic_partition)
        for number, broker in brokers.items():
            known = broker.broker.metadata.partitions.get(topic_partition)
            same_leader = state is not None and known is not None and known.leader_epoch == state.leader_epoch
            if state is not None and known is not None and same_leader and set(known.isr) != set(state.isr):
                isr, relevant = (sorted(map(int, some)) for some in (state.isr, known.isr))
                text = f"{topic_partition[0]}-{topic_partition[1]}: the ISR is {isr}, broker-{number} tells {relevant}"
                found.append(Unsettled("told-isr", text, topic_partition, number))
    return found
