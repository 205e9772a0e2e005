"""`faultline fuzz`: random schedules judged by the oracle.

Each schedule that breaks a promise is shrunk to a scenario file. The exit code is 0 if nothing was found; 1 if a
promise was broken, 70 if a run met a bug of faultline.
"""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

import msgspec

from emulator.cli.command_options import FuzzOptions
from emulator.cli.commands.command_errors import reports_errors
from emulator.cli.commands.lasting_options import seconds_of
from emulator.cli.commands.place_arguments import check_places
from emulator.cli.commands.progress_bar import progress_of, resume_hint
from emulator.cli.commands.unusable import UNUSABLE_CAMPAIGN
from emulator.cli.on_spark import NotOnSpark, players_of, require_spark
from emulator.exit_codes import BROKEN, BUG, HELD
from emulator.judging.campaigns.dataset import UnusableCampaign, alone
from emulator.judging.campaigns.space import RUNS_MAX, UnusableSpace
from emulator.judging.fuzzing.coverage import codes_in, kinds_in
from emulator.judging.fuzzing.fault_generator import SPACE
from emulator.judging.fuzzing.fuzz_search import Find, Hunt, HuntOptions, hunted, made_small
from emulator.judging.fuzzing.generator import SAFE
from emulator.judging.fuzzing.kraft_generator import KRAFT_SAFE
from emulator.judging.fuzzing.rule_coverage import Closely, chosen, looked_at
from emulator.regular_files import read_regular, write_whole
from emulator.runs.cores import Players, collect, played_by_python
from emulator.runs.deployment_options import UnusableOption, check_seed
from emulator.runs.metadata_mode import mode_of_files
from emulator.runs.resolve import resolve
from emulator.runs.settings_files import read_settings_files
from emulator.scenario.scenario_model import CreateTopic, Scenario, Workload
from emulator.screen import for_lines
from emulator.settings.setting_registry import parse_assignment
from emulator.topology import KRAFT, ZOOKEEPER, default_metadata, metadata_of, three_azs
from protocol.gates import gates_for
from protocol.ids import BrokerId
from protocol.undecodable import UNDECODABLE
from protocol.versions import DEFAULT_VERSION, ladder_name

RUNS = 500
STATE = "fuzz.json"
FINDS = "runs/fuzz"
"""Directory of shrunk scenarios without --out."""
SAVED_EVERY_S = 10.0


class State(msgspec.Struct, rename={"spec": "asked"}):
    """fuzz.json: the spec of the search, and its state."""

    spec: HuntOptions
    hunt: Hunt


@reports_errors("fuzz", *UNUSABLE_CAMPAIGN, UnusableOption, unknown=(NotOnSpark,))
def fuzz_command(options: FuzzOptions) -> int:
    """Write finds to stdout, errors and progress to stderr.

    An interrupt leaves no process; the finds so far are printed.
    """
    began_s = monotonic()
    spec = _specification(options)
    runs, limit_s = _extent(options)
    folder = options.out or Path(FINDS)
    check_places({}, folder)
    require_spark(options.master)
    with _stored(options.out, spec) as state, players_of(options.master) as players:
        _play(state, runs, limit_s, options.out, players)
        _shrink(state.hunt, players)
    spec, hunt = state.spec, state.hunt
    closely = played_by_python(looked_at, chosen(hunt.kept, hunt.runs))
    code = BUG if hunt.bugs else BROKEN if hunt.finds else HELD
    for find in hunt.finds:
        if find.file:
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(folder / f"{find.name}.yaml", find.file.encode())
    if options.json:
        _print_json(spec, hunt, closely, folder, code)
    else:
        _print(spec, hunt, closely, folder, monotonic() - began_s, verbose=options.verbose)
    return code


