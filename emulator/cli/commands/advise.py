"""`faultline advise [FILES]`: single faults that break promises, their reasons and remedies.

The exit code is 0 if every promise is kept in every run, 1 if one is broken, 3 if a fault has no conclusive run, 70 if
a run met a bug of faultline.
"""

import sys
from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from time import monotonic

import msgspec

from emulator.cli.command_options import AdviseOptions
from emulator.cli.commands.advice_report import as_json, exhausted_by, print_advice
from emulator.cli.commands.advise_cluster import for_all_brokers, requested_cluster
from emulator.cli.commands.advise_running import RunningCluster, SettingsUnavailable, running_cluster
from emulator.cli.commands.command_errors import reports_errors
from emulator.cli.commands.lasting_options import seconds_of
from emulator.cli.commands.place_arguments import check_places
from emulator.cli.commands.progress_bar import progress_of
from emulator.cli.commands.replay_command import written_replay
from emulator.cli.commands.unusable import UNUSABLE_CAMPAIGN
from emulator.cli.on_spark import NotOnSpark, players_of, require_spark
from emulator.cluster.cluster_registry import NoCluster
from emulator.exit_codes import BROKEN, BUG, HELD, UNKNOWN
from emulator.judging.advice.advice import Advice, PairsAdvice, advise, advise_pairs, options_of, recommend
from emulator.judging.advice.advice_cases import annotations, markdown_of_advice, suite_of_advice
from emulator.judging.advice.advice_output import AdviceReport
from emulator.judging.advice.advice_page import page_of
from emulator.judging.advice.advice_runs import Base, Bug, Choice, FaultPlayer, base_of, text_of
from emulator.judging.advice.advice_sarif import sarif_of
from emulator.judging.advice.pairs import pairs_of
from emulator.judging.advice.summary import FaultSummary
from emulator.judging.campaigns.space import UnusableSpace, parse_seeds
from emulator.regular_files import write_whole
from emulator.runs.settings_files import read_settings_files
from emulator.settings.properties_files import wanted
from emulator.worlds.cluster_file.compose_files import NoClusterFile

SEEDS = "1..3"
SEEDS_OF_KRAFT = "1..2"
"""A quorum of controllers makes a run three times as long."""
SEEDS_OF_PAIRS = "1..1"
FOLDER = "runs/advice"


@reports_errors("advise", *UNUSABLE_CAMPAIGN, NoClusterFile, NoCluster, unknown=(SettingsUnavailable, NotOnSpark))
def advise_command(files: tuple[str, ...], options: AdviseOptions) -> int:
    """Write verdict, table and reasons to stdout; errors and progress to stderr."""
    began_s = monotonic()
    limit_s = _check_extent(options)
    given_seeds = None if options.seeds is None else parse_seeds(options.seeds)
    folder = options.out or Path(FOLDER)
    ci_reports = options.ci_reports
    check_places({"--html": options.html, "--sarif": options.sarif, **ci_reports.places}, folder)
    require_spark(options.master)
    notes: tuple[str, ...] = ()
    if options.cluster is not None:
        running = _running(files, options, options.cluster)
        files, cluster = running.files, running.cluster
    else:
        cluster = requested_cluster(options, read_settings_files(files))
        files, notes = for_all_brokers(files)
    settings_files = [(wanted(word).path, file) for word, file in zip(files, read_settings_files(files), strict=True)]
    requested = Choice(options.kafka_version or cluster.version, options.overrides, files)
    base = _only(options.fault, base_of(requested, options.kafka_version, cluster))
    base = msgspec.structs.replace(base, warnings=(*notes, *base.warnings))
    choice = msgspec.structs.replace(requested, kafka_version=base.version)
    seeds = given_seeds or parse_seeds(SEEDS_OF_KRAFT if base.cluster.in_kraft else SEEDS)
    campaign = options_of(choice, base, seeds)
    with players_of(options.master) as players:
        player = FaultPlayer(players)
        with progress_of(f"{len(base.faults)} faults", len(campaign.runs)) as ended:
            advice = advise(campaign, base, ended, player)
        recommendation = recommend(advice, base, player)
        pairs = _pairs(options, advice, base, limit_s, player) if options.pairs else None
    rounds = [advice] if pairs is None else [advice, pairs.advice]
    replays = dict(replay for one in rounds for replay in _written(one, folder))
    bugs = tuple(_written_bug(number, bug, folder) for number, bug in enumerate(player.bugs, 1))
    report = AdviceReport(advice, base, replays, pairs, recommendation, bugs)
    if options.json:
        print(msgspec.json.encode(as_json(report)).decode())
    else:
        print_advice(report, monotonic() - began_s)
    if options.html is not None:
        write_whole(options.html, page_of(report).encode())
    code = _code([summary for one in rounds for summary in one.summaries], bugs)
    if options.sarif is not None:
        write_whole(options.sarif, sarif_of(report, settings_files, code, Path.cwd()))
    if ci_reports.options:
        text = markdown_of_advice(report, exhausted_by(base), code)
        ci_reports.write_suite(suite_of_advice(report, monotonic() - began_s), text)
    for line in annotations(report, settings_files) if options.annotations else ():
        print(line, file=sys.stderr)
    return code


