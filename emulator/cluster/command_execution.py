"""Registers `faultline run` over the network, for `down` to remove a killed one's remains."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from emulator.cluster.cluster_registry import Registration, plays, register, unregister
from emulator.cluster.ending import end
from emulator.identity import mine
from emulator.runs.deployment_options import Driver, Engine
from emulator.worlds.containers.tool import DockerFailed
from emulator.worlds.packet_filter.namespaces import NamespaceError


@contextmanager
def playing(run_dir: Path, name: str, engine: Engine, driver: Driver) -> Iterator[None]:
    """Register the run.

    First remove the remains of killed ones, if that takes no container engine.

    Raises OSError.
    """
    for one in plays():
        if one.stale and one.registration.engine == "process":
            end(one)
    register(run_dir, Registration(name, mine(), 0, "", 0, "", engine=engine, driver=driver, kind="play"))
    try:
        yield
    except (DockerFailed, NamespaceError):
        raise  # its machines may be there: it stays registered
    except BaseException:
        unregister(run_dir)
        raise
    unregister(run_dir)
