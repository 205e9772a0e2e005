"""Completions run by a queue, and no queue is drained inside another's draining.
So a thousand completions are a loop, and never a stack. One exception: a broker's thread that reports to its own
controller starts that controller's thread, which in Kafka is another thread.
"""

import pytest

from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.runs.simulated import play
from protocol.work import Runner

PLAYED = (
    "az-isolated-leader", "brokers-altered", "kafka-9307", "log-dir-fails", "partitions-move", "rolling-restart",
    "topic-recreated",
)  # fmt: skip
"""Together they cover elections, both kinds of ISR change, settings, moves, deletions.
Also controlled shutdowns.
"""


@pytest.mark.parametrize("scenario", PLAYED)
def test_no_queue_is_drained_inside_another(scenario: str, monkeypatch: pytest.MonkeyPatch) -> None:
    draining: list[Runner] = []
    drained, nested = 0, 0
    go_on = Runner.go_on

    def watched(runner: Runner) -> None:
        nonlocal drained, nested
        if runner.ready and draining:
            a_thread_to_its_controller = len(draining) == 1 and not draining[0]._at_once and runner._at_once
            nested += not a_thread_to_its_controller
        drained += bool(runner.ready)
        draining.append(runner)
        try:
            go_on(runner)
        finally:
            draining.pop()

    monkeypatch.setattr(Runner, "go_on", watched)
    versions = find_scenario(scenario).kafka
    for version in dict.fromkeys((versions[0], versions[-1])):
        play(resolve(find_scenario(scenario), version), seed=1)
    assert drained and nested == 0
