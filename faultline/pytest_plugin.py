"""Pytest's plugin: the fixture `faultline_cluster`, a cluster for one test, audited when the test has passed; and
`faultline_async_cluster`, the same for a test that runs on trio.

    @pytest.mark.faultline(kafka_version="2.6", settings={"min.insync.replicas": 2})
    def test_orders_survive_a_cut(faultline_cluster): ...

The marker takes what `faultline.Cluster` takes, and `expected`: names of checks that may be violated, such as
`("lost-acknowledged",)`. A check that is violated beside those fails the test, and so does evidence that cannot tell.
`audit=False` leaves the audit out. Before it, what is still cut is healed, and the cluster left until its replicas
agree.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from faultline.async_cluster import AsyncCluster
    from faultline.cluster import Cluster

FAILED = pytest.StashKey[bool]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "faultline(kafka_version=..., settings=..., topology=..., expected=(), audit=True): what faultline_cluster is",
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


@pytest.fixture
def faultline_cluster(request: pytest.FixtureRequest) -> "Iterator[Cluster]":
    """A cluster of its own for this test; a test that failed is not audited."""
    from faultline.cluster import Cluster
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
        verdict = cluster.audit()
        try:
            verdict.require_held(except_=expected)
        except AuditFailed as failed:
            pytest.fail(str(failed), pytrace=False)  # what the audit says; where it was asked for tells nobody anything


@pytest.fixture
def faultline_async_cluster(faultline_cluster: "Cluster") -> "AsyncCluster":
    """The same cluster for a test on trio, however that is run (pytest-trio's, or `trio.run` in it): begun before it,
    ended and audited behind it."""
    from faultline.async_cluster import AsyncCluster

    return AsyncCluster.of(faultline_cluster)
