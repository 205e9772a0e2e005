"""One seed of the quorum's simulation: a drawn cluster, its faults, and its judgement.

A seed is good if no invariant breaks and if, after the faults' end, every node reaches a common high watermark with
records that were appended after it.
"""

from __future__ import annotations

import traceback
from random import Random
from typing import NamedTuple

from controller.quorum.quorum_invariants import InvariantBroken
from protocol.versions import KRAFT_LADDER
from verification.quorum.quorum_faults import QuorumFaults
from verification.quorum.quorum_world import QuorumWorld

WITH_VOTERS_IN_LOG = KRAFT_LADDER[KRAFT_LADDER.index("3.9") :]
FAULTS_MS = 12_000.0
SETTLES_MS = 40_000.0
"""Limit for the return to work: elections and backoffs of 4 s at most, repeatedly."""
NEW_RECORDS = 5
NO_PROGRESS = "no-progress"
CRASHED = "crashed"


class SeedResult(NamedTuple):
    """`broken`: the invariant's name, "" if the seed is good."""

    seed: int
    setup: str
    broken: str
    text: str
    steps: int
    committed: int
    epochs: int
    simulated_ms: float


def drawn_world(seed: int) -> QuorumWorld:
    """A cluster of one release, or of two during an upgrade."""
    random = Random(seed)
    voters = random.choice((1, 2, 3, 3, 3, 3, 4, 5))
    versions = [random.choice(KRAFT_LADDER)]
    if random.random() < 0.3:
        versions.append(random.choice(KRAFT_LADDER))
    observers = random.choice((0, 0, 1, 2))
    dynamic = random.random() < 0.4
    if dynamic:
        versions = [random.choice(WITH_VOTERS_IN_LOG) for _ in versions]
    snapshot_records = random.choice((0, 10, 25))
    return QuorumWorld(seed, voters, observers, versions, dynamic=dynamic, snapshot_records=snapshot_records)


def play_quorum_seed(seed: int) -> SeedResult:
    """Play and judge one seed."""
    world = drawn_world(seed)
    releases = "+".join(sorted({one.version for one in world.nodes.values()}))
    setup = f"{len(world.voters)} voters, {len(world.nodes) - len(world.voters)} observers, {releases}"
    setup += f", {'dynamic' if world.dynamic else 'static'}, snapshots every {world.snapshot_records}"
    broken, text = "", ""
    try:
        if not _plays(world):
            broken = NO_PROGRESS
            text = f"committed {world.invariants.committed_end}; {states_text(world)}"
    except InvariantBroken as error:
        broken, text = error.name, str(error)
    except Exception:  # a crash of a machine is a result, with its place
        broken, text = CRASHED, traceback.format_exc()
    epochs = max(one.view.election.epoch for one in world.nodes.values())
    committed = world.invariants.committed_end
    return SeedResult(seed, setup, broken, text, world.steps, committed, epochs, world.now_ms)


def states_text(world: QuorumWorld) -> str:
    machines = ((node, one.machine) for node, one in world.nodes.items())
    return ", ".join(f"{node}: {machine.state_name if machine else 'dead'}" for node, machine in machines)


def _plays(world: QuorumWorld) -> bool:
    """Whether the cluster works again after its faults. Raises InvariantBroken."""
    for node in world.nodes:
        world.start(node)
    QuorumFaults(world, FAULTS_MS).begin()
    world.run_until(FAULTS_MS + 2_000.0)
    wanted = world.invariants.committed_end + NEW_RECORDS

    def settled() -> bool:
        running = [one.machine for one in world.nodes.values() if one.machine is not None]
        return len(running) == len(world.nodes) and all(one.state.high_watermark >= wanted for one in running)

    return world.run_until(world.now_ms + SETTLES_MS, settled)
