"""A partition's past written by hand, for the rules to judge."""

from typing import Any

from emulator.judging.crash_testing.crash_plan import resolved_for
from emulator.judging.explain.broken_promises import Broken
from emulator.judging.explain.promise_rules import Rules
from emulator.judging.explain.run_history import High, History, Stated, Written
from emulator.scenario import scenario_model as m
from protocol.ids import BrokerId, ControllerEpoch, LeaderEpoch
from protocol.znodes import Leadership
from tests.ids import brokers

TOPIC_PARTITION = ("t", 0)
LOST = Broken("lost", "c is lost", TOPIC_PARTITION, 2, m.ALL_ACKS, "c", digest=7)
C = Written(4, 0, epoch=0, first=2, last=2, digest=7)
"""The record that is lost, as its leader wrote it."""
COPIED = Written(4.4, 1, epoch=0, first=2, last=2, digest=7)
"""The same, as broker-1 has it."""
HIGH = High(4.6, 0, epoch=0, high_watermark=3)
"""By then it is committed."""


def stated(at_ms: float, leader: int, epoch: int, isr: tuple[int, ...], version: int) -> Stated:
    return Stated(at_ms, Leadership(BrokerId(leader), LeaderEpoch(epoch), brokers(*isr), ControllerEpoch(1), version))


def committed(**more: Any) -> History:
    """broker-0 leads, broker-1 has c, and it is committed; and what came after."""
    known = {
        "written": {TOPIC_PARTITION: [C]},
        "copied": {TOPIC_PARTITION: [COPIED]},
        "highs": {TOPIC_PARTITION: [HIGH]},
    }
    return History(**{**known, **more})


def rules(scenario: str, version: str, history: History, **more: Any) -> Rules:
    return Rules(resolved_for(scenario, version), history, **{"tails": [], **more})
