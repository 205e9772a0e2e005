"""The same seed gives the same bytes; what a run may last.
What waits while a node is paused.
"""

import msgspec
import pytest

from emulator.worlds.simulated.heap import RunTooLong
from emulator.worlds.simulated.latencies import CALM, ROUGH
from emulator.worlds.simulated.latency_model import Draws
from protocol.events import MachineFault, RoleChanged, SessionEnded
from tests.simulated.cluster import Cluster

FAULTS = """
  - start: 2
  - start: 1
  - start: 0
  - create-topic: {topic: t, assignment: [0, 1, 2]}
  - produce: {broker: 0, values: [a, b], acks: all}
  - cut: az-0
  - wait: new leader
  - produce: {broker: 0, values: [c], acks: 1}
  - produce: {broker: 1, values: [d], acks: 1}
  - heal
  - kill: 2
  - sleep: 8
  - power-loss: 1
  - start: 2
  - sleep: 3
  - start: 1
  - sleep: 10
"""
PAUSE = """
  - start: 2
  - start: 1
  - start: 0
  - create-topic: {topic: t, assignment: [0, 1, 2]}
  - produce: {broker: 0, values: [a], acks: all}
  - pause: broker-0
  - wait: {until: new leader, limit_s: 30}
  - resume: 0
  - produce: {broker: 0, values: [b], acks: 1}
  - sleep: 20
"""


def whole(cluster: Cluster) -> bytes:
    """Every event with its time, as bytes."""
    trace = cluster.world.trace
    return b"\n".join(msgspec.json.encode(trace.line(entry, "run", 0.0)) for entry in trace.entries)


def played(script: str = FAULTS, **how: object) -> Cluster:
    cluster = Cluster(script, **how)  # type: ignore[arg-type]
    cluster.run()
    assert cluster.finished
    return cluster


@pytest.mark.parametrize("version", ["0.10.2", "1.1", "2.6", "2.8"])
@pytest.mark.parametrize("latencies", [CALM, ROUGH], ids=["calm", "rough"])
def test_the_same_seed_gives_the_same_bytes(version: str, latencies: object) -> None:
    first = played(version=version, seed=7, latencies=latencies)
    second = played(version=version, seed=7, latencies=latencies)
    assert whole(first) == whole(second)
    assert first.player.timeline.entries == second.player.timeline.entries
    assert (first.world.now_ms, first.world.inputs) == (second.world.now_ms, second.world.inputs)


def test_different_seeds_differ() -> None:
    assert len({whole(played(seed=seed)) for seed in range(5)}) == 5


def test_draws_depend_on_the_seed_alone() -> None:
    def some(seed: int) -> list[float]:
        draws = Draws(seed, CALM)
        frames = [draws.frame_ms("broker-0", "broker-1") for _ in range(2)]
        return [*frames, draws.timer_ms("broker-0", ("t",)), draws.takes_ms("broker-0", "log_creation_ms")]

    assert some(3) == some(3) != some(4)
    assert all(value >= 0 for seed in range(50) for value in some(seed))
    assert min(Draws(seed).frame_ms("broker-0", "broker-1") for seed in range(200)) >= CALM.base_ms


def test_a_run_that_does_not_end_in_time_is_reported() -> None:
    cluster = Cluster(FAULTS)
    with pytest.raises(RunTooLong, match=r"inputs until \d+ ms; bounds: 20000000, 2000 ms"):
        cluster.run(max_ms=2_000.0)


def test_a_run_of_too_many_inputs_is_an_error() -> None:
    cluster = Cluster(FAULTS)
    with pytest.raises(RunTooLong, match=r"^501 inputs until"):
        cluster.world.run(lambda: False, max_inputs=500)


def test_a_paused_node_does_nothing_and_then_everything_that_waited() -> None:
    """Semantics 11.15: a paused leader that resumes answers an acks=1 write before it learns."""
    cluster = played(PAUSE)
    entries = cluster.world.trace.entries
    (paused_at,) = [e[4] for e in entries if isinstance(e[5], MachineFault) and e[5].what == "pause"]
    (resumed_at,) = [e[4] for e in entries if isinstance(e[5], MachineFault) and e[5].what == "resume"]
    ended = [e[4] for e in entries if isinstance(e[5], SessionEnded) and e[5].owner == "broker-0"]
    assert paused_at < ended[0] < resumed_at, "its session had to expire"
    silent = [e for e in entries if e[0] == "broker-0" and paused_at < e[4] < resumed_at]
    assert silent == []
    assert cluster.attempts() == [("a", 0), ("b", 0)]
    followed = [
        e[4] for e in entries if e[0] == "broker-0" and isinstance(e[5], RoleChanged) and e[5].role == "follower"
    ]
    assert followed and followed[0] > resumed_at
    logs = cluster.logs()
    assert logs["broker-0"] == logs["broker-1"] == logs["broker-2"] == [[0, 0, "a"]], "b was acked with acks=1 only"


def test_nothing_of_a_dead_life_reaches_the_next() -> None:
    """Killed and started again at once: timers and connections of the first life are gone."""
    cluster = Cluster(version="2.6")
    cluster.run(lambda: cluster.world.now_ms > 15_000.0)
    cluster.world.kill("broker-1")
    node = cluster.world.nodes["broker-1"]
    assert (node.timers, node.ends, list(node.held)) == ({}, {}, [])
    lives = node.incarnation
    cluster.world.start("broker-1")
    assert node.incarnation == lives + 1
    cluster.run()
    cluster.go_on(60_000.0)
    assert cluster.logs()["broker-0"] == cluster.logs()["broker-2"]


def test_a_dead_node_cannot_be_killed_and_a_living_one_not_started() -> None:
    cluster = Cluster(version="2.6")
    cluster.run(lambda: cluster.world.now_ms > 10_000.0)
    with pytest.raises(AssertionError, match="broker-0 is alive"):
        cluster.world.start("broker-0")
    cluster.world.kill("broker-0")
    events = len(cluster.world.trace.entries)
    cluster.world.kill("broker-0")
    assert len(cluster.world.trace.entries) == events
