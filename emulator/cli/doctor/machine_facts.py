"""Facts about a machine, without a judgement. An undetermined fact has the reason as text."""

import msgspec

from emulator.compiled_modules import Native


class Package(msgspec.Struct, frozen=True):
    """A Python package that faultline requires.

    `wanted`: its bounds, such as `>=2.14`; `installed` "": it is not; `fits`: its version is within the bounds.
    """

    name: str
    wanted: str
    installed: str
    fits: bool


class JavaFacts(msgspec.Struct, frozen=True):
    """Java for Spark. `major` 0: none found, and `problem` lists the places examined."""

    major: int = 0
    command: str = ""
    origin: str = ""
    problem: str = ""


class DockerFacts(msgspec.Struct, frozen=True):
    """Docker on this machine.

    `client`: whether the command exists. `engine`: the version of the engine that responds, "" none, and `problem` the
    reason. `compose`: the tool and its version, such as `docker-compose 1.29.2`. `image`: when it was built, "" never.
    """

    client: bool = False
    engine: str = ""
    problem: str = ""
    compose: str = ""
    image: str = ""


class Rights(msgspec.Struct, frozen=True):
    """Rights of this process: capabilities, and tools of the kernel's fault driver, by name."""

    capabilities: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()


class Facts(msgspec.Struct, frozen=True):
    """All facts.

    `ports`: number of simultaneous listeners on loopback, and `ports_problem` the error that ended it. `late_ms`: of
    each timer tried. `free_bytes`: where runs are written; `memory_bytes`: available; `tools`: of the system, by name.
    `tree`: faultline runs from the project's tree, which has a Makefile, not from a wheel. `native`: compiled machines.
    """

    python: tuple[int, int, int]
    python_at: str
    packages: tuple[Package, ...]
    java: JavaFacts
    docker: DockerFacts
    rights: Rights
    ports: int
    ports_problem: str
    cores: int
    late_ms: tuple[float, ...]
    runs_at: str
    free_bytes: int
    writable: bool
    memory_bytes: int
    tools: frozenset[str]
    tree: bool = True
    native: Native = Native()
