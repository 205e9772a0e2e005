"""`faultline`: entry point of the command line.

`emulator.cli.commands` implements the commands. Unusable arguments end with code 2 and one line that names the usable
ones. Ctrl-C ends with 130 and leaves no process running.
"""

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, CycloptsError, Parameter

from emulator.cli import app_live, app_live_machines, app_live_use
from emulator.cli.cluster_options import Cluster
from emulator.cli.old_arguments import current_arguments, old_names_shown
from emulator.cli.plain_values import require_plain
from emulator.cli.play_options import (
    OF_SCENARIO,
    AnySetting,
    AuditMaster,
    Files,
    KafkaVersion,
    Master,
    Parameters,
    ScenarioSettings,
    Setting,
    Verbose,
)
from emulator.compiled_modules import look as look_for_compiled
from emulator.compiled_modules import use as use_compiled
from emulator.exit_codes import UNUSABLE
from emulator.packaged import installed_version
from emulator.runs.deployment_options import Driver, Engine
from emulator.toplevel_errors import ended


def _version() -> str:
    """The installed version, marked `compiled` where commands that simulate use native code."""
    return f"{installed_version()}, compiled" if look_for_compiled().usable else installed_version()


app = App(
    name="faultline",
    help="An emulator of Kafka's replication, for fault injection. It contains no Kafka code.",
    version=_version,
    version_flags=["--version"],
    default_parameter=Parameter(validator=require_plain, json_list=False, json_dict=False),
    suppress_keyboard_interrupt=False,
)

World = Literal["network", "sim"]
Audit = Literal["spark", "oracle", "none"]
LogFile = Literal["server", "controller", "state-change"]
Checks = Annotated[list[Path] | None, Parameter(negative=())]


@app.command
def run(
    scenario: str,
    /,
    *,
    world: World = "network",
    engine: Engine | None = None,
    driver: Driver | None = None,
    seed: int = 1,
    speed: float | None = None,
    settings: ScenarioSettings = OF_SCENARIO,
    out: Path | None = None,
    audit: Audit | None = None,
    json: bool = False,
    junit: Path | None = None,
    markdown: Path | None = None,
    verbose: Verbose = False,
) -> int:
    """Play a scenario and judge it.

    Parameters
    ----------
    scenario
        A catalogue id, a YAML file, or a recording by name or path (its `do` entries are played).
    world
        `network`: real processes and sockets; `sim`: the same machines in virtual time.
    engine
        How nodes run in the network world: local processes (the default), or containers.
    driver
        Component that applies link faults: the nodes (the default), or the kernel's packet filter (cut and heal only,
        speed 1, as root).
    seed
        Seed of latency, scheduling and ties; the simulated world reproduces a seed byte for byte.
    speed
        Factor of the clock in the network world; by default the scenario's, in containers at most 2.
    out
        The run's directory; by default runs/ID-TIME.
    audit
        Judge of the run: `spark` (default in the network world), `oracle` (default in the simulated world), `none`.
    json
        Print the verdict as JSON and nothing else.
    junit
        File for the verdict as JUnit XML, in addition to the output.
    markdown
        File for the verdict as Markdown for a pull request, in addition to the output.
    verbose
        Name each check that held or was skipped.
    """
    if world == "sim":  # nodes of the network world are processes of their own, forked from sources
        use_compiled()
    from emulator.cli.commands.run_scenario import RunOptions, run_command
    from emulator.judging.ci_reports import CiReports

    given = {"--engine": engine, "--driver": driver, "--speed": speed}
    options = RunOptions(
        scenario, world, engine or "process", driver or "nodes", seed, speed, settings.kafka_version,
        settings.overrides, out, audit, json, settings.files,
        tuple(option for option, value in given.items() if value is not None), CiReports(junit, markdown),
        settings.parameters, verbose,
    )  # fmt: skip
    return run_command(options)


