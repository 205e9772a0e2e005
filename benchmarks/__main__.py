"""`python -m benchmarks [NAME...]`: runs the benchmarks, writes benchmarks/results/*.json.

Prints a table with the budget beside each figure. Exit code 1 if a figure misses its target.
"""

import importlib
import sys

from benchmarks.figure_records import Figure, show
from emulator.toplevel_errors import ended

NAMES = (
    *("simulation", "ready", "many_partitions", "produce", "listener_throughput", "dual_leader_speed"),
    *("oracle_growth",),
    *("audit_throughput", "beside_duckdb", "many_runs", "data_source_throughput"),
)


def main(wanted: list[str]) -> int:
    unknown = [name for name in wanted if name not in NAMES]
    if unknown:
        print(f"no benchmark {unknown[0]!r}; there are: {', '.join(NAMES)}", file=sys.stderr)
        return 2
    figures: list[Figure] = []
    for name in wanted or list(NAMES):
        print(f"{name} ...", file=sys.stderr, flush=True)
        figures += importlib.import_module(f"benchmarks.{name}").main()
    show(figures)
    return 0 if all(figure.met for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(ended("benchmarks", lambda: main(sys.argv[1:])))
