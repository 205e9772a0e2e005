"""`python -m verification`: list of the verification commands, each with its summary."""

import ast
import sys
from importlib.util import find_spec
from pathlib import Path

from emulator.toplevel_errors import ended

COMMANDS = (
    *("mutants", "agreement", "evidence"),
    *("kill_anywhere", "killed_processes", "quorum", "kraft"),
    *("network_runs", "seeds", "catalogue_seeds", "every_world", "late_runs", "random_schedules", "safe_fuzz"),
    "recording_seeds",
    *("trace_digests", "compiled", "import_round_trip"),
    *("settings_for_promises", "shipped_sweeps"),
    *("listener_cuts", "client_suites", "group_failovers"),
    "release",
    *("soak", "attack", "attack.listener_attack", "attack.request_costs"),
)


def summary(command: str) -> str:
    """First line of the command's docstring, without an import of the command."""
    found = find_spec(f"verification.{command}")
    assert found is not None and found.origin is not None, command
    source = Path(found.origin)
    main = source.with_name("__main__.py") if found.submodule_search_locations else source
    return (ast.get_docstring(ast.parse(main.read_text(encoding="utf-8"))) or "").partition("\n")[0]


def main(arguments: list[str]) -> int:
    if arguments:
        print(f"python -m verification: unexpected {arguments[0]!r}; run python -m verification.NAME", file=sys.stderr)
        return 2
    for command in COMMANDS:
        print(f"python -m verification.{command:<24} {summary(command).rpartition('`: ')[2]}")
    return 0


if __name__ == "__main__":
    sys.exit(ended("verification", lambda: main(sys.argv[1:])))
