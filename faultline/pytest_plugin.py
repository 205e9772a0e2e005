"""Pytest plugin: the fixtures `faultline_cluster` and `faultline_async_cluster` (on trio).

Each test has its own cluster, audited after the test has passed.

    @pytest.mark.faultline(kafka_version="2.6", settings={"min.insync.replicas": 2})
    def test_orders_survive_a_cut(faultline_cluster): ...

The marker takes the arguments of `faultline.Cluster`, and `expected`: names of checks that may be violated, such as
`("lost-acknowledged",)`. Another violated check fails the test, and so does incomplete evidence. `audit=False` omits
the audit. Before the audit, remaining cuts are healed, and the plugin waits until the replicas agree.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from faultline.async_cluster import AsyncCluster
    from faultline.sync_cluster import Cluster

FAILED = pytest.StashKey[bool]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "faultline(kafka_version=..., metadata=..., settings=..., topology=..., expected=(), audit=True): "
        "what faultline_cluster is",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Any:
    report = yield
    if report.when == "call" and report.failed:
        item.stash[FAILED] = True
    cluster = getattr(item, "funcargs", {}).get("faultline_cluster")
    if report.failed and cluster is not None:
        report.sections.append(("faultline", f"the run is in {cluster.directory}"))
    return report


@pytest.fixture(scope="session")
def faultline_spark() -> Iterator[None]:
    """The Spark server of all audits of the session, which ends with it."""
    from audit.warm_spark import hold

    with ExitStack() as stack:
        hold(stack)
        yield


@pytest.fixture
def faultline_cluster(request: pytest.FixtureRequest, faultline_spark: None) -> "Iterator[Cluster]":
    """A cluster for this test alone; a failed test is not audited."""
    from faultline.sync_cluster import Cluster
    from faultline.verdict import AuditFailed

    marker = request.node.get_closest_marker("faultline")
    given = dict(marker.kwargs) if marker is not None else {}
    expected, wanted = tuple(given.pop("expected", ())), bool(given.pop("audit", True))
    with Cluster(**given) as cluster:
        yield cluster
        judged = wanted and not request.node.stash.get(FAILED, False)
        if judged:
            cluster.heal()
            cluster.settle()
    if judged:
        verdict, problem = cluster.audit(), ""
        try:
            verdict.require_held(except_=expected)
        except AuditFailed as failed:
            problem = str(failed)
        if problem:  # not within `except`: pytest would print the text of both exceptions
            pytest.fail(problem, pytrace=False)


@pytest.fixture
def faultline_async_cluster(faultline_cluster: "Cluster") -> "AsyncCluster":
    """The same cluster for a test on trio, under pytest-trio or in `trio.run`.

    `faultline_cluster` starts, ends and audits it.
    """
    from faultline.async_cluster import AsyncCluster

    return AsyncCluster.of(faultline_cluster)
