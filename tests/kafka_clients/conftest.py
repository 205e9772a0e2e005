"""One cluster for each version of Kafka, shared by all tests of that version in this folder.

There is one cluster at a time: tests are put in order of their versions, and the last test of a version ends its
cluster. So does the last test here: suites that come later have the machine, and the environment, for themselves.
"""

import contextlib
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

import faultline
from protocol.versions import since
from tests.kafka_clients.capabilities import VERSIONS, skip_older

BETWEEN = ("1.1", "2.0", "2.6")
"""Versions between the oldest and the newest, with listener features of these two only.

Slow.
"""
DELAY = "group.initial.rebalance.delay.ms"
"""Default wait of a new group for further members: three seconds, since 0.11.

The pure tests of groups do that in no time.
"""
_numbers = count()


class Shared:
    """The cluster that runs, and a user who has no others."""

    def __init__(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        self._folders = tmp_path_factory
        self._user = contextlib.ExitStack()
        self._running = contextlib.ExitStack()
        self._version = ""
        self._home: Path | None = None
        self.cluster: faultline.Cluster | None = None

    def home(self) -> Path:
        if self._home is None:
            self._home = self._folders.mktemp("state")
            patch = self._user.enter_context(pytest.MonkeyPatch.context())
            patch.setenv("XDG_STATE_HOME", str(self._home))
            patch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
        return self._home

    def of(self, version: str) -> faultline.Cluster:
        """The cluster of this version, which may have to start."""
        self.home()
        if self._version != version or self.cluster is None:
            self.end_cluster()
            directory = self._folders.mktemp(f"kafka-{version}")
            settings = {"auto.create.topics.enable": True} | ({DELAY: 100} if since(version, "0.11") else {})
            about = faultline.Cluster(kafka_version=version, settings=settings, directory=directory)
            self.cluster, self._version = self._running.enter_context(about), version
        return self.cluster

    def end_cluster(self) -> None:
        self.cluster, self._version = None, ""
        self._running.close()

    def end(self) -> None:
        self.end_cluster()
        self._home = None
        self._user.close()


_SHARED = pytest.StashKey[Shared]()


def version_of(item: pytest.Item) -> str:
    """Of the cluster that it shares; "": it shares none."""
    callspec = getattr(item, "callspec", None)
    return str(callspec.params.get("cluster", "")) if callspec is not None else ""


def is_here(item: pytest.Item) -> bool:
    return item.path.parent == Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = [place for place, item in enumerate(items) if is_here(item)]
    here = sorted(
        (items[place] for place in places),
        key=lambda item: (item.get_closest_marker("slow") is not None, version_of(item)),
    )
    for place, item in zip(places, here, strict=True):
        items[place] = item


def pytest_runtest_setup(item: pytest.Item) -> None:
    skip_older(item.iter_markers("capability"), version_of(item))


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    shared = item.session.stash.get(_SHARED, None)
    if shared is None:
        return
    if nextitem is None or not is_here(nextitem):
        shared.end()
    elif version_of(nextitem) != version_of(item):
        shared.end_cluster()


@pytest.fixture
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Shared:
    return request.session.stash.setdefault(_SHARED, Shared(tmp_path_factory))


@pytest.fixture
def state_home(shared: Shared) -> Path:
    """Clusters of a user who has no others."""
    return shared.home()


@pytest.fixture(
    params=[pytest.param(version, marks=pytest.mark.slow) if version in BETWEEN else version for version in VERSIONS]
)
def cluster(request: pytest.FixtureRequest, shared: Shared) -> faultline.Cluster:
    return shared.of(request.param)


@pytest.fixture
def cluster_to_break(cluster: faultline.Cluster, shared: Shared) -> Iterator[faultline.Cluster]:
    """The cluster, which ends with this test: its faults are not undone."""
    yield cluster
    shared.end_cluster()


@pytest.fixture
def version(cluster: faultline.Cluster) -> str:
    return str(cluster.status()["cluster"]["kafka"])


@pytest.fixture
def topic(cluster: faultline.Cluster) -> str:
    """A new one of two partitions."""
    name = f"t{next(_numbers)}"
    cluster.create_topic(name, assignment=[[0, 1, 2], [1, 2, 0]])
    return name