def _specification(options: FuzzOptions) -> HuntOptions:
    """Specification of a search, from options.

    Raises UnusableOption, UnknownVersion, NoSuchMode, UnusableSetting, UnusableFile.
    """
    check_seed(options.seed)
    version = ladder_name(options.kafka_version or DEFAULT_VERSION)
    sets = dict(map(parse_assignment, options.overrides))
    files = read_settings_files(options.files)
    mode = metadata_of(version, options.metadata or mode_of_files(files, version) or default_metadata(version))
    bare = Scenario(
        id="fuzz", title="fuzz", kafka=(version,), steps=(CreateTopic(topic="t", assignment=((BrokerId(0),),)),
        Workload(name="w")), topology=three_azs(metadata=mode),
    )  # fmt: skip
    given = resolve(bare, version, sets, files).scenario
    by_broker = {str(broker): own for broker, own in given.settings_by_broker.items()}
    # "" as in searches that began before there was a choice, so that they can be resumed.
    metadata = "" if mode == metadata_of(version) else mode
    if options.transactions and not gates_for(version).transactions:
        raise UnusableOption(f"--transactions: Kafka {version} has none; they begin with 0.11")
    spec = HuntOptions(version, options.seed, given.settings, by_broker, SPACE, metadata, options.transactions)
    resolve(spec.scenario(0))
    return spec


def _extent(options: FuzzOptions) -> tuple[int, float | None]:
    """(number of runs, time limit in seconds). Raises UnusableSpace."""
    if options.lasting is not None:
        if options.runs is not None:
            raise UnusableSpace("--runs and --for: exclude each other; give one")
        return RUNS_MAX, seconds_of(options.lasting)
    runs = RUNS if options.runs is None else options.runs
    if not 1 <= runs <= RUNS_MAX:
        raise UnusableSpace(f"--runs {runs}: from 1 to {RUNS_MAX}")
    return runs, None


def _play(state: State, runs: int, limit_s: float | None, out: Path | None, players: Players | None) -> None:
    """Play until the number of runs, the time limit or an interrupt is reached."""
    spec, hunt = state.spec, state.hunt
    saved_s = monotonic()

    def save(_: object) -> None:
        nonlocal saved_s
        if out is not None and monotonic() - saved_s > SAVED_EVERY_S:
            saved_s = monotonic()
            _save(out, state)

    try:
        with progress_of(f"fuzz {spec.version}", runs, hunt.runs, limit_s) as ended:
            collect(hunted(spec, hunt, runs, players), save, ended)
    except KeyboardInterrupt:
        print("faultline fuzz: interrupted; shrinking the finds so far", file=sys.stderr)


def _shrink(hunt: Hunt, players: Players | None) -> None:
    """Shrink the finds that are not shrunk yet."""
    large = [find for find in hunt.finds if not find.file]

    def replace(find: Find) -> None:
        place = next(number for number, one in enumerate(hunt.finds) if one.broken.cause == find.broken.cause)
        hunt.finds[place] = find

    with progress_of("shrinking", len(large)) as ended:
        collect(made_small(large, players), replace, ended)


# --- saved state ---


@contextmanager
def _stored(out: Path | None, spec: HuntOptions) -> Iterator[State]:
    """The state in `out`, or a new one of `spec`; it is saved however the block ends.

    Raises UnusableCampaign, and the exceptions of `alone`.
    """
    if out is None:
        yield State(spec, Hunt())
        return
    with alone(out, STATE):
        state = _resumed(out, spec)
        with resume_hint("fuzz", out):
            try:
                yield state
            finally:
                _save(out, state)


def _save(out: Path, state: State) -> None:
    write_whole(out / STATE, msgspec.json.encode(state, order="deterministic"))


def _resumed(out: Path, spec: HuntOptions) -> State:
    """The saved state, with its version of the table of fault types, or a new one.

    Raises UnusableCampaign.
    """
    path = out / STATE
    if not path.exists():
        return State(spec, Hunt())
    try:
        state = msgspec.json.decode(read_regular(path), type=State)
    except UNDECODABLE as error:
        raise UnusableCampaign(f"{path}: not a file of fuzz: {error}") from error
    if state.spec != msgspec.structs.replace(spec, space=state.spec.space):
        raise UnusableCampaign(f"{out}: belongs to a search with other options; give --out another directory")
    return state


