"""docs/modes-side-by-side.md: the same faults on ZooKeeper 2.8, KRaft 3.9 and 4.4."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from docs.generate.markdown_tables import notice, table
from emulator.judging.judged import play_and_judge
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario, recordings_of

SEED: Final = 1
CASES: Final = {
    "The leader's AZ is cut off": ("az-isolated-leader", "kraft-az-isolated-leader"),
    "The AZ of leader and controller is cut off": (
        "az-isolated-leader-and-controller", "kraft-az-isolated-leader-and-controller",
    ),
    "The leader's AZ is cut off, acks=all": ("az-isolated-leader-acks-all", "kraft-az-isolated-leader-acks-all"),
    "A follower's AZ is cut off": ("az-isolated-follower", "kraft-az-isolated-follower"),
    "The controller's AZ is cut off": ("az-isolated-controller", "kraft-az-isolated-controller"),
    "A follower loses its link to the leader": ("link-follower-leader", "kraft-link-follower-leader"),
    "A broker loses its link to the controller": ("link-broker-controller", "kraft-link-broker-controller"),
    "Clean election waits": ("clean-election-waits", "kraft-clean-election-waits"),
    "Unclean election": ("unclean-election", "kraft-unclean-election"),
}  # fmt: skip
"""{fault: (scenario with ZooKeeper, scenario in KRaft mode)}"""
MODES: Final = (("ZooKeeper 2.8", 0, "2.8"), ("KRaft 3.9", 1, "3.9"), ("KRaft 4.4", 1, "4.4"))
"""(title, which of a case's scenarios, version)"""

SOURCE: Final = "docs/generate/modes_side_by_side.py"

_HEAD = """# The modes side by side

The same faults on a cluster with ZooKeeper 2.8, and on KRaft clusters of 3.9 and 4.4. Each row is one simulated run
with seed {seed}; `faultline run SCENARIO --kafka VERSION --world sim --seed {seed}` repeats it.

| column | meaning |
|---|---|
| new leader | time from the first fault to the new leader, also where a later fault causes it; "-": the leader stays |
| two leaders | longest time during which two brokers led the partition by their own view |
| two controllers | the same of controllers |
| clients wait | longest time during which some AZ's clients got no write through |
| lost | acknowledged records that the final leader does not have |
| recorded | recordings of real brokers with which the scenario is compared |

The session timeout is 6 s in the scenarios with ZooKeeper, and Kafka's default of 9 s in KRaft mode.
"""

_NOTICES = """
## Who notices

| fault | ZooKeeper 2.8 | KRaft 3.9 | KRaft 4.4 |
|---|---|---|---|
| a broker is cut off | ZooKeeper, when its session ends | the controller, after 9 s | as 3.9, up to 1.1 s later |
| the broker itself | when its session client gives up | never: it leads until the heal | never |
| the controller is cut off | ZooKeeper | the voters after 2 s; itself after 3 to 4.5 s | as 3.9 |
| a standby is cut off and returns | no node | the quorum, which elects anew | no node (pre-vote) |
"""

_COLUMNS = ("mode", "scenario", "new leader", "two leaders", "two controllers", "clients wait", "lost", "recorded")


def page(root: Path) -> str:
    parts = [notice(SOURCE), _HEAD.format(seed=SEED)]
    for title, scenarios in CASES.items():
        parts += [f"## {title}\n", table(_COLUMNS, _rows(scenarios)), ""]
    return "\n".join([*parts, _NOTICES.strip("\n")]) + "\n"


def _rows(scenarios: tuple[str, str]) -> Iterator[tuple[object, ...]]:
    for title, which, version in MODES:
        name = scenarios[which]
        verdict = play_and_judge(resolve(find_scenario(name), version), SEED, run="1").verdict
        measures, checks = verdict.measures, verdict.checks
        lost = checks["lost-acknowledged"].count or 0
        yield (
            title, f"`{name}`", _seconds(measures.get("time_to_new_leader_ms")), _seconds(measures["dual_leader_ms"]),
            _seconds(measures["dual_controller_ms"]), _longest(measures.get("unavailable_ms")), lost,
            len(recordings_of(name, version)) or "-",
        )  # fmt: skip


def _longest(found: Any) -> str:
    waits = [value for value in found.values() if isinstance(value, int | float)] if isinstance(found, dict) else []
    return _seconds(max(waits, default=None))


def _seconds(found: Any) -> str:
    return f"{found / 1000:.1f} s" if isinstance(found, int | float) and found > 0 else "-"
