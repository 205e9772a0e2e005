"""The player in the simulated world: starts, background steps, results, impossible steps."""

import pytest

from emulator.machines.client.client_state import Attempt, Described, Fetched
from emulator.scenario.player.observing import Observing
from emulator.scenario.player.steps import StepFailed
from emulator.scenario.player.timeline import Timeline, epoch_or_null, metadata_view, text
from emulator.topology import three_azs
from protocol.events import MachineFault
from protocol.ids import BrokerId, ControllerEpoch, LeaderEpoch, Offset
from protocol.messages.leadership_messages import BrokerEndpoint, MetadataResponse, PartitionMetadata
from protocol.znodes import Leadership
from tests.ids import brokers
from tests.simulated.cluster import Cluster

BEGIN = """
  - start: 2
  - start: 1
  - start: 0
  - create-topic: {topic: t, assignment: [0, 1, 2]}
"""


def played(script: str) -> Cluster:
    cluster = Cluster(script)
    cluster.run()
    assert cluster.finished
    return cluster


def output(cluster: Cluster) -> list[str]:
    return [str(entry.get("do") or entry.get("saw")) for entry in cluster.player.timeline.entries]


def test_a_started_broker_is_waited_for_until_it_is_registered() -> None:
    cluster = played("  - start: 1\n  - sleep: 0.1\n")
    (entry,) = cluster.player.timeline.entries[:1]
    assert cluster.player.seen.live == frozenset({1})
    assert entry["do"] == "start"
    assert 1.0 < cluster.world.now_ms / 1000 - entry["t"] < 15.0


def test_a_broker_that_cannot_register_is_waited_for_only_so_long() -> None:
    """15 s; then the script goes on."""
    cluster = played("  - start: 2\n  - cut: az-1\n  - start: 1\n  - sleep: 0.1\n")
    start = [entry["t"] for entry in cluster.player.timeline.entries if entry["do"] == "start"][1]
    assert 15.0 < cluster.world.now_ms / 1000 - start < 18.0


def test_what_is_done_to_several_machines_is_done_at_once() -> None:
    """Killed in one moment; and started: the step ends when the last broker is registered."""
    cluster = played(BEGIN + "  - kill: [az-0, 1]\n  - sleep: 8\n  - start: [az-0, 1]\n  - sleep: 0.1\n")
    faults = [(at, e) for *_, at, e in cluster.world.trace.entries if isinstance(e, MachineFault) and e.what == "kill"]
    assert {event.target for _, event in faults} == {"broker-0", "session-0", "client-0", "broker-1"}
    assert len({at for at, _ in faults}) == 1
    (entry,) = [e for e in cluster.player.timeline.entries if e.get("do") == "kill"]
    assert entry["nodes"] == ["broker-0", "session-0", "client-0", "broker-1"]
    assert cluster.player.seen.live == frozenset({0, 1, 2})
    assert len({cluster.world.nodes[name].incarnation for name in entry["nodes"]}) == 1


def test_of_several_machines_the_one_that_cannot_is_named_when_the_others_have_done_it() -> None:
    cluster = Cluster(BEGIN + "  - kill: 1\n  - start: az-1\n  - sleep: 1\n")
    with pytest.raises(StepFailed, match="session-1 runs already"):
        cluster.run()


def test_a_background_step_runs_beside_the_next_until_it_is_awaited() -> None:
    script = """
  - pause: broker-1
  - background: writer
    produce: {broker: 0, values: [a], acks: all, timeout_ms: 2000}
  - sleep: 0.5
  - await: writer
  - sleep: 0.1
"""
    cluster = played(BEGIN + script)
    done = output(cluster)
    assert done.index("attempt") > done.index("pause")
    (attempt,) = [entry for entry in cluster.player.timeline.entries if entry.get("saw") == "attempt"]
    assert (attempt["value"], attempt["error"], attempt["offset"]) == ("a", 7, 0)


def test_a_wait_is_noted_whether_reached_or_not() -> None:
    script = "  - kill: 1\n  - wait: {until: {leader: 2}, limit_s: 1}\n  - wait: {until: {isr: [0, 2]}, limit_s: 20}\n"
    cluster = played(BEGIN + script)
    assert [e["saw"] for e in cluster.player.timeline.entries if "until" in e and "saw" in e] == [
        "not-reached",
        "reached",
    ]


def test_a_wait_for_log_ends_looks_at_the_files_of_the_brokers_that_run() -> None:
    """A dead one counts no more; one that cannot fetch is behind until it can."""
    script = """
  - cut: {link: [0, 1], only: fetcher}
  - produce: {broker: 0, values: [a], acks: 1}
  - wait: {until: caught up, limit_s: 2, called: behind}
  - heal
  - wait: {until: caught up, limit_s: 10, called: healed}
  - kill: 2
  - sleep: 1
  - produce: {broker: 0, values: [b], acks: 1}
  - wait: {until: {all: [caught up, {leader: 0}]}, limit_s: 5, called: without broker-2}
"""
    cluster = played(BEGIN + script)
    assert [(e["until"], e["saw"]) for e in cluster.player.timeline.entries if "until" in e and "saw" in e] == [
        ("behind", "not-reached"),
        ("healed", "reached"),
        ("without broker-2", "reached"),
    ]