# --- output ---


def _print(spec: HuntOptions, hunt: Hunt, closely: Closely, folder: Path, wall_s: float, *, verbose: bool) -> None:
    """Print the finds. `verbose`: name rules and version gates that no run reached."""
    lines = for_lines()
    for find in sorted(hunt.finds, key=lambda find: (find.broken.known, -find.count)):
        lines.print(f"{find.broken.cause}: {find.count} of {hunt.runs} runs", style="bold", markup=False)
        lines.print(f"  {find.text}", markup=False)
        made = f"{find.steps} steps: {_replay(find, folder)}" if find.file else f"not shrunk; number {find.number}"
        lines.print(f"  {made}", markup=False)
    if not hunt.finds:
        lines.print("no promise was broken", markup=False)
    for number, why in hunt.failed.items():
        lines.print(f"failed, number {number}: {why}", style="dim", markup=False)
    failed = f"; {hunt.failures} failed" if hunt.failures else ""
    mode = " in KRaft mode" if spec.in_kraft else ""
    mode += " with transactions" if spec.transactions else ""
    lines.print(
        f"Kafka {spec.version}{mode}: {hunt.runs} runs of {hunt.simulated_s / max(1, hunt.runs):.0f} simulated seconds "
        f"in {wall_s:.1f} s; {len(kinds_in(hunt.reached))} kinds of events with their reasons were reached, "
        f"{len(hunt.kept)} runs kept for mutation{failed}",
        style="dim",
        markup=False,
    )
    codes, _ = codes_in(hunt.reached)
    unreached = {
        f"rules of docs/semantics.md that code names ({len(closely.rules)} were reached)": closely.rules_unreached,
        f"gates ({len(closely.gates)} were reached)": closely.gates_unreached,
    }
    if not closely.runs:
        return
    if not verbose:
        reached = f"{len(closely.rules)} rules and {len(closely.gates)} gates were reached in {closely.runs} runs"
        lines.print(f"{reached} (-v names the others)", style="dim", markup=False)
        return
    lines.print(f"Not reached, in {closely.runs} runs examined:", style="dim", markup=False)
    for what, words in unreached.items():
        lines.print(f"  {what}: {', '.join(words) or 'none'}", style="dim", markup=False)
    lines.print(f"Error codes that clients received: {', '.join(codes) or 'none'}", style="dim", markup=False)


def _replay(find: Find, folder: Path) -> str:
    return shlex.join(
        ["faultline", "run", str(folder / f"{find.name}.yaml"), "--world", "sim", "--seed", str(find.number)]
    )


def _print_json(spec: HuntOptions, hunt: Hunt, closely: Closely, folder: Path, code: int) -> None:
    codes, codes_unreached = codes_in(hunt.reached)
    document = {
        "kafka_version": spec.version,
        "seed": spec.seed,
        "metadata": KRAFT if spec.in_kraft else ZOOKEEPER,
        "transactions": spec.transactions,
        "settings": {**(KRAFT_SAFE if spec.in_kraft else SAFE), **spec.fixed},
        "runs": hunt.runs,
        "simulated_s": round(hunt.simulated_s, 1),
        "failed": hunt.failures,
        "exit_code": code,
        "finds": [
            {
                "what": find.what,
                "rule": find.rule,
                "known": find.broken.known,
                "count": find.count,
                "number": find.number,
                "text": find.text,
                "steps": find.steps,
                "file": str(folder / f"{find.name}.yaml") if find.file else "",
                "replay": _replay(find, folder) if find.file else "",
            }
            for find in hunt.finds
        ],
        "bugs": hunt.bugs,
        "reached": {
            "events": kinds_in(hunt.reached),
            "codes": codes,
            "rules": sorted(closely.rules),
            "gates": sorted(closely.gates),
        },
        "unreached": {
            "codes": codes_unreached,
            "rules": closely.rules_unreached,
            "gates": closely.gates_unreached,
        },
    }
    print(msgspec.json.encode(document).decode())
