"""Verification: long campaigns that test the machines and their judges.

`python -m verification` lists the commands; each has `--help`.

Seeds and worlds: `network_runs`, `seeds`, `catalogue_seeds`, `every_world`, `late_runs`, `random_schedules`,
`safe_fuzz`; `trace_digests` and `compiled` (equality of traces after a change, or as native code). Judges: `mutants`
(wrong machines), `agreement` (audit and oracle, on the same runs; `pretest_soundness`), `evidence` (runs with changed
events: `changed_run`, `changed_lines`, `changed_fields`, `changed_evidence`). Deaths: `kill_anywhere`,
`killed_processes`.
KRaft: `quorum` (the Raft of the controllers under faults, and wrong ones), `kraft` (the controllers on top, and wrong
ones), `recording_seeds` (seeds that equal recordings). Log lines: `import_round_trip` (a run's lines, imported).
Settings: `settings_for_promises`, `shipped_sweeps`. Kafka clients: `listener_cuts`, `client_suites`, `group_failovers`.
Hours: `soak`, `attack` (invalid frames). `release`: a release, up to its upload.

`broker_bench` is a broker without a network, with `fake_sessions` as its ZooKeeper. `results` has the last results.
`left_in_peace.yaml` is a scenario with a quiescent end, in which dead nodes return.
"""

from pathlib import Path
from typing import Final

RESULTS: Final = Path(__file__).with_name("results")
