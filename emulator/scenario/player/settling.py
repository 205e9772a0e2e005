"""`settle`: until nothing has changed for a while."""

from emulator.faults.actions import ActDone, LogSizes
from emulator.scenario.player.player_context import Stage
from emulator.scenario.player.tasks import StepFailed, Steps
from protocol.work import Work

LOOK_MS = 200.3
"""Interval of looks, with the time of a look, in ms: recorded 2 s took 2.01 s."""


def settled(stage: Stage, quiet_ms: float, limit_ms: float) -> Steps:
    """Wait until nothing changes; look every 200 ms, as the recordings' script did.

    A change is noticed at the next look, and stillness is counted from there, so the next step comes at a multiple of
    them.

    The script looked at the logs, too: after a write with acks=1 it often continued 0.2 s later, or 0.8 s where a
    follower had found no leader at its first fetch; after one with acks=all never.
    """
    began_ms = quiet_since_ms = stage.now.mono_ms
    seen = yield from _look(stage)
    while stage.now.mono_ms - quiet_since_ms < quiet_ms and stage.now.mono_ms - began_ms < limit_ms:
        yield stage.sleep(LOOK_MS)
        was, seen = seen, (yield from _look(stage))
        if seen != was:
            quiet_since_ms = stage.now.mono_ms


def _look(stage: Stage) -> Work[tuple[float, dict[str, object]]]:
    """Time of the last change of observed data, and the sizes of all logs."""
    brokers = tuple(node.name for node in stage.topology.with_role("broker"))
    sizes: ActDone = yield stage.act(LogSizes(brokers))
    if sizes.error:
        raise StepFailed(sizes.error)
    return stage.waits.changed_ms, sizes.result
