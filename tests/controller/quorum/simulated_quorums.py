"""Steady appends to simulated quorums, and waits for a high watermark."""

from protocol.ids import BrokerId
from verification.quorum.quorum_world import QuorumWorld

LIMIT_MS = 30_000.0


def append_every(world: QuorumWorld, period_ms: float) -> None:
    """Append a record now and after each period."""
    world.append()
    world.after(period_ms, lambda: append_every(world, period_ms))


def appending(world: QuorumWorld) -> QuorumWorld:
    """A record every 50 ms; all nodes have reached offset 10."""
    append_every(world, 50.0)
    for node in world.nodes:
        world.start(node)
    assert reached(world, 10)
    return world


def reached(world: QuorumWorld, offset: int, nodes: list[BrokerId] | None = None) -> bool:
    """Run until these nodes, or all running ones, have that high watermark."""

    def all_there() -> bool:
        wanted = nodes or [node for node, one in world.nodes.items() if one.machine is not None]
        machines = [world.nodes[node].machine for node in wanted]
        return all(one is not None and one.state.high_watermark >= offset for one in machines)

    return world.run_until(world.now_ms + LIMIT_MS, all_there)
