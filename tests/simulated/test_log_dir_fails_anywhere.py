"""Failure of one of two log directories at any storage operation (semantics 3, KIP-112).
Since 1.0 the broker lives on, before it dies; when it has another disk, everything that was acknowledged is there, and
all replicas are alike.

acks=all, min.insync.replicas 2, three replicas, the partition in the directory that fails.
"""

from typing import Any

import pytest

from tests.simulated.cluster import Cluster

pytestmark = pytest.mark.slow

VERSIONS = ("0.10.2", "0.11", "1.0", "1.1", "2.0.1", "2.4", "2.6", "2.8")
OPERATIONS = 70
"""About as many as the leader makes there in the whole script (asserted below)."""
BACK_AFTER_MS = 7_000.0
SETTLE_MS = 30_000.0
NAMES = ("broker-0", "broker-1")
TWO: dict[str, Any] = {"log.dirs": "d0,d1"}


def in_d0(path: str) -> bool:
    return path == "d0" or path.startswith("d0/")


def fails_at(cluster: Cluster, name: str, operation: int) -> None:
    """From the `operation`-th storage operation in d0 on (0: the next)."""
    left = operation

    def before(what: str, path: str) -> None:
        nonlocal left
        left -= in_d0(path)
        if left < 0:
            cluster.world.nodes[name].files.faults.failing.add("d0")

    cluster.world.watch_storage(name, before)


def test_the_script_has_so_many_operations_there() -> None:
    cluster = Cluster(version="2.6", **TWO)
    paths: list[str] = []
    cluster.world.watch_storage("broker-0", lambda operation, path: paths.append(path))
    cluster.run()
    assert 0.9 * OPERATIONS <= sum(map(in_d0, paths)) <= OPERATIONS
    assert cluster.acknowledged() == list("abcdefghi")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_log_directory_that_fails_at_any_operation_costs_nothing_that_was_promised(version: str, name: str) -> None:
    lives = version in VERSIONS[2:]
    for operation in range(VERSIONS.index(version), OPERATIONS, len(VERSIONS)):
        cluster = Cluster(version=version, steps_may_fail=True, **TWO)
        fails_at(cluster, name, operation)
        cluster.run(lambda c=cluster: bool(c.world.nodes[name].died))  # type: ignore[misc]
        if not cluster.world.nodes[name].files.faults.any:
            assert operation > OPERATIONS / 2, "other versions, and followers, have less to do"
            break
        assert cluster.alive(name) == lives, (version, operation)
        cluster.world.watch_storage(name, None)
        cluster.world.kill(name)
        cluster.world.replace_disk(name, "d0")
        cluster.restart_in(name, BACK_AFTER_MS)
        cluster.run()
        cluster.go_on(SETTLE_MS)
        cluster.assert_sound()
