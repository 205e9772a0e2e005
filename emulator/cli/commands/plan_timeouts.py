"""`faultline plan timeouts [FILES] --within 15s`: clients' time-outs for a wanted recovery.

The exit code is 0 if every client that any time-out lets recover in time does so with the chosen ones, 1 if one
recovers late or an operation fails meanwhile, 3 if no fault has a conclusive run, 70 if a run met a bug of faultline.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from time import monotonic
from typing import Any, Final

import msgspec
from rich.box import SIMPLE_HEAD
from rich.table import Table

from emulator.cli.command_options import PlanTimeoutsOptions
from emulator.cli.commands.command_errors import reports_errors
from emulator.cli.commands.lasting_options import seconds_of
from emulator.cli.commands.place_arguments import check_places
from emulator.cli.commands.plan_cluster import base_of_plan, plan_screen, print_remarks
from emulator.cli.commands.progress_bar import progress_of
from emulator.cli.commands.replay_command import written_replay
from emulator.cli.commands.unusable import UNUSABLE_CAMPAIGN
from emulator.cli.on_spark import NotOnSpark, players_of, require_spark
from emulator.exit_codes import BROKEN, BUG, HELD, UNKNOWN
from emulator.judging.advice.advice_runs import AdviceOptions, Base, Choice, FaultPlayer, text_of
from emulator.judging.advice.single_faults import Fault
from emulator.judging.campaigns.space import UnusableSpace, parse_seeds
from emulator.judging.timeouts.group_takeover import Takeover
from emulator.judging.timeouts.timeout_choice import (
    HEARTBEATS_IN_A_SESSION,
    WITHIN_MAX_MS,
    WITHIN_MIN_MS,
    Chosen,
    Measured,
    Place,
    candidates,
    chosen,
    delivery_timeout_ms,
    failed_in_time,
    faults_to_outlast,
    session_timeout_ms,
    sessions,
    slow_faults,
    with_others,
)
from emulator.judging.timeouts.timeout_runs import (
    TakeoverOptions,
    added,
    options_of,
    patient,
    play_candidates,
    play_takeovers,
)
from emulator.runs.cores import Processes
from emulator.screen import for_lines
from emulator.settings.in_force import brokers_in_force
from emulator.settings.setting import BROKER
from emulator.settings.setting_registry import REGISTRY
from emulator.worlds.cluster_file.compose_files import NoClusterFile
from protocol.versions import since

FOLDER: Final = "runs/timeouts"
SEEDS: Final = "1..2"
FIRST: Final = "2.1"
"""First version whose producers have `delivery.timeout.ms` (KIP-91)."""
PLACES_MAX: Final = 8
"""Maximum of faults of each kind in the text; JSON has all."""
PRODUCER, CONSUMER = "producer", "consumer"


class Advised(msgspec.Struct, frozen=True):
    """A setting: the present value and the advised one, with the reason."""

    name: str
    now: int
    advised: int
    why: str


class TimeoutPlan(msgspec.Struct, frozen=True):
    """Results.

    `writes`, `reads`: the choices. `takeovers`: of each session that was tried. `proof`: the waits with all chosen
    time-outs.
    """

    base: Base
    within_ms: int
    settings: list[Advised]
    writes: Chosen
    reads: Chosen
    takeovers: list[Takeover]
    proof: Measured
    proof_options: AdviceOptions
    runs: int


@reports_errors("plan timeouts", *UNUSABLE_CAMPAIGN, NoClusterFile, unknown=(NotOnSpark,))
def plan_timeouts_command(files: tuple[str, ...], options: PlanTimeoutsOptions) -> int:
    """Print time-outs and what they cannot help to stdout; errors and progress to stderr."""
    began_s = monotonic()
    within_ms = round(seconds_of(options.within, "--within") * 1000)
    if not WITHIN_MIN_MS <= within_ms <= WITHIN_MAX_MS:
        limits = f"from {WITHIN_MIN_MS // 1000}s to {WITHIN_MAX_MS // 60_000}m"
        raise UnusableSpace(f"--within {options.within}: must be {limits}")
    seeds = parse_seeds(options.seeds or SEEDS)
    folder = options.out or Path(FOLDER)
    check_places({}, folder)
    require_spark(options.master)
    base, choice = base_of_plan(files, options)
    if not since(base.version, FIRST):
        raise UnusableSpace(f"Kafka {base.version}: producers have no delivery.timeout.ms before {FIRST}; give another")
    with players_of(options.master) as players:
        player = FaultPlayer(players)
        plan = _planned(base, choice, within_ms, seeds, player, players)
    written = _written(plan, folder)
    if options.json:
        print(msgspec.json.encode(_as_json(plan, written)).decode())
    else:
        _print(plan, written, monotonic() - began_s)
    if player.bugs:
        return BUG
    if len(plan.proof.unknown) == len(plan.proof_options.faults):
        return UNKNOWN
    late = plan.writes.late or plan.reads.late or any(_late(plan))
    return BROKEN if late or any(_failed(plan)) else HELD


def _planned(
    base: Base, choice: Choice, within_ms: int, seeds: range, player: FaultPlayer, players: Processes
) -> TimeoutPlan:
    faults = faults_to_outlast(base.faults, within_ms)
    lasts_ms = {fault.name: fault.lasts_s * 1000.0 for fault in faults}
    present_ms = max(_present(base, kind, "request.timeout.ms") for kind in (PRODUCER, CONSUMER))
    tried, played = _tried(base, choice, faults, candidates(present_ms, within_ms), within_ms, player)
    writes = chosen([(one.request_timeout_ms, one.writes) for one in tried], within_ms, lasts_ms)
    reads = chosen([(one.request_timeout_ms, one.reads) for one in tried], within_ms, lasts_ms)
    of_brokers = {name: value for name, value in base.settings.items() if _is_of_brokers(name)}
    in_force = brokers_in_force(base.version, of_brokers)
    low, high = (int(in_force[f"group.{end}.session.timeout.ms"]) for end in ("min", "max"))
    possible = sessions(_present(base, CONSUMER, "session.timeout.ms"), low, high, within_ms)
    of_groups = TakeoverOptions(
        cluster=base.cluster, choice=choice, replicas=base.replicas, left_open=base.left_open,
        runs=tuple((session, seed) for session in possible for seed in seeds),
    )  # fmt: skip
    with progress_of(f"{len(possible)} sessions", len(of_groups.runs)) as ended:
        takeovers = play_takeovers(of_groups, players, ended)
    settings = list(_advised(base, within_ms, writes, reads, takeovers))
    final = added(choice, *(f"{one.name}={one.advised}" for one in settings))
    proof_options = options_of(base, [final], faults, seeds)
    with progress_of("the chosen time-outs", len(proof_options.runs)) as ended:
        [proof] = play_candidates(player, proof_options, [writes.request_timeout_ms], ended)
    runs = played + len(of_groups.runs) + len(proof_options.runs)
    return TimeoutPlan(base, within_ms, settings, writes, reads, takeovers, proof, proof_options, runs)


def _tried(
    base: Base, choice: Choice, faults: Sequence[Fault], ladder: Sequence[int], within_ms: int, player: FaultPlayer
) -> tuple[list[Measured], int]:
    """(waits of each candidate, count of runs).

    The shorter ones are played where the present one is too slow.
    """
    first = options_of(base, [patient(choice, ladder[0])], faults, [1])
    with progress_of(f"{len(faults)} faults", len(first.runs)) as ended:
        [present] = play_candidates(player, first, ladder[:1], ended)
    slow = [fault for fault in faults if fault.name in slow_faults(present, within_ms)]
    if not slow or not ladder[1:]:
        return [present], len(first.runs)
    others = options_of(base, [patient(choice, one) for one in ladder[1:]], slow, [1])
    with progress_of(f"{len(ladder) - 1} shorter time-outs", len(others.runs)) as ended:
        found = play_candidates(player, others, ladder[1:], ended)
    return [present, *(with_others(one, present) for one in found)], len(first.runs) + len(others.runs)


def _is_of_brokers(name: str) -> bool:
    return name in REGISTRY and REGISTRY[name].scope == BROKER


def _present(base: Base, kind: str, name: str) -> int:
    """The value in force of a client's setting."""
    key = f"{kind}.{name}"
    value: Any = base.settings.get(key, REGISTRY[key].default_in(base.version))
    return int(value)