@app.command
def compare(run_directory: Path, goldens: list[Path], /, *, json: bool = False) -> int:
    """List every difference between a run's observations and the nearest recording.

    Parameters
    ----------
    run_directory
        A run's directory, or an observations.json.
    goldens
        Recordings by name, ID@VERSION, or by path: files, or folders of them.
    json
        Print the differences as JSON.
    """
    from emulator.cli.commands.compare_command import compare_command

    return compare_command(run_directory, goldens, json)


@app.command
def audit(
    runs: list[str] | None = None,
    /,
    *,
    follow: Annotated[bool, Parameter(negative=())] = False,
    master: AuditMaster = "local[*]",
    out: Path | None = None,
    json: bool = False,
    junit: Path | None = None,
    markdown: Path | None = None,
    check: Checks = None,
    reports: bool | None = None,
    verbose: Verbose = False,
) -> int:
    """Judge one or many runs with Spark; of a running cluster, a snapshot.

    Parameters
    ----------
    runs
        Directories of runs, or globs. With --follow: one directory or a cluster's name; by default the running cluster.
    follow
        Audit the run while it is written, and print each finding as it appears, until the run ends.
    out
        Directory for events, verdicts and violations, as Parquet and JSON (docs/audit-out.md).
    json
        Print the verdicts as JSON.
    junit
        File for the verdicts as JUnit XML, in addition to the output.
    markdown
        File for the verdicts as Markdown for a pull request, in addition to the output.
    check
        A Python file with a custom check (docs/how-to-add-a-check.md); repeatable.
    reports
        Write a report.html for each run; by default only for up to 20 runs.
    verbose
        Name each check that held or was skipped.
    """
    from emulator.cli.commands.audit import audit_runs_command
    from emulator.cli.commands.follow_command import follow_run_command
    from emulator.judging.ci_reports import CiReports

    if follow:
        given = {"--out": out, "--junit": junit, "--markdown": markdown, "--check": check, "--reports": reports}
        return follow_run_command(runs or (), master, json, [name for name, value in given.items() if value])
    ci_reports = CiReports(junit, markdown)
    return audit_runs_command(runs or (), master, out, json, ci_reports, check or (), reports, verbose)


@app.command
def sql(
    *arguments: str, csv: bool = False, json: bool = False, rows: int = 1_000, master: AuditMaster = "local[*]"
) -> int:
    """Query the events of runs in SQL, as documented views; without a query, interactively.

    Parameters
    ----------
    arguments
        RUN... [QUERY]: directories of runs or campaigns, or globs. A last argument that contains a blank and is no
        directory is the query.
    csv
        Print the rows as CSV.
    json
        Print the rows as a list of objects.
    rows
        Maximum rows to print; a note marks a truncated result.
    """
    from audit.sql_command import split_arguments, sql_command

    if csv and json:
        print("faultline sql: either --csv or --json", file=sys.stderr)
        return UNUSABLE
    runs, query = split_arguments(arguments)
    shape: Literal["text", "csv", "json"] = "csv" if csv else "json" if json else "text"
    return sql_command(runs, query, shape=shape, rows_max=rows, master=master)


@app.command
def explain(run_directory: Path, subject: str, /, *, partition: str | None = None, json: bool = False) -> int:
    """Trace a record as a chain of causes: its sends, appends, acknowledgements and truncations.

    Parameters
    ----------
    run_directory
        A run's directory.
    subject
        A record's value, or an offset.
    partition
        Only events of this partition, such as t-0; by default each partition in turn.
    json
        Print the chain as JSON.
    """
    from emulator.cli.commands.explain import explain_command

    return explain_command(run_directory, subject, partition, json)


@app.command
def diff(left: Path, right: Path, /, *, partition: str | None = None, json: bool = False) -> int:
    """Show the first difference between two runs, ignoring timestamps.

    Parameters
    ----------
    left
        A run's directory.
    right
        The other run's directory.
    partition
        Only events of this partition, such as t-0.
    json
        Print the first difference of each node as JSON; an empty list: the runs are the same.
    """
    from emulator.cli.commands.diff import diff_command

    return diff_command(left, right, json, partition)