def test_where_steps_may_fail_one_is_noted_and_the_next_begins() -> None:
    script = "  - start: 1\n  - start: 1\n  - sleep: 0.1\n"
    cluster = Cluster(script, steps_may_fail=True)
    begun: list[int] = []
    cluster.player.on_step = lambda: begun.append(cluster.player.step_number)
    cluster.run()
    assert cluster.finished and begun == [1, 2, 3]
    why = [e["why"] for e in cluster.player.timeline.entries if e.get("saw") == "step-failed"]
    assert why == ["broker-1 runs already"]


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("  - start: 1\n  - produce: {broker: 1, values: [a], acks: 1}\n", "no topic has been created yet"),
        ("  - start: 1\n  - start: 1\n", "broker-1 runs already"),
        ("  - start: 0\n  - create-topic: {topic: t, assignment: [1, 2]}\n", "t has no leaders after 30 s"),
    ],
)
def test_an_impossible_step_is_named_with_the_reason(script: str, message: str) -> None:
    with pytest.raises(StepFailed, match=rf"^step 2 \((produce|start|create-topic) .*\): {message}$") as failed:
        played(script)
    assert failed.value.step == 2


# --- the timeline's shapes (golden/README.md) ---


def timeline() -> Timeline:
    notes = Timeline()
    notes.first = "t-0"
    return notes


def test_an_attempt_has_the_keys_of_the_recordings() -> None:
    notes = timeline()
    notes.attempt(7102.4567, Attempt("observer.1:1", BrokerId(0), "a", -1, 1, 0, Offset(5)), "t-0")
    notes.attempt(8000.0, Attempt("observer.1:2", BrokerId(1), "b", 1, 2, "TimeoutError", None), "u-3")
    assert notes.entries == [
        {"t": 7.102, "saw": "attempt", "broker": 0, "value": "a", "acks": -1, "attempt": 1, "error": 0, "offset": 5},
        {"t": 8.0, "saw": "attempt", "broker": 1, "value": "b", "acks": 1, "attempt": 2, "error": "TimeoutError",
         "offset": None, "partition": "u-3"},
    ]  # fmt: skip


def test_a_fetch_that_failed_has_no_records() -> None:
    notes = timeline()
    notes.fetched(0.0, Fetched("observer.1:1", BrokerId(2), "ConnectionRefusedError", None, None), "t-0")
    assert notes.entries[0]["records"] is None
    assert list(notes.entries[0]) == ["t", "saw", "broker", "error", "high_watermark", "records"]


def test_metadata_is_one_partitions_view() -> None:
    metadata = MetadataResponse(
        BrokerId(2),
        [BrokerEndpoint(BrokerId(1), "broker-1"), BrokerEndpoint(BrokerId(0), "broker-0")],
        [PartitionMetadata("t", 0, 0, BrokerId(1), LeaderEpoch(4), list(brokers(1, 0)))],
    )
    view = {"broker": 0, "controller": 2, "leader": 1, "epoch": 4, "isr": [1, 0], "live": [0, 1]}
    assert metadata_view(0, metadata, "t-0") == view
    assert metadata_view(0, metadata, "u-0") == {**view, "leader": -1, "epoch": None, "isr": []}
    notes = timeline()
    notes.metadata(1000.0, Described("observer.1:1", BrokerId(0), 0, metadata), "t-0")
    notes.metadata(1000.0, Described("observer.1:2", BrokerId(1), "TimeoutError", None), "t-0")
    assert notes.entries == [
        {"t": 1.0, "saw": "metadata", "broker": 0, "leader": 1, "leader_epoch": 4, "isr": [1, 0], "controller": 2,
         "live_brokers": [0, 1]},
        {"t": 1.0, "saw": "metadata", "broker": 1, "leader": None, "leader_epoch": None, "isr": None,
         "controller": None, "live_brokers": None, "error": "TimeoutError"},
    ]  # fmt: skip


def test_states_are_noted_when_they_change() -> None:
    notes, seen = timeline(), Observing(three_azs(), lambda now, what: None)
    notes.changed(500.0, "controller", seen)
    assert notes.controllers == [], "the recordings begin with the first topic"
    seen.controller, seen.controller_epoch, seen.live = BrokerId(2), 1, frozenset(brokers(0, 1, 2))
    first = Leadership(BrokerId(0), LeaderEpoch(0), brokers(0, 1), ControllerEpoch(1), 0)
    second = Leadership(BrokerId(1), LeaderEpoch(1), brokers(1), ControllerEpoch(1), 1)
    for at_ms, state in ((1000.0, first), (2000.0, first), (3000.0, second)):
        seen.states["t-0"] = state
        notes.changed(at_ms, "states", seen)
    assert [(s["t"], s["leader"], s["zk_version"]) for s in notes.partition_states] == [(1.0, 0, 0), (3.0, 1, 1)]
    assert notes.controllers == [{"t": 1.0, "controller": 2, "epoch": 1}]
    assert notes.live_brokers == [{"t": 1.0, "live": [0, 1, 2]}]
    notes.record_state(4000.0, seen, "t-0")
    assert notes.entries == [
        {"t": 4.0, "saw": "partition-state", "controller_epoch": 1, "leader": 1, "leader_epoch": 1, "isr": [1],
         "zk_version": 1},
    ]  # fmt: skip


def test_values_as_text() -> None:
    assert (epoch_or_null(-1), epoch_or_null(0)) == (None, 0)
    assert (text(None), text(b"a"), text(b"\xff")) == (None, "a", "\\xff")
