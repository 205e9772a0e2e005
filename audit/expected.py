"""Expectations of a run's scenario, read from the run's directory.

A played run has scenario.yaml (as resolved), settings.json and observations.json; `emulator.scenario.expect` judges its
expectations. A live cluster has no scenario and no observations: its checks are expected to hold. A run with a scenario
and without observations was cut short; that run, and one that lacks another of the three, is unknown at best.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from audit.input import AuditInputError
from emulator.regular_files import read_regular, reason
from emulator.runs.verdict_file import CheckVerdict, ExpectationVerdict
from emulator.settings.account import Account
from protocol.undecodable import UNDECODABLE, why

if TYPE_CHECKING:
    from emulator.scenario.observations.observation_model import Observations
    from emulator.scenario.scenario_model import Scenario

SCENARIO_BYTES_MAX = 8 << 20
"""A resolved scenario may be longer than its source."""
SCENARIOS_KEPT_MAX = 64

Judge = Callable[[Mapping[str, Mapping[str, Any]], Mapping[str, Any]], Sequence[Mapping[str, Any]]]
"""(checks, measures) as in verdict.json -> {"text", "held", "seen"} per expectation."""
Vouch = Callable[[Mapping[str, CheckVerdict], Sequence[ExpectationVerdict], int], tuple[str, str]]
"""(checks, expectations, acknowledged produces) -> (the equal run or "", the compared runs)."""


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """Expectations of a scenario.

    violations: {check: True (at least one), or how many}; other checks are expected to hold.
    sometimes: checks that a race may violate, and that may hold as well.
    all_violations: every violation is expected: the run equals the recording that it plays.
    exits: nodes whose process is expected to end by itself.
    judge: function that decides whether the expectations held, also those about violations; None: only `violations`
    count.
    timer_limit_ms: maximum lateness of timers at p99.9, in scenario ms (a tenth of the shortest time-out); None: any.
    live_nodes: settings of each node of a live cluster, none of which may stand still; None: a run with a scenario.
    vouch: returns evidence that late timers changed nothing; None: no such evidence.
    speed: of the run's clock; None: unknown.
    unfinished: reason why the run did not get to its end; "": it did.
    processes: processes that may have written events; none: unknown.
    over: the run was played to its end.
    link_faults: count of the scenario's faults on links; None: not counted.
    missed: its waits that were not reached, a line for each.
    account: what is to be said about its settings.
    lacking: {check: evidence that an import did not have}; the check is unknown unless it finds a violation.
    gaps: reasons why an import's events are incomplete."""

    scenario: str = ""
    world: str = "network"
    violations: Mapping[str, bool | int] = {}
    sometimes: frozenset[str] = frozenset()
    all_violations: bool = False
    exits: frozenset[str] = frozenset()
    judge: Judge | None = None
    timer_limit_ms: float | None = None
    live_nodes: Mapping[str, Any] | None = None
    vouch: Vouch | None = None
    speed: float | None = None
    unfinished: str = ""
    processes: tuple[str, ...] = ()
    over: bool = False
    link_faults: int | None = None
    missed: tuple[str, ...] = ()
    account: Account = Account()
    lacking: Mapping[str, str] = {}
    gaps: tuple[str, ...] = ()

    def judged(self, checks: Mapping[str, CheckVerdict], measures: Mapping[str, Any]) -> list[ExpectationVerdict]:
        """Results of all expectations; an expected violation fails if the check holds."""
        if self.judge is not None:
            results = self.judge(msgspec.to_builtins(checks), measures)
            return [ExpectationVerdict(one["text"], one["held"], one["seen"]) for one in results]
        return [
            _violation(name, wanted, checks.get(name))
            for name, wanted in self.violations.items()
            if wanted is not False
        ]


def _violation(name: str, wanted: bool | int, check: CheckVerdict | None) -> ExpectationVerdict:
    exactly = None if wanted is True else wanted
    text = f"{name} is violated" + (f" {exactly} times" if exactly is not None else "")
    if check is None:
        return ExpectationVerdict(text, "unknown", "there is no such check")
    if check.verdict == "unknown":
        return ExpectationVerdict(text, "unknown", check.reason)
    held = check.verdict == "violated" and exactly in (None, check.count)
    return ExpectationVerdict(text, held, f"{check.verdict}, {check.count}")


class _Imported(msgspec.Struct, frozen=True):
    """Evidence of an imported run: what single checks lack, and why its events are incomplete."""

    lacking: dict[str, str] = {}
    gaps: tuple[str, ...] = ()


class _Settings(msgspec.Struct, frozen=True):
    """Fields that are read from settings.json."""

    world: str = "network"
    live: str = ""
    timer_limit_ms: float | None = None
    speed: float | None = None
    settings: Account = Account()
    nodes: dict[str, Any] = {}
    processes: tuple[str, ...] = ()
    imported: _Imported = _Imported()