@app.command
def log(
    node: str | None = None,
    partition: str | None = None,
    /,
    *,
    as_kafka: str | None = None,
    run: Path | None = None,
    cluster: Cluster = None,
    file: LogFile | None = None,
    json: bool = False,
) -> int:
    """Show a replica's records beside the other replicas', or a broker's events as Kafka's log.

    Parameters
    ----------
    node
        A broker, such as broker-0.
    partition
        A partition, such as t-0.
    as_kafka
        A broker; prints its events as log lines in the format of its Kafka version.
    run
        A run's directory; by default the running cluster's, else the newest in runs/.
    file
        With --as-kafka: one of Kafka's log files; by default all.
    json
        Print as JSON.
    """
    from emulator.cli.commands.log_as_kafka import as_kafka_command
    from emulator.cli.commands.log_command import log_command
    from emulator.cluster.cluster_registry import NoCluster, run_of

    if run is not None and cluster is not None:
        print(f"faultline log: --run {run} and --cluster {cluster}: one of them", file=sys.stderr)
        return UNUSABLE
    try:
        run = run or run_of(cluster)
    except NoCluster as error:
        print(f"faultline log: {error}", file=sys.stderr)
        return UNUSABLE
    if as_kafka is not None:
        return _unusable_log() if node is not None else as_kafka_command(as_kafka, run, file, json)
    if node is None or partition is None or file is not None:
        return _unusable_log()
    return log_command(node, partition, run, json)


def _unusable_log() -> int:
    """Error for arguments that match neither form of the command."""
    one, other = "log NODE PARTITION [--run DIR]", "log --as-kafka NODE [--file FILE] [--run DIR]"
    print(f"faultline log: give either {one} or {other}", file=sys.stderr)
    return UNUSABLE


@app.command
def report(run_directory: Path, /, *, json: bool = False) -> int:
    """(Re)write a run's report.html, or a campaign's.

    Parameters
    ----------
    run_directory
        Directory of a run that has a verdict.json, or of a campaign.
    json
        Print as JSON the run, the report's path, and whether the run is valid.
    """
    from audit.commands import report_command
    from emulator.cli.commands.campaign_report import campaign_report_command
    from emulator.judging.campaigns.dataset import is_campaign

    if is_campaign(run_directory):
        return campaign_report_command(run_directory, json)

    return report_command(str(run_directory), json)


@app.command
def sim(
    scenario: str,
    /,
    *,
    seeds: str = "1..200",
    settings: ScenarioSettings = OF_SCENARIO,
    out: Path | None = None,
    golden: Path | None = None,
    json: bool = False,
    junit: Path | None = None,
    markdown: Path | None = None,
    master: Master = None,
) -> int:
    """Play many seeds of one scenario in the simulated world, on all cores.

    Parameters
    ----------
    scenario
        A catalogue id, a YAML file, or a recording.
    seeds
        Seeds A..B, both included.
    out
        Campaign directory, for `faultline sql` and `report`; it also gets SEED/observations.json and verdict.json of
        each seed. An interrupted campaign is resumed.
    golden
        Directory of the recordings; by default the project's.
    json
        Print the summary as JSON.
    junit
        File for the outcome of each seed as JUnit XML, in addition to the output.
    markdown
        File for the summary as Markdown for a pull request, in addition to the output.
    """
    use_compiled()
    from emulator.cli.commands.sim import sim_command
    from emulator.judging.ci_reports import CiReports

    return sim_command(
        scenario, seeds, settings.kafka_version, settings.overrides, out, golden, json, settings.files,
        CiReports(junit, markdown), settings.parameters, master,
    )  # fmt: skip