def _code(summaries: Sequence[FaultSummary], bugs: Collection[object]) -> int:
    if bugs:
        return BUG
    if any(one.broken for one in summaries):
        return BROKEN
    return UNKNOWN if any(not one.conclusive for one in summaries) else HELD


def _running(files: tuple[str, ...], options: AdviseOptions, words: tuple[str, ...]) -> RunningCluster:
    """A running cluster; files among `words` become settings files.

    Raises NoCluster, SettingsUnavailable, UnusableSpace, UnusableFile.
    """
    contradicting = {
        "--topology": options.topology,
        "--brokers": options.brokers,
        "--azs": options.azs,
        "--kafka-version": options.kafka_version,
        "--metadata": options.metadata,
        "--controllers": options.controllers,
    }
    for option, given in contradicting.items():
        if given is not None:
            raise UnusableSpace(f"{option} {given}: contradicts --cluster, which reads it from the cluster; give one")
    return running_cluster(words, files, options.overrides, options.topic)


def _only(name: str | None, base: Base) -> Base:
    """Keep only the named fault. Raises UnusableSpace."""
    if name is None:
        return base
    if found := tuple(fault for fault in base.faults if fault.name == name):
        return msgspec.structs.replace(base, faults=found, every=False)
    known = [fault.name for fault in base.faults]
    close = get_close_matches(name, known, n=1, cutoff=0.0)
    raise UnusableSpace(f"--fault {name}: no such fault of {len(known)}; nearest: {close[0]}")


def _check_extent(options: AdviseOptions) -> float | None:
    """Check the bounds of pairs; return the time limit, in seconds. Raises UnusableSpace."""
    if options.runs is not None and options.lasting is not None:
        raise UnusableSpace("--runs and --for: exclude each other; give one")
    if options.pairs and options.fault is not None:
        raise UnusableSpace("--pairs: plays every two faults; leave out --fault")
    if not options.pairs and (options.runs is not None or options.lasting is not None):
        raise UnusableSpace("--runs and --for: limit --pairs only; single faults are always all played")
    if options.runs is not None and options.runs < 1:
        raise UnusableSpace(f"--runs {options.runs}: at least 1")
    return None if options.lasting is None else seconds_of(options.lasting)


def _pairs(
    options: AdviseOptions, singles: Advice, base: Base, limit_s: float | None, player: FaultPlayer
) -> PairsAdvice:
    faults = tuple(pairs_of(base.faults))
    of_pairs = msgspec.structs.replace(base, faults=faults)
    campaign = options_of(singles.options.choices[0], of_pairs, parse_seeds(options.seeds or SEEDS_OF_PAIRS))
    count = len(campaign.runs) if options.runs is None else min(options.runs, len(campaign.runs))
    with progress_of(f"{count} of {len(campaign.runs)} runs of pairs", count, limit_s=limit_s) as ended:
        return advise_pairs(campaign, of_pairs, singles.summaries, ended, player, options.runs)


def _written(advice: Advice, folder: Path) -> Iterator[tuple[str, str]]:
    """(fault, replay command without the seed) of each fault that breaks a promise."""
    places = {fault.name: place for place, fault in enumerate(advice.options.faults)}
    for one in advice.summaries:
        if one.broken:
            text = text_of(advice.options, 0, places[one.fault.name])
            yield one.fault.name, written_replay(folder / f"{one.fault.name}.yaml", text, advice.options.choices[0])


def _written_bug(number: int, bug: Bug, folder: Path) -> tuple[Bug, str]:
    """(the bug, its replay command)."""
    path = folder / f"bug-{number}-{bug.fault}.yaml"
    return bug, f"{written_replay(path, bug.text, bug.choice)} --seed {bug.seed}"
