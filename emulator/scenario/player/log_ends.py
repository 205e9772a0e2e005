"""Waits on log ends ("caught up").

No node reports log ends, so this reads the files of running brokers every 50 ms.
"""

from typing import Any

import msgspec

from emulator.faults.actions import ActDone, Snapshot
from emulator.scenario import scenario_model as m
from emulator.scenario.conditions import holds
from emulator.scenario.player.player_context import Stage
from emulator.scenario.player.tasks import StepFailed
from emulator.scenario.player.wait_steps import SAMPLE_EVERY_MS
from emulator.topology import broker_name
from protocol.work import Work


def until_log_ends(stage: Stage, step: m.Wait) -> Work[bool]:
    """Whether the condition was reached within the step's limit."""
    deadline_ms = stage.now.mono_ms + step.limit_s * 1000.0
    while True:
        ends: dict[str, dict[int, int]] = {}
        for name in sorted(stage.seen.states):
            running = [b for b in stage.seen.assignments.get(name, ()) if b in stage.seen.metadata]
            done: ActDone = yield stage.act(Snapshot(name, tuple(map(broker_name, running))))
            if done.error:
                raise StepFailed(done.error)
            ends[name] = {broker: _log_end(done.result[broker_name(broker)]) for broker in running}
        view = msgspec.structs.replace(stage.waits.view(stage.now.mono_ms), log_ends=ends)
        if holds(step.until, view):
            return True
        if stage.now.mono_ms >= deadline_ms:
            return False
        yield stage.sleep(SAMPLE_EVERY_MS)


def _log_end(replica: Any) -> int:
    """Of a replica as a snapshot has it: the offset after its last record."""
    log = replica["log"]
    return int(log[-1][0]) + 1 if log else 0