@app.command
def sweep(
    scenario: str,
    /,
    *,
    set_: Setting = None,
    param: Parameters = None,
    kafka_version: str | None = None,
    seeds: str | None = None,
    settings: Files = None,
    measure: Annotated[list[str] | None, Parameter(negative=())] = None,
    runs: int | None = None,
    out: Path | None = None,
    csv: Path | None = None,
    html: Path | None = None,
    json: bool = False,
    master: Master = None,
) -> int:
    """Play a scenario in every combination of settings, versions and times; tabulate the losses.

    Parameters
    ----------
    scenario
        A catalogue id or a YAML file; without other options, the name of a shipped sweep, or a sweep's file.
    set_
        `key=A,B`: any Kafka setting and its values; repeatable.
    param
        `NAME=A,B`: a parameter of the scenario's file and its values, such as sleep#2=10,30 or cut.at_s=5,12;
        repeatable.
    kafka_version
        The brokers' versions, A,B.
    seeds
        Seeds A..B, both included, of each combination; by default 1..10.
    settings
        A .properties file for all combinations: server.properties, producer:my.properties; repeatable.
    measure
        An additional column of the table, such as isr_shrinks; repeatable.
    runs
        Maximum number of runs, a random sample; by default all.
    out
        Campaign directory, for `faultline sql` and `report`. An interrupted campaign is resumed.
    csv
        File for the table as CSV, with the spread of every measure.
    html
        File for one page with heat maps of all measures and the broken promises.
    json
        Print the cells as JSON.
    """
    use_compiled()
    from emulator.cli.commands.sweep import SweepOptions, sweep_command

    options = SweepOptions(
        scenario, tuple(set_ or ()), tuple(param or ()), kafka_version, seeds, tuple(settings or ()),
        tuple(measure or ()), runs, out, csv, html, json, master,
    )  # fmt: skip
    return sweep_command(options)


@app.command
def advise(
    *files: str,
    kafka_version: KafkaVersion = None,
    set_: AnySetting = None,
    seeds: str | None = None,
    pairs: bool = False,
    runs: int | None = None,
    for_: Annotated[str | None, Parameter(name="--for")] = None,
    topology: str | None = None,
    brokers: int | None = None,
    azs: int | None = None,
    cluster: Annotated[list[str] | None, Parameter(consume_multiple=True, negative=())] = None,
    topic: str | None = None,
    fault: str | None = None,
    out: Path | None = None,
    html: Path | None = None,
    json: bool = False,
    master: Master = None,
) -> int:
    """Find the single faults that break a promise with given settings, and the smallest remedy.

    Parameters
    ----------
    files
        .properties files as `run --settings` takes them: server.properties, producer:my.properties.
    seeds
        Seeds A..B, both included, of each fault; by default 1..3, and 1 of each pair.
    pairs
        Then also play all pairs of faults.
    runs
        With --pairs: maximum number of runs of pairs, a random sample; by default all.
    for_
        With --pairs: time limit, e.g. 90s, 10m (instead of --runs).
    topology
        A topology or a compose file as `up` takes it; by default three brokers in three AZs.
    brokers
        Number of brokers (instead of --topology).
    azs
        Number of AZs (instead of --topology); by default three.
    cluster
        A running cluster with its present settings (instead of --topology), by name; without a name the only one. The
        cluster is only read.
    topic
        With --cluster: the topic whose settings apply, where the topics' settings differ.
    fault
        Only this fault, by the name of its scenario: az-0-is-cut-off-load.
    out
        Directory for the scenarios that break a promise; by default runs/advice.
    html
        File for a page: promises against faults, and the reason, the command and the remedy of each broken promise.
    json
        Print as JSON.
    """
    use_compiled()
    from emulator.cli.commands.advise import AdviseOptions, advise_command

    options = AdviseOptions(
        files, kafka_version, tuple(set_ or ()), seeds, pairs, runs, for_, topology, brokers, azs, fault, out, html,
        json, master, None if cluster is None else tuple(cluster), topic,
    )  # fmt: skip
    return advise_command(options)


