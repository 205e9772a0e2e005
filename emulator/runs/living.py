"""Where nodes live and who cuts their links, as words: `--engine process|docker`, `--driver nodes|kernel`; and how fast
the clock may run there. Imported by the command line, which knows no worlds yet."""

from pathlib import Path
from typing import Final, Literal, TypedDict, get_args

Engine = Literal["process", "docker"]
Driver = Literal["nodes", "kernel"]
ENGINES: Final = get_args(Engine)
DRIVERS: Final = get_args(Driver)
SPEEDS: Final = (0.1, 100.0)
KERNEL_SPEED: Final = 1.0
SEED_MAX: Final = 2**63 - 1


class Living(TypedDict):
    """Where nodes live."""

    engine: Engine
    driver: Driver
    compose_file: Path | None


class UnusableOption(ValueError):
    """A clock that nobody can keep, or the driver cannot; a seed that is none; what is nothing to this world."""


def check_seed(seed: int) -> None:
    """Raises UnusableOption for what is no seed: it would be another one's run."""
    if not 0 <= seed <= SEED_MAX:
        raise UnusableOption(f"--seed {seed}: from 0 to {SEED_MAX}")


def check_speed(speed: float, driver: Driver) -> None:
    """Raises UnusableOption."""
    if not SPEEDS[0] <= speed <= SPEEDS[1]:
        raise UnusableOption(f"--speed {speed:g}: from {SPEEDS[0]:g} to {SPEEDS[1]:g}")
    if driver == "kernel" and speed != KERNEL_SPEED:
        raise UnusableOption(f"--speed {speed:g}: the kernel's TCP knows no other speed than {KERNEL_SPEED:g}")
