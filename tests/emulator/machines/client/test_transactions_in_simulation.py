"""Exactly-once by our own clients and brokers, through faults."""

from collections import Counter

import pytest

from emulator.machines.client.client_operations import KeptOperations
from emulator.runs.resolve import resolve
from emulator.runs.simulated import play
from emulator.scenario.load import load_scenario

STEPS = """
settings:
  auto.create.topics.enable: false
  offsets.topic.num.partitions: 3
  transaction.state.log.num.partitions: 5
  min.insync.replicas: 2
  group.initial.rebalance.delay.ms: 0
steps:
{starts}
  - create-topic: {{topic: t, assignment: [[2, 1, 0], [1, 0, 2]]}}
  - create-topic: {{topic: u, assignment: [[0, 1, 2], [1, 0, 2]]}}
  - workload:
      {{name: load, topic: t, rate: 4, transactional_id: tx, records_per_transaction: 8, abort_ratio: 0.25,
       consumer_settings: {{isolation.level: read_committed}}}}
  - workload:
      {{name: shop, topic: t, producers: false, group: g, output: u, transactional_id: shop,
       consumer_settings: {{auto.offset.reset: earliest, session.timeout.ms: 6000}}}}
  - workload: {{name: sink, topic: u, producers: false, consumer_settings: {{isolation.level: read_committed}}}}
  - sleep: 5
  - cut: az-1
  - sleep: 20
  - heal
  - sleep: 5
  - kill: 2
  - sleep: 10
  - start: 2
  - sleep: 15
  - stop-workload: load
  - sleep: 30
  - stop-workload: shop
  - stop-workload: sink
"""


def scenario(version: str, metadata: str) -> str:
    controllers = [f"  - start: controller-{number}" for number in range(3)] if metadata == "kraft" else []
    starts = "\n".join([*controllers, *(f"  - start: {broker}" for broker in (2, 0, 1))])
    return f"id: x\ntitle: x\nkafka: [{version}]\nmetadata: {metadata}\n" + STEPS.format(starts=starts)


@pytest.mark.parametrize(("version", "metadata"), [("2.8", "zookeeper"), ("4.1", "kraft")])
def test_what_is_committed_is_read_once_and_nothing_else(version: str, metadata: str) -> None:
    operations = KeptOperations()
    played = play(resolve(load_scenario(scenario(version, metadata), "x.yaml"), version), 2, operations=operations)
    changes = {name: {one.change for one in each.changes} for name, each in operations.transactions.items()}
    read: dict[tuple[str, int], set[int]] = {}
    for operation in operations:
        assert not operation.reads or operation.isolation == "read_committed"
        for one in operation.reads:
            assert one.last_offset < one.last_stable_offset, "not beyond the last stable offset"
            read.setdefault((operation.topic, operation.partition), set()).update(
                range(one.base_offset, one.last_offset + 1)
            )
    values: Counter[str] = Counter()
    for operation in operations:
        if operation.kind == "produce":
            seen = operation.offset in read.get((operation.topic, operation.partition), ())
            of = changes[operation.transaction]
            if "committed" in of:
                assert (operation.outcome, seen) == ("ok", True), operation.identifier
            elif "committing" not in of:
                assert not seen, operation.identifier
            values[operation.value] += seen
    assert max(values.values()) == 1, "each record is transformed once"
    counts = Counter(change for of in changes.values() for change in of)
    assert counts["committed"] > 50
    assert counts["aborted"] > 3
    assert counts["fatal"] <= counts["abandoned"] + 10
    transformed = sum(count for value, count in values.items() if "@" in value)
    assert transformed == sum(values.values()) - transformed, "all of it, and at its end nothing is missing"
    assert played.observations.timeline