def _advised(
    base: Base, within_ms: int, writes: Chosen, reads: Chosen, takeovers: Sequence[Takeover]
) -> Iterator[Advised]:
    def setting(kind: str, name: str, advised: int, why: str) -> Advised:
        return Advised(f"{kind}.{name}", _present(base, kind, name), advised, why)

    silent = "the longest with which a client leaves a silent broker in time"
    yield setting(PRODUCER, "request.timeout.ms", writes.request_timeout_ms, silent)
    linger_ms, backoff_ms = (_present(base, PRODUCER, name) for name in ("linger.ms", "retry.backoff.ms"))
    least_ms = delivery_timeout_ms(writes.longest_ms, writes.request_timeout_ms, linger_ms, backoff_ms)
    why = f"at least: the longest write waits {_s(writes.longest_ms)}, and one more attempt"
    yield setting(PRODUCER, "delivery.timeout.ms", least_ms, why)
    yield setting(CONSUMER, "request.timeout.ms", reads.request_timeout_ms, silent)
    session_ms = session_timeout_ms(_longest(takeovers), within_ms)
    if session_ms is not None:
        why = f"the longest whose partitions others have in time, {_s(_longest(takeovers)[session_ms])} after a death"
        yield setting(CONSUMER, "session.timeout.ms", session_ms, why)
        beats = f"the session / {HEARTBEATS_IN_A_SESSION}"
        yield setting(CONSUMER, "heartbeat.interval.ms", session_ms // HEARTBEATS_IN_A_SESSION, beats)
    polls_ms = min(within_ms, _present(base, CONSUMER, "max.poll.interval.ms"))
    why = "not measured: a consumer that stops polling is left so long; above your longest processing of a poll"
    yield setting(CONSUMER, "max.poll.interval.ms", polls_ms, why)


def _longest(takeovers: Iterable[Takeover]) -> dict[int, float]:
    """{session: the longest takeover of its seeds}.

    Sessions with a run without one are left out.
    """
    longest: dict[int, float] = {}
    without = {one.session_timeout_ms for one in takeovers if one.waited_ms is None}
    for one in takeovers:
        if one.waited_ms is not None and one.session_timeout_ms not in without:
            longest[one.session_timeout_ms] = max(longest.get(one.session_timeout_ms, 0.0), one.waited_ms)
    return longest


def _failed(plan: TimeoutPlan) -> Iterator[tuple[Place, int]]:
    """Operations that failed although their clients recover in time."""
    return failed_in_time(plan.proof, plan.writes, plan.reads)


def _late(plan: TimeoutPlan) -> Iterator[tuple[Place, float]]:
    """Places that recover in time with a candidate, but not with all advised time-outs."""
    for choice, waits in ((plan.writes, plan.proof.writes), (plan.reads, plan.proof.reads)):
        beyond = {*choice.late, *choice.lasting}
        yield from ((place, ms) for place, ms in waits.items() if ms > plan.within_ms and place not in beyond)


def _written(plan: TimeoutPlan, folder: Path) -> dict[str, str]:
    """{fault: its replay command}, of faults that are late or fail operations."""
    wanted = {fault for fault, _ in (*plan.writes.late, *plan.reads.late)}
    wanted |= {place[0] for place, _ in (*_failed(plan), *_late(plan))}
    options, commands = plan.proof_options, {}
    choice, (_, _, seed) = options.choices[0], options.runs[0]
    for at, fault in enumerate(options.faults):
        if fault.name not in wanted:
            continue
        replay = written_replay(folder / f"{fault.name}.yaml", text_of(options, 0, at), choice)
        commands[fault.name] = f"{replay} --seed {seed}"
    return commands


# --- output ---


def _print(plan: TimeoutPlan, written: dict[str, str], wall_s: float) -> None:
    lines, base = for_lines(), plan.base
    mode = "in KRaft mode" if base.cluster.in_kraft else "with ZooKeeper"
    title = f"Time-outs of clients of Kafka {base.version} {mode} for a recovery within {_s(plan.within_ms)}."
    lines.print(title, style="bold", markup=False)
    print_remarks(base)
    plan_screen().print(_settings_table(plan))
    if not _longest(plan.takeovers):
        why = next((one.why for one in plan.takeovers if one.why), "no run")
        lines.print(f"session.timeout.ms: no consumer's partitions were taken over ({why})", markup=False)
    late = {**plan.writes.late, **plan.reads.late, **dict(_late(plan))}
    _print_faults("recover later than wanted, whatever the clients' time-outs are", late, plan, written, _s)
    if late:
        lines.print(f"  They wait until the cluster notices: {_noticed(plan)}.", markup=False, soft_wrap=True)
    failed = {place: float(count) for place, count in _failed(plan)}
    _print_faults("fail operations with the advised time-outs", failed, plan, written, lambda count: f"{count:.0f}")
    lasting = sorted({fault for fault, _ in (*plan.writes.lasting, *plan.reads.lasting)})
    if lasting:
        text = f"{len(lasting)} faults stop some client as long as they last: no time-out reaches a leader."
        lines.print(text, style="bold", markup=False)
        more = " ..." if lasting[PLACES_MAX:] else ""
        lines.print(f"  {', '.join(lasting[:PLACES_MAX])}{more}", markup=False, soft_wrap=True)
    if plan.proof.unknown:
        fault, why = next(iter(plan.proof.unknown.items()))
        lines.print(f"{len(plan.proof.unknown)} faults are inconclusive, the first: {fault}: {why}", markup=False)
    text = f"{plan.runs} runs in {wall_s:.0f} s. Seeds are a sample, not a proof"
    lines.print(text, style="dim", markup=False)


def _print_faults(
    what: str, places: dict[Place, float], plan: TimeoutPlan, written: dict[str, str], shown: Callable[[float], str]
) -> None:
    """Faults with their largest value and the AZs of the clients."""
    if not places:
        return
    lines = for_lines()
    by_fault: dict[str, dict[str, float]] = {}
    for (fault, az), value in places.items():
        by_fault.setdefault(fault, {})[az] = value
    lines.print(f"{len(by_fault)} faults {what}.", style="bold", markup=False)
    texts = {fault.name: fault.text for fault in plan.proof_options.faults}
    worst = sorted(by_fault.items(), key=lambda one: -max(one[1].values()))
    for fault, of_azs in worst[:PLACES_MAX]:
        azs = ", ".join(sorted(of_azs))
        lines.print(f"  {texts[fault]}: {shown(max(of_azs.values()))} for clients in {azs}", markup=False)
        if fault in written:
            lines.print(f"    replay: {written[fault]}", markup=False, soft_wrap=True)
    if worst[PLACES_MAX:]:
        lines.print(f"  and {len(worst) - PLACES_MAX} more; --json has all", markup=False)


def _noticed(plan: TimeoutPlan) -> str:
    """The broker's settings that decide when a dead or silent node is replaced."""
    name = "broker.session.timeout.ms" if plan.base.cluster.in_kraft else "zookeeper.session.timeout.ms"
    values = [
        f"{one}={plan.base.settings.get(one, REGISTRY[one].default_in(plan.base.version))}"
        for one in (name, "replica.lag.time.max.ms")
    ]
    return ", ".join(values)


def _settings_table(plan: TimeoutPlan) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for name in ("setting", "now", "advised", "why"):
        table.add_column(name, justify="right" if name in ("now", "advised") else "left")
    for one in plan.settings:
        shown = "=" if one.advised == one.now else str(one.advised)
        table.add_row(one.name, str(one.now), shown, one.why)
    return table


def _s(ms: float) -> str:
    return f"{ms / 1000:.1f} s"


def _as_json(plan: TimeoutPlan, written: dict[str, str]) -> dict[str, Any]:
    def places(found: dict[Place, float] | dict[Place, int]) -> list[dict[str, Any]]:
        return [{"fault": fault, "az": az, "value": value} for (fault, az), value in sorted(found.items())]

    return {
        "kafka": plan.base.version,
        "metadata": plan.base.cluster.topology.metadata,
        "within_ms": plan.within_ms,
        "settings": [msgspec.to_builtins(one) for one in plan.settings],
        "late_ms": places({**plan.writes.late, **plan.reads.late, **dict(_late(plan))}),
        "failed": places(dict(_failed(plan))),
        "lasting": sorted({*plan.writes.lasting, *plan.reads.lasting}),
        "takeovers": [msgspec.to_builtins(one) for one in plan.takeovers],
        "writes_ms": places(plan.proof.writes),
        "reads_ms": places(plan.proof.reads),
        "inconclusive": plan.proof.unknown,
        "replay": written,
        "warnings": plan.base.warnings,
    }
