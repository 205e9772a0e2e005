"""Deployment options: `--engine process|docker`, `--driver nodes|kernel`, clock speed.

Imported by the command line, which imports no worlds yet.
"""

from pathlib import Path
from typing import Final, Literal, TypedDict, get_args

Engine = Literal["process", "docker"]
Driver = Literal["nodes", "kernel"]
ENGINES: Final = get_args(Engine)
DRIVERS: Final = get_args(Driver)
SPEEDS: Final = (0.1, 100.0)
KERNEL_SPEED: Final = 1.0
SEED_MAX: Final = 2**63 - 1


class DeploymentOptions(TypedDict):
    """Engine and driver of a run's nodes."""

    engine: Engine
    driver: Driver
    compose_file: Path | None


class UnusableOption(ValueError):
    """An option value that is out of range, or that this world or driver does not support."""


def check_seed(seed: int) -> None:
    """Raises UnusableOption for an invalid seed: it would be another one's run."""
    if not 0 <= seed <= SEED_MAX:
        raise UnusableOption(f"--seed {seed}: from 0 to {SEED_MAX}")


def check_speed(speed: float, driver: Driver) -> None:
    """Raises UnusableOption for a speed that is out of range or not the kernel driver's."""
    if not SPEEDS[0] <= speed <= SPEEDS[1]:
        raise UnusableOption(f"--speed {speed:g}: from {SPEEDS[0]:g} to {SPEEDS[1]:g}")
    if driver == "kernel" and speed != KERNEL_SPEED:
        raise UnusableOption(f"--speed {speed:g}: the kernel driver needs speed {KERNEL_SPEED:g}")
