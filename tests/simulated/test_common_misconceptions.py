"""Facts that are often described wrongly (semantics 10), and sessions of dead processes.
A dead or paused process keeps its session for a while (semantics 11.11): whole clusters in the simulated world.
"""

from typing import Any, TypeVar

import pytest

from protocol.events import Event, LogTruncated, RoleChanged, SessionEnded
from tests.simulated.cluster import BEGIN, Cluster

E = TypeVar("E", bound=Event)
SETTLED = BEGIN + "  - sleep: 2\n"


def played(script: str, version: str, **settings: Any) -> Cluster:
    cluster = Cluster(SETTLED + script, version=version, **{"min.insync.replicas": 1, **settings})
    cluster.run()
    assert cluster.finished
    return cluster


def seen(cluster: Cluster, kind: type[E]) -> list[tuple[str, float, E]]:
    return [(e[0], e[4], e[5]) for e in cluster.world.trace.entries if isinstance(e[5], kind)]


def did_ms(cluster: Cluster, verb: str) -> float:
    """Time of the script's last execution of it, in ms."""
    return 1000.0 * float(max(e["t"] for e in cluster.player.timeline.entries if e.get("do") == verb))


def states(cluster: Cluster) -> list[tuple[int, int, list[int]]]:
    return [(s["leader"], s["leader_epoch"], s["isr"]) for s in cluster.player.timeline.partition_states]


def values(cluster: Cluster, broker: str) -> list[str]:
    return [value for _, _, value in cluster.logs()[broker]]


@pytest.mark.parametrize("version", ["0.10.2", "1.1", "2.6", "2.8"])
def test_a_new_leader_cuts_nothing_not_even_beyond_its_high_watermark(version: str) -> None:
    """Semantics 10, 1: c is on broker-1 without being committed there.
    It leads with c in its log.
    """
    cluster = played(
        "  - cut: {opened_by: 2, to: 0}\n  - produce: {broker: 0, values: [c], acks: 1}\n  - sleep: 0.3\n"
        "  - kill: 0\n  - wait: new leader\n  - heal\n  - sleep: 12\n",
        version,
    )
    assert states(cluster)[-1][0] == 1
    assert [e.to for name, _, e in seen(cluster, LogTruncated) if name == "broker-1" and e.effective] == []
    assert values(cluster, "broker-1") == values(cluster, "broker-2") == ["a", "b", "c"]


@pytest.mark.parametrize(("error", "min_isr", "log"), [(7, 1, ["a", "b", "c"]), (19, 3, ["a", "b"])])
def test_a_failed_acks_all_write_is_in_the_log_unless_it_was_refused(error: int, min_isr: int, log: list[str]) -> None:
    """Semantics 10, 2: after code 7 it is, after 19 it is not."""
    frozen = "  - kill: 1\n  - wait: {until: {isr: [0, 2]}}\n" if error == 19 else "  - pause: broker-1\n"
    script = f"{frozen}  - produce: {{broker: 0, values: [c], acks: all, timeout_ms: 1000}}\n"
    cluster = played(script, "2.6", **{"min.insync.replicas": min_isr})
    assert cluster.attempts()[-1] == ("c", error)
    assert values(cluster, "broker-0") == log


@pytest.mark.parametrize(
    ("controller_too", "version", "epoch"),
    [(False, "2.2", 1), (False, "2.6", 1), (False, "2.8", 1), (True, "2.2", 1), (True, "2.3", 2), (True, "2.8", 2)],
)
def test_a_lost_leader_costs_two_epochs_only_with_its_controller_and_from_2_3(
    controller_too: bool, version: str, epoch: int
) -> None:
    """Semantics 10, 5: broker-2 is the controller, and leads u; broker-0 leads t."""
    cluster = played(
        "  - create-topic: {topic: u, assignment: [2, 1, 0]}\n  - sleep: 2\n"
        f"  - kill: {2 if controller_too else 0}\n  - sleep: 10\n",
        version,
    )
    topic_partition = "u-0" if controller_too else None
    last = [s for s in cluster.player.timeline.partition_states if s.get("partition") == topic_partition][-1]
    assert (last["leader"], last["leader_epoch"]) == (1, epoch)


@pytest.mark.parametrize("version", ["1.1", "2.6", "2.8"])
def test_after_a_leader_shrinks_its_isr_no_broker_gets_a_new_role(version: str) -> None:
    """Semantics 10, 6: metadata only, no LeaderAndIsr."""
    cluster = played(
        "  - cut: {link: [0, 1]}\n  - produce: {broker: 0, values: [c], acks: 1}\n  - sleep: 10\n", version
    )
    assert states(cluster)[-1] == (0, 0, [0, 2])
    assert [name for name, at_ms, _ in seen(cluster, RoleChanged) if at_ms > did_ms(cluster, "cut")] == []


@pytest.mark.parametrize(("version", "isr"), [("2.0.1", [0, 2]), ("2.1", [0, 1, 2]), ("2.8", [0, 1, 2])])
def test_a_silent_follower_that_lacks_nothing_stays_from_2_1(version: str, isr: list[int]) -> None:
    """Semantics 10, 7."""
    cluster = played("  - cut: {link: [0, 1]}\n  - sleep: 12\n", version)
    assert states(cluster)[-1][2] == isr


@pytest.mark.parametrize(("version", "answered"), [("2.6", False), ("2.8", True)])
def test_an_isolated_leader_goes_on_until_its_first_isr_write_or_for_ever(version: str, answered: bool) -> None:
    """Semantics 10, 8: with AlterIsr for ever.
    Before, the write waits for the session service and holds the lock.
    """
    write = "  - produce: {broker: 0, values: [%s], acks: 1, socket_timeout_s: 2}\n"
    cluster = played(f"  - cut: az-0\n{write % 'c'}  - sleep: 12\n{write % 'd'}", version)
    assert dict(cluster.attempts())["c"] == 0
    assert (dict(cluster.attempts())["d"] == 0) is answered


@pytest.mark.parametrize("verb", ["kill", "pause-node"])
@pytest.mark.parametrize("seed", range(1, 6))
def test_a_session_outlives_its_process_and_expires_a_time_out_after_its_last_sign_of_life(
    verb: str, seed: int
) -> None:
    """Semantics 11.11: 4 s, of which up to 1.33 may have passed since the last ping.
    Rounded up to a tick of 1 s.
    """
    cluster = played(f"  - {verb}: 1\n  - sleep: 8\n", "2.6", seed=seed)
    (ended,) = [at for _, at, e in seen(cluster, SessionEnded) if e.owner == "broker-1" and at > did_ms(cluster, verb)]
    assert 4000 - 1400 <= ended - did_ms(cluster, verb) <= 4000 + 1000 + 300
