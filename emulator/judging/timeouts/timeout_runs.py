"""Plays faults with each candidate for time-outs, and a consumer's death with each session."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from emulator.judging.advice.advice_cluster import Cluster
from emulator.judging.advice.advice_runs import AdviceOptions, Base, Choice, FaultPlayer
from emulator.judging.advice.outcomes import Outcome
from emulator.judging.advice.single_faults import Fault
from emulator.judging.judged import NotJudged, judge_seed
from emulator.judging.timeouts.group_takeover import Takeover, takeover_of, takeover_text
from emulator.judging.timeouts.timeout_choice import HEARTBEATS_IN_A_SESSION, Measured, measured
from emulator.runs.cores import Processes, collect, on_all_cores
from emulator.runs.resolve import resolve
from emulator.runs.settings_files import read_settings_files
from emulator.runs.simulated import collector_disabled
from emulator.scenario.load import load_scenario
from emulator.settings.setting_registry import parse_assignment

PATIENT_MS: Final = 600_000
"""`delivery.timeout.ms` while candidates are compared: it ends no write."""

Ended = Callable[[], bool | None]


class TakeoverOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of the runs: (candidate for session.timeout.ms, seed), by index."""

    cluster: Cluster
    choice: Choice
    replicas: int
    left_open: dict[str, Any]
    runs: tuple[tuple[int, int], ...]


class TakeoverWorker:
    """Plays runs by their index in `TakeoverOptions.runs`. One per process."""

    def __init__(self, options: TakeoverOptions) -> None:
        self._options = options
        self._files = read_settings_files(options.choice.files)

    def play(self, index: int) -> Takeover:
        options = self._options
        session_ms, seed = options.runs[index]
        choice = with_session(options.choice, session_ms)
        cluster = options.cluster.without(choice.names)
        text = takeover_text(cluster, choice.kafka_version, options.replicas, options.left_open, session_ms)
        overrides = dict(map(parse_assignment, choice.overrides))
        scenario = load_scenario(text, "takeover.yaml")
        with collector_disabled():
            run = judge_seed(lambda: resolve(scenario, choice.kafka_version, overrides, self._files), seed)
            if isinstance(run, NotJudged):
                return Takeover(session_ms, None, run.why)
            return takeover_of(session_ms, run.played.world.trace.entries)


def with_session(choice: Choice, session_timeout_ms: int) -> Choice:
    """The choice with this session and its heartbeats."""
    return added(
        choice,
        f"consumer.session.timeout.ms={session_timeout_ms}",
        f"consumer.heartbeat.interval.ms={session_timeout_ms // HEARTBEATS_IN_A_SESSION}",
    )


def patient(choice: Choice, request_timeout_ms: int) -> Choice:
    """The choice with this candidate for all clients, and writes without an end."""
    return added(
        choice,
        f"producer.request.timeout.ms={request_timeout_ms}",
        f"producer.delivery.timeout.ms={PATIENT_MS}",
        f"consumer.request.timeout.ms={request_timeout_ms}",
    )


def added(choice: Choice, *overrides: str) -> Choice:
    """The choice with further overrides; they replace earlier ones of the same names."""
    names = {override.partition("=")[0] for override in overrides}
    kept = (override for override in choice.overrides if override.partition("=")[0].strip() not in names)
    return msgspec.structs.replace(choice, overrides=(*kept, *overrides))


def options_of(base: Base, choices: Sequence[Choice], faults: Sequence[Fault], seeds: Sequence[int]) -> AdviceOptions:
    """Every choice with every fault and seed."""
    runs = ((one, place, seed) for one in range(len(choices)) for place in range(len(faults)) for seed in seeds)
    return AdviceOptions(
        cluster=base.cluster, choices=tuple(choices), faults=tuple(faults), replicas=(base.replicas,) * len(choices),
        left_open=base.left_open, runs=tuple(runs),
    )  # fmt: skip


def play_candidates(
    player: FaultPlayer, options: AdviceOptions, request_timeouts_ms: Sequence[int], ended: Ended
) -> list[Measured]:
    """The waits of each candidate, in the order of `options.choices`."""
    outcomes: list[list[Outcome]] = [[] for _ in options.choices]
    player.play(options, lambda choice, outcome: outcomes[choice].append(outcome), ended)
    return [measured(timeout_ms, of) for timeout_ms, of in zip(request_timeouts_ms, outcomes, strict=True)]


def play_takeovers(options: TakeoverOptions, processes: Processes, ended: Ended) -> list[Takeover]:
    """The takeovers, in any order."""
    found: list[Takeover] = []
    collect(on_all_cores(TakeoverWorker, options, range(len(options.runs)), processes), found.append, ended)
    return found
