"""Commands for faults in a running cluster.

Links: `cut`, `heal`, `delay`, `loss`, `hold`. Machines: `kill`, `stop`, `pause`, `resume`, `start`,
`power-loss`, `disk-full`, `disk-error`, `lose-disk`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from emulator.cli.cluster_options import (
    CLUSTER,
    START,
    WAIT,
    ClusterOptions,
    LinkPart,
    Nodes,
    StartOptions,
    WaitOptions,
    Words,
)
from emulator.cli.commands.command_errors import CommandFailed, reports_errors
from emulator.cli.commands.control_calls import ask_cluster
from emulator.cluster.control_requests import (
    BATCHES_KEPT_MAX,
    Heal,
    LinkFault,
    Machine,
    MachineFault,
    Refused,
    SettingValue,
)
from emulator.cluster.start_files import settings_from
from emulator.faults.link_fault_kinds import RuleError
from emulator.faults.link_words import parse
from emulator.runs.settings_files import read_settings_files
from emulator.settings.properties_files import UnusableFile
from emulator.settings.setting import BROKER
from emulator.settings.setting_registry import UnusableSetting, parse_assignment
from protocol.link_rules import LinkFaultKind


@reports_errors(None, RuleError)
def link_fault_command(verb: str, options: ClusterOptions, words: Sequence[str], part: LinkPart) -> int:
    """Apply a link fault."""
    given = [("--only", ",".join(part.only)), ("--client-id", part.client_id)]
    fault = parse([verb, *words, *(f"{name}={value}" for name, value in given if value)])
    return ask_cluster(options, LinkFault(fault), _show_applied)


@reports_errors("heal")
def heal_command(*places: Words, kind: LinkFaultKind | None = None, options: ClusterOptions = CLUSTER) -> int:
    """Heal link faults.

    Parameters
    ----------
    places
        A place (az-0), two places (A B), or a rule (rule-2).
    kind
        Heal only faults of this kind; others on the same links stay.
    """
    return ask_cluster(options, Heal(list(places), kind or ""), _show_healed)


@reports_errors(None)
def machine_command(
    fault: MachineFault, options: ClusterOptions, nodes: Sequence[str], given: Mapping[str, Any] | None = None
) -> int:
    """Apply or end faults of machines, all at once.

    `given`: the fault's fields; None: their defaults.
    """
    more = {name: value for name, value in (given or {}).items() if value is not None}
    if not 0 <= more.get("batches_kept", 0) <= BATCHES_KEPT_MAX:
        raise CommandFailed(f"--batches-kept {more['batches_kept']}: from 0 to {BATCHES_KEPT_MAX}")
    own = {name: more.pop(name) for name in ("batches_kept", "directory") if name in more}
    return _ask_machines(options, Machine(fault, list(nodes), **own, given=more))


@reports_errors("start", UnusableSetting, UnusableFile, Refused)
def start_command(*nodes: Nodes, start: StartOptions = START, options: WaitOptions = WAIT) -> int:
    """Start nodes, optionally with another binary or other settings."""
    settings: dict[str, SettingValue | None] = dict.fromkeys(start.remove)
    settings |= dict(map(parse_assignment, start.overrides))
    from_files = settings_from(read_settings_files(start.files, BROKER), nodes)
    ask = Machine("start", list(nodes), version=start.kafka_version or "", settings=settings, from_files=from_files)
    return _ask_machines(options, ask)


def _ask_machines(options: ClusterOptions, ask: Machine) -> int:
    if not ask.node:
        raise CommandFailed(f"which nodes? {ask.fault} broker-0, several, az-0, or 'broker-*'")
    return ask_cluster(options, ask, _show_machines)


def _show_targets(out: Console, result: dict[str, Any]) -> None:
    for target, node in result.get("targets", {}).items():
        out.print(f"{target}: {node}", markup=False)


def _show_applied(out: Console, result: dict[str, Any]) -> None:
    _show_targets(out, result)
    for fault in result["applied"]:
        out.print(f"{fault['id']}: {fault['rule']}", markup=False)
        for end in fault["ends"]:
            out.print(f"  {_end_text(end)}", markup=False)
        out.print(f"  stopped {_frames(fault)} so far")
    _show_in_force(out, result, {fault["id"] for fault in result["applied"]})


def _end_text(end: dict[str, Any]) -> str:
    where = ", ".join(end["nodes"])
    waiting = f"; when they return: {', '.join(end['not_yet'])}" if end["not_yet"] else ""
    if end["in_force_ms"] is None:
        return f"{where}: not in force yet{waiting}"
    at_s, after_ms = end["in_force_ms"] / 1000, end["in_force_after_ms"]
    return f"{where}: in force after {after_ms:.1f} ms, at {at_s:.3f} s{waiting}"


def _show_healed(out: Console, result: dict[str, Any]) -> None:
    for fault in result["healed"]:
        after = f" after {fault['healed_after_ms']:.1f} ms," if fault["healed_after_ms"] is not None else ""
        at = f" at {fault['healed_ms'] / 1000:.3f} s" if fault["healed_ms"] is not None else " when its nodes return"
        out.print(f"{fault['id']}: healed{after}{at}: {_stopped(fault)}", markup=False)
    if not result["healed"]:
        out.print("nothing was in force")
    _show_in_force(out, result, set())


def _show_in_force(out: Console, result: dict[str, Any], applied: set[str]) -> None:
    for fault in result["in_force"]:
        if fault["id"] in applied:
            continue
        for_s = (result["now_ms"] - fault["asked_ms"]) / 1000
        out.print(f"still in force, for {for_s:.1f} s: {fault['id']} {_stopped(fault)} so far", markup=False)


def _stopped(fault: dict[str, Any]) -> str:
    return f"{fault['rule']}, stopped {_frames(fault)}"


def _frames(fault: dict[str, Any]) -> str:
    count = fault["frames_stopped"]
    return f"{count} frame{'' if count == 1 else 's'}"


def _show_machines(out: Console, result: dict[str, Any]) -> None:
    _show_targets(out, result)
    for done in result["machines"]:
        _show_machine(out, done)
    for why in result["left_out"].values():
        out.print(f"left out: {why}", markup=False)


def _show_machine(out: Console, result: dict[str, Any]) -> None:
    state = "runs" if result["running"] else "does not run"
    if result["fault"] == "pause":
        state = "is paused"
    if result.get("registered") is False:
        state = f"runs, and is not registered yet: {result['next']}"
    where = f" {result['directory']}" if result["directory"] else ""
    out.print(
        f"{result['fault']} {result['node']}{where}: done after {result['after_ms']:.1f} ms, at "
        f"{result['done_ms'] / 1000:.3f} s; it {state}"
    )
    if "said" in result:
        binary, protocol = result["kafka.version"], result["inter.broker.protocol.version"]
        out.print(f"  Kafka {binary}, inter.broker.protocol.version {protocol}", markup=False)
        for line in result["said"]:
            out.print(f"  {line}", markup=False)
