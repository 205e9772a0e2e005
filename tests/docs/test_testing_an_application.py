"""docs/testing-an-application.md: its applications and tests run unchanged, on one cluster."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import faultline
from emulator.cluster.cluster_registry import registered
from emulator.cluster.control_client import ask
from emulator.cluster.control_requests import DeleteTopic

PAGE = Path(__file__).parents[2] / "docs" / "testing-an-application.md"
SETTINGS = {"zookeeper.session.timeout.ms": 3_000, "replica.lag.time.max.ms": 3_000, "min.insync.replicas": 2}
EXAMPLES = ("test_a_confirmed_order_outlives_its_az", "test_what_a_quick_shop_confirms_may_be_lost_with_its_az")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[faultline.Cluster]:
    """With failures that are noticed sooner than Kafka's own settings have it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patch.setenv("PYTHONPATH", str(PAGE.parents[1]))
        with faultline.Cluster(settings=SETTINGS, directory=tmp_path_factory.mktemp("run")) as running:
            yield running


@pytest.fixture(scope="module")
def written() -> dict[str, Any]:
    """The definitions of the page's Python blocks, one after the other."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {}
    for language, block in blocks:
        if language == "python":
            exec(compile(block, str(PAGE), "exec"), names)
    assert sorted(name for name in names if name.startswith("test_")) == sorted(EXAMPLES)
    return names


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example(example: str, cluster: faultline.Cluster, written: dict[str, Any]) -> None:
    try:
        written[example](cluster)
    finally:
        cluster.heal()
        found = registered(cluster.directory)
        assert found is not None and ask(found.registration, DeleteTopic("orders"), 30.0).code == 0
