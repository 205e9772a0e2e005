"""Crash testing: kills and restarts a node of a catalogue scenario, and judges the run.

The node dies at a step, or between two storage operations. All faults are healed before the judgement. The rules that
allow a violation are in `emulator.judging.explain`.

Reading order: `crash_plan` (victim and time of death, from a seed), `crash_driver` (kills and restarts nodes),
`crash_run` (a simulated run with one death), `crash_judge`, `crash_seeds` (many runs). With real processes:
`crash_process`, `crash_network`, `crash_evidence`, `network_judge`.
"""
