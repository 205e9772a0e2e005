"""Brokers whose settings change while they run, in the simulated world (KIP-226).

Semantics 7.
"""

import pytest

from emulator.judging.judged import play_and_judge
from emulator.runs.resolve import resolve
from emulator.scenario.load import load_scenario
from emulator.scenario.player.steps import StepFailed
from protocol.errors import ErrorCode
from protocol.events import BrokerConfigured
from tests.simulated.cluster import Cluster

BEGIN = """
  - start: [0, 1, 2]
  - create-topic: {topic: t, assignment: [0, 1]}
  - wait: {until: isr restored}
"""
WRITE = "  - sleep: 1\n  - produce: {broker: 0, values: [x], acks: all}\n"


def errors(script: str) -> list[int]:
    cluster = Cluster(BEGIN + script)
    cluster.run()
    assert cluster.finished
    return [int(entry["error"]) for entry in cluster.player.timeline.entries if entry.get("saw") == "attempt"]


def reported(cluster: Cluster, node: str) -> list[tuple[int, str]]:
    events = [entry[5] for entry in cluster.world.trace.entries if entry[0] == node]
    return [(event.broker, event.config) for event in events if isinstance(event, BrokerConfigured)]


def test_what_was_given_outlives_the_broker() -> None:
    """It reads it again before it loads its logs, as it would a file."""
    script = "  - alter-broker: {settings: {min.insync.replicas: 3}}\n" + WRITE
    again = "  - stop: 0\n  - wait: {until: {leader: 1}}\n  - start: 0\n  - wait: {until: isr restored, limit_s: 60}\n"
    back = "  - elect-preferred\n  - wait: {until: {leader: 0}}\n"
    found = errors(script + again + back + WRITE)
    assert found == [ErrorCode.NOT_ENOUGH_REPLICAS] * 2


@pytest.mark.parametrize(
    ("steps", "refused"),
    [
        (["{broker: 0, configs: {num.io.threads: 17}}"], True),
        (["{broker: 0, configs: {num.io.threads: 16}}", "{broker: 0, configs: {num.io.threads: 32}}"], False),
        (["{configs: {num.io.threads: 16}}", "{broker: 0, configs: {num.io.threads: 32}}"], False),
        (["{broker: 0, configs: {num.io.threads: 16}}", "{broker: 0, configs: {num.io.threads: 32}}",
          "{broker: 0, remove: num.io.threads}"], True),
        (["{configs: {num.io.threads: 3, min.insync.replicas: 3}}"], True),
    ],
)  # fmt: skip
def test_what_a_broker_would_refuse_is_refused_before_it_is_written(steps: list[str], refused: bool) -> None:
    cluster = Cluster(BEGIN + "".join(f"  - alter-broker: {step}\n  - sleep: 1\n" for step in steps))
    if not refused:
        cluster.run()
    else:
        with pytest.raises(StepFailed, match=r"alter-broker .*: num.io.threads can be doubled and halved at a time"):
            cluster.run()
        assert len(reported(cluster, "broker-0")) == len(steps) - 1


def test_brokers_receive_what_is_theirs() -> None:
    script = """
  - alter-broker: {settings: {min.insync.replicas: 2, log.flush.interval.ms: 100}}
  - sleep: 1
  - alter-broker: {settings: {min.insync.replicas: 1}, remove: log.flush.interval.ms}
  - alter-broker: {broker: 1, settings: {num.io.threads: 9}}
  - sleep: 1
"""
    cluster = Cluster(BEGIN + script)
    cluster.run()
    both = [(-1, "log.flush.interval.ms=100 min.insync.replicas=2"), (-1, "min.insync.replicas=1")]
    assert reported(cluster, "broker-0") == both
    assert reported(cluster, "broker-1") == [*both, (1, "num.io.threads=9")]


@pytest.mark.parametrize(
    ("version", "not_modelled", "dropped"),
    [
        ("2.8", ["log.retention.ms", "topic.cleanup.policy"], []),
        ("1.0", ["topic.cleanup.policy"], ["log.retention.ms", "min.insync.replicas"]),
    ],
)
def test_what_is_altered_is_accounted_for(version: str, not_modelled: list[str], dropped: list[str]) -> None:
    text = f"""
id: small
title: settings that are altered
kafka: ["{version}"]
steps: {BEGIN}
  - alter-broker: {{settings: {{log.retention.ms: 1, min.insync.replicas: 2}}}}
  - alter-topic: {{topic: t, settings: {{cleanup.policy: compact}}}}
"""
    resolved = resolve(load_scenario(text, "small.yaml"), version)
    account = resolved.account
    assert sorted(one.name for one in account.not_modelled) == not_modelled
    assert sorted(one.name for one in account.dropped) == dropped
    assert play_and_judge(resolved, 1, run="1").verdict.exit_code in (0, 3)
