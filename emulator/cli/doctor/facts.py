"""Facts about a machine, without a judgement. What could not be found out carries the reason as text."""

import msgspec

from emulator.compiled import Native


class Package(msgspec.Struct, frozen=True):
    """A Python package that is needed. `wanted`: its bounds, such as `>=2.14`; `installed` "": it is not; `fits`: its
    version is within the bounds."""

    name: str
    wanted: str
    installed: str
    fits: bool


class JavaFacts(msgspec.Struct, frozen=True):
    """`major` 0: none that Spark runs on, and `problem` says what was looked at."""

    major: int = 0
    command: str = ""
    origin: str = ""
    problem: str = ""


class DockerFacts(msgspec.Struct, frozen=True):
    """`client`: whether the command is there. `engine`: the version of the one that answers, "" none, and `problem`
    why. `compose`: the tool and its version, such as `docker-compose 1.29.2`. `image`: when it was built, "" never."""

    client: bool = False
    engine: str = ""
    problem: str = ""
    compose: str = ""
    image: str = ""


class Rights(msgspec.Struct, frozen=True):
    """Of this process: capabilities by name; the tools that the kernel's fault driver starts, by name."""

    capabilities: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()


class Facts(msgspec.Struct, frozen=True):
    """`ports`: how many listened at once on loopback, and `ports_problem` what ended it. `late_ms`: of each timer that
    was tried. `free_bytes`: where runs are written; `memory_bytes`: available; `tools`: of the system, by name.
    `tree`: what runs is the project's tree, which has a Makefile, and not a wheel. `native`: compiled machines."""

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
