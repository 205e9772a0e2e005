"""Outcome of a scenario file, in this process: refused with its places, or an exit code.

Used by the property "whatever `scenarios check` accepts ends with 0 to 3, whatever it refuses has a line and a column".
"""

from pathlib import Path
from typing import Final

from emulator import toplevel_errors
from emulator.cli.command_options import RunOptions
from emulator.cli.commands.run_scenario import run_command
from emulator.cli.commands.scenarios import faults_of

ENDINGS: Final = (0, 1, 2, 3)
REFUSED: Final = "refused"


class NoEnding(AssertionError):
    """An input that ends in a way no input may: the text, and what came of it."""


def outcome(text: str, directory: Path, seed: int = 1) -> int | str:
    """REFUSED, or the exit code of a simulated run that the oracle judges.

    `directory`: an empty one. Raises NoEnding.
    """
    file = directory / "x.yaml"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    faults = list(faults_of(file))
    for fault in faults:
        if fault.line < 1 or fault.column < 1:
            raise NoEnding(f"refused without a place: {fault}")
    if faults:
        return REFUSED
    options = RunOptions(world="sim", seed=seed, out=directory / "run", audit="oracle", json=True)
    code = exit_code(lambda: run_command(str(file), options))
    if code not in ENDINGS:
        raise NoEnding(f"ended with {code}")
    return code


def exit_code(work: object) -> int:
    """As a command ends; what would be a bug of ours is raised."""
    try:
        return work()  # type: ignore[operator,no-any-return]
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    except Exception as error:
        causes = [toplevel_errors.environment_error(leaf) for leaf in toplevel_errors.leaves(error)]
        if None in causes:
            raise
        return causes[0][0] if causes[0] is not None else 0
