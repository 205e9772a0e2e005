"""SIGKILL for each kind of process: `down` removes all remains, and nodes can start again.

A few of each; `python -m verification.killed_processes` kills hundreds, over every engine and driver.
"""

import random
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from emulator.identity import mine
from emulator.runs.scratch import PREFIX
from emulator.worlds.containers.tool import DockerMissing, image_exists
from emulator.worlds.packet_filter.rights import missing
from tests.conftest import docker_engine
from verification.killed_processes.remaining_processes import Home
from verification.killed_processes.trials import Ordered, Place, Trial, played

pytestmark = [pytest.mark.network]

LOCAL: Place = ("process", "nodes")
ORDERS = {
    "a cluster in containers": Ordered("up", ("docker", "nodes"), ("agent client-1", "owner")),
    "a cluster in network namespaces": Ordered("up", ("process", "kernel"), ("agent client-1", "owner")),
    "a run's session server": Ordered("run", LOCAL, ("session-0",)),
    "a cluster that stays": Ordered("up", LOCAL, ("session-1", "owner")),
    "the fork server of one that stays": Ordered("up", LOCAL, ("fork server",)),
    "a run's owner": Ordered("run", LOCAL, ("owner",)),
    "a run's fork server": Ordered("run", LOCAL, ("fork server",)),
}
"""Cases by duration, longest first."""
AT_ONCE = 2
"""No timer's lateness is judged; a cleanup beside others must tolerate that."""


def lacking(order: Ordered) -> str:
    """The reason why this machine cannot run it; "" if it can."""
    engine, driver = order.place
    if driver == "kernel" and missing():
        return "; ".join(missing())
    if engine == "docker":
        try:
            if not docker_engine() or not image_exists("faultline:dev"):
                return "no image faultline:dev: compose/build.sh makes it"
        except DockerMissing as error:
            return str(error)
    return ""


@pytest.fixture(scope="module")
def trials(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Future[list[Trial]]]]:
    """{name: its trials}, of the tests that are to run."""
    folder = tmp_path_factory.mktemp("killed")
    requested = {item.name.partition("[")[2].rstrip("]") for item in request.session.items if item.path == request.path}
    wanted = {name: order for name, order in ORDERS.items() if name in requested and not lacking(order)}
    with ThreadPoolExecutor(AT_ONCE) as lanes:
        yield {
            name: lanes.submit(played, order, folder / str(number), random.Random(1))
            for number, (name, order) in enumerate(wanted.items())
        }


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.docker] * ("docker" in order.place)) for name, order in ORDERS.items()],
)
def test_nothing_is_left_of(name: str, trials: dict[str, Future[list[Trial]]]) -> None:
    if why := lacking(ORDERS[name]):
        pytest.skip(why)
    found = trials[name].result()
    assert len(found) == len(ORDERS[name].victims)
    assert not [(trial.killed, trial.problems) for trial in found if trial.problems]


def test_scratch_of_a_killed_audit_is_removed_by_down(tmp_path: Path) -> None:
    home = Home(tmp_path, docker=False)
    dead = mine().text().replace(f"{mine().pid}-{mine().ticks}", f"{mine().pid}-1", 1)
    (tmp_path / "tmp" / f"{PREFIX}abc-{dead}").mkdir()
    (tmp_path / "tmp" / f"{PREFIX}abc-{mine().text()}").mkdir()
    assert [one.partition(PREFIX)[2] for one in home.left()] != []
    down = home.ran("down", "--all")
    assert down.code == 0, down.output
    assert [path.name for path in (tmp_path / "tmp").iterdir()] == [f"{PREFIX}abc-{mine().text()}"]