def expected_of(run: Path) -> Expected:
    """Expectations of the scenario of the run at `run`.

    settings.json may have the world, timer limits and settings.

    Raises:
        AuditInputError: its files cannot be understood.
    """
    found = _settings(run)
    settings = found or _Settings()
    world, limit_ms, account = settings.world, settings.timer_limit_ms, settings.settings
    processes = settings.processes or tuple(settings.nodes)
    script = run / "scenario.yaml"
    if not os.path.lexists(script):
        why = "there is no scenario.yaml, and observations.json is of a run that played one"
        return Expected(
            world=world, timer_limit_ms=limit_ms, account=account, speed=settings.speed, processes=processes,
            live_nodes=settings.nodes if settings.live else None,
            lacking=settings.imported.lacking, gaps=settings.imported.gaps,
            unfinished=why if os.path.lexists(run / "observations.json") else "",
        )
    from emulator.faults.link_fault_kinds import KINDS
    from emulator.judging.recording_match import equal_recording
    from emulator.scenario.expect import judge
    from emulator.scenario.load import ScenarioErrors
    from emulator.scenario.missed_waits import missed_waits
    from emulator.scenario.observations import recording_files
    from emulator.scenario.observations.comparable import version_name
    from emulator.scenario.observations.recording_parsing import Malformed

    try:
        text = read_regular(script, SCENARIO_BYTES_MAX).decode("utf-8")
        scenario = _scenario(text)
    except OSError as error:
        raise AuditInputError(f"{script}: cannot be read: {reason(error)}") from error
    except ScenarioErrors as error:
        raise AuditInputError(f"{script}: not a scenario: {ScenarioErrors(str(script), error.problems)}") from error
    except UnicodeDecodeError as error:
        raise AuditInputError(f"{script}: not a scenario: {error}") from error
    about = Expected(
        scenario=scenario.id, world=world, timer_limit_ms=limit_ms, speed=settings.speed, account=account,
        processes=processes,
    )
    if not os.path.lexists(run / "observations.json"):
        why = "there is no observations.json: the run was cut short, and what its scenario expects cannot be judged"
        return msgspec.structs.replace(about, unfinished=why)
    try:
        observations = recording_files.load(run / "observations.json", follow=False)
    except Malformed as error:
        raise AuditInputError(str(error)) from error
    version, nodes = version_name(observations.kafka), settings.nodes
    wanted = scenario.violations_expected(version)
    return msgspec.structs.replace(
        about,
        violations={
            name: True if one.count is None else one.count for name, one in wanted.items() if not one.sometimes
        },
        sometimes=frozenset(name for name, one in wanted.items() if one.sometimes),
        all_violations=scenario.as_recorded and bool(equal_recording(scenario, version, observations)),
        exits=frozenset(scenario.exits_expected(version)),
        over=True,
        unfinished="" if found else "there is no settings.json: the run's processes and settings are not known",
        link_faults=sum(entry.get("do") in KINDS for entry in observations.timeline),
        missed=tuple(missed_waits(scenario.steps, observations.timeline)),
        judge=lambda checks, measures: judge(scenario, observations, checks, measures),
        vouch=lambda *found: _vouched(scenario, observations, nodes, *found),
    )


@lru_cache(maxsize=SCENARIOS_KEPT_MAX)
def _scenario(text: str) -> Scenario:
    """The parsed scenario, cached, because many of a thousand runs play the same one."""
    from emulator.scenario.load import load_scenario

    return load_scenario(text, "scenario.yaml")


def _vouched(
    scenario: Scenario,
    observations: Observations,
    nodes: Mapping[str, Any],
    checks: Mapping[str, CheckVerdict],
    expectations: Sequence[ExpectationVerdict],
    acknowledged: int,
) -> tuple[str, str]:
    from emulator.judging.lateness_check import RunResults, vouch

    vouched = vouch(scenario, observations, nodes, RunResults.of(checks, expectations, acknowledged))
    return vouched.by, vouched.compared


def _settings(run: Path) -> _Settings | None:
    """Contents of settings.json; None: there is none."""
    path = run / "settings.json"
    if not os.path.lexists(path):
        return None
    try:
        return msgspec.json.decode(read_regular(path), type=_Settings)
    except msgspec.ValidationError as error:
        field = str(error).partition("`$.")[2].partition(".")[0].rstrip("`")
        raise AuditInputError(f"{path}: {field or 'all of it'}: {why(error)}") from error
    except OSError as error:
        raise AuditInputError(f"{path}: cannot be read: {reason(error)}") from error
    except UNDECODABLE as error:
        raise AuditInputError(f"{path}: not JSON: {why(error)}") from error