@app.command
def fuzz(
    *,
    runs: int | None = None,
    for_: Annotated[str | None, Parameter(name="--for")] = None,
    set_: Setting = None,
    settings: Files = None,
    kafka_version: KafkaVersion = None,
    seed: int = 1,
    out: Path | None = None,
    json: bool = False,
    master: Master = None,
    verbose: Verbose = False,
) -> int:
    """Play random clusters, settings and fault schedules; shrink each that breaks a promise.

    Parameters
    ----------
    runs
        Number of runs; by default 500.
    for_
        Time limit, e.g. 90s, 10m, 1h (instead of --runs).
    set_
        `key=VALUE`: a Kafka setting with a fixed value; repeatable.
    settings
        A .properties file of brokers or clients with fixed values; repeatable.
    seed
        Seed of the random choices.
    out
        Directory for the findings; the same command resumes there. By default runs/fuzz, begun anew each time.
    json
        Print the findings as JSON.
    verbose
        Name the rules and version gates that no run reached.
    """
    use_compiled()
    from emulator.cli.commands.fuzz import FuzzOptions, fuzz_command

    files = tuple(settings or ())
    options = FuzzOptions(
        runs, for_, tuple(set_ or ()), files, kafka_version, seed, out, json, master, verbose
    )  # fmt: skip
    return fuzz_command(options)


@app.command
def doctor(*, json: bool = False) -> int:
    """Check this machine's Python, Java, Docker engine, rights and ports, with advice for each.

    Parameters
    ----------
    json
        Print the findings as JSON.
    """
    from emulator.cli.commands.doctor import doctor_command

    return doctor_command(json)


@app.command
def settings(*names: str, kafka_version: KafkaVersion = None, json: bool = False) -> int:
    """Show how a Kafka setting, or a settings file, is treated.

    Parameters
    ----------
    names
        Settings, such as log.retention.ms or producer.acks, or files as --settings takes them; none: only counts.
    json
        Print as JSON.
    """
    from emulator.cli.commands.settings import settings_command

    return settings_command(names, kafka_version, json)


app_live.add_to(app)
app_live_machines.add_to(app)
app_live_use.add_to(app)

scenarios_app = App(name="scenarios", help="The catalogue of scenarios.")
app.command(scenarios_app)


@scenarios_app.default
def scenarios_list(*, json: bool = False) -> int:
    """List the catalogue."""
    from emulator.cli.commands.scenarios import list_command

    return list_command(json)


@scenarios_app.command(name="show")
def scenarios_show(scenario: str, /, *, json: bool = False) -> int:
    """Print a scenario with its defaults filled in.

    Parameters
    ----------
    scenario
        A catalogue id, a YAML file, or a recording.
    json
        Print it as JSON.
    """
    from emulator.cli.commands.scenarios import show_command

    return show_command(scenario, json)


@scenarios_app.command(name="check")
def scenarios_check(files: list[Path], /, *, json: bool = False) -> int:
    """Validate scenario files; every error with its line and column.

    Parameters
    ----------
    files
        YAML files.
    json
        Print the errors as JSON.
    """
    from emulator.cli.commands.scenarios import check_command

    return check_command(files, json)


app.register_install_completion_command(add_to_startup=False)


def main(arguments: list[str] | None = None) -> None:
    """The console script. Ends the process with the command's exit code."""
    sys.exit(ended("faultline", lambda: _command(arguments)))


def _command(arguments: list[str] | None) -> int:
    try:
        with old_names_shown():
            words = current_arguments(sys.argv[1:] if arguments is None else arguments)
            code = app(words, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        line = "; ".join(part.strip() for part in str(error).splitlines() if part.strip())
        print(f"faultline: {line}".encode(errors="backslashreplace").decode(), file=sys.stderr)
        return UNUSABLE
    return code if isinstance(code, int) else 0
