"""A small scenario, played and looked at."""

from emulator.judging.judged import play_and_judge
from emulator.judging.oracle.probe import Probe
from emulator.runs.resolve import Resolved, resolve
from emulator.runs.simulated import Played, play
from emulator.runs.verdict_file import Verdict
from emulator.scenario.load import load_scenario

STEPS = """
id: small
title: one topic, a few writes
kafka: [2.8, 2.6, 1.1, 0.10.2]
settings: {zookeeper.session.timeout.ms: 2000, replica.lag.time.max.ms: 2000}
steps:
  - start: 2
  - start: 1
  - start: 0
  - create-topic: {topic: t, assignment: [0, 1, 2]}
  - produce: {broker: 0, values: [a, b, c], acks: all}
  - fetch: {broker: 0, offset: 0}
"""


RECREATED = (
    "delete-topic: t",
    "wait: {until: {deleted: t}}",
    "create-topic: {topic: t, assignment: [1, 2]}",
    "produce: {broker: 1, values: [d], acks: all}",
    "fetch: {broker: 1, offset: 0}",
)


def small(*steps: str, version: str = "2.8") -> Resolved:
    text = STEPS + "".join(f"  - {step}\n" for step in steps)
    return resolve(load_scenario(text, "small.yaml"), version)


def watched(resolved: Resolved, seed: int = 1) -> tuple[Played, Probe]:
    probe = Probe()
    return play(resolved, seed, after_step=probe.look), probe


def verdict_of(resolved: Resolved) -> Verdict:
    return play_and_judge(resolved, 1, run="1").verdict
