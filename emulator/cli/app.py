"""`faultline`: one entry point for every command. What one does is in `emulator.cli.commands`; here are its words.

Unusable arguments end with code 2 and one line that says what would be usable; Ctrl-C ends with 130 and leaves
nothing running."""

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, CycloptsError, Parameter

from emulator.cli import app_live, app_live_machines, app_live_use
from emulator.cli.asked import Cluster
from emulator.cli.plain_values import require_plain
from emulator.compiled import look as look_for_compiled
from emulator.compiled import use as use_compiled
from emulator.exit_codes import UNUSABLE
from emulator.last_resort import ended
from emulator.packaged import installed_version
from emulator.runs.living import Driver, Engine


def _version() -> str:
    """With a word where commands that simulate take native code."""
    return f"{installed_version()}, compiled" if look_for_compiled().usable else installed_version()


app = App(
    name="faultline",
    help="An emulator of Kafka's replication, made to be broken on purpose. It contains no Kafka code.",
    version=_version,
    version_flags=["--version"],
    default_parameter=Parameter(validator=require_plain, json_list=False, json_dict=False),
    suppress_keyboard_interrupt=False,
)

World = Literal["network", "sim"]
Audit = Literal["spark", "oracle", "none"]
LogFile = Literal["server", "controller", "state-change"]
Setting = Annotated[list[str] | None, Parameter(name="--set", negative=())]
Parameters = Annotated[list[str] | None, Parameter(name="--param", negative=())]
Checks = Annotated[list[Path] | None, Parameter(negative=())]
Files = Annotated[list[str] | None, Parameter(name="--settings", negative=())]
Verbose = Annotated[bool, Parameter(name=["--verbose", "-v"], negative=())]


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
    kafka_version: str | None = None,
    set_: Setting = None,
    settings: Files = None,
    param: Parameters = None,
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
        Who cuts links: the nodes themselves (the default), or the kernel's packet filter (cut and heal only, speed 1,
        as root).
    seed
        Varies latency, scheduling and ties; the simulated world repeats it to the byte.
    speed
        Factor of the clock in the network world; by default as the scenario says, in containers at most 2.
    kafka_version
        The brokers' version, such as 2.6 or 0.10.2.
    set_
        Any Kafka setting, `key=value`; repeatable.
    settings
        A .properties file: server.properties, producer:my.properties, broker-0:server-0.properties; repeatable.
    param
        Another value in the scenario's file, such as pause#2=30 or cut.at_s=12; repeatable.
    out
        The run's directory; by default runs/ID-TIME.
    audit
        Who judges: Spark (default in the network world), the oracle (default in the simulated), or nobody.
    json
        Print the verdict as JSON and nothing else.
    junit
        Also write the verdict there, as JUnit's XML.
    markdown
        Also write the verdict there, as Markdown for a pull request.
    verbose
        Name each check that held or was skipped.
    """
    if world == "sim":  # nodes of the network world are processes of their own, forked from sources
        use_compiled()
    from emulator.cli.commands.run import RunOptions, run_command
    from emulator.judging.for_machines import ForMachines

    given = {"--engine": engine, "--driver": driver, "--speed": speed}
    options = RunOptions(
        scenario, world, engine or "process", driver or "nodes", seed, speed, kafka_version, tuple(set_ or ()), out,
        audit, json, tuple(settings or ()), tuple(option for option, value in given.items() if value is not None),
        ForMachines(junit, markdown), tuple(param or ()), verbose,
    )  # fmt: skip
    return run_command(options)


@app.command
def compare(run_directory: Path, goldens: list[Path], /, *, json: bool = False) -> int:
    """List every difference between a run's observations and the nearest of the recordings given.

    Parameters
    ----------
    run_directory
        A run's directory, or an observations.json.
    goldens
        Recordings by name, ID@VERSION, or by path: files, or folders of them.
    json
        Print the differences as JSON.
    """
    from emulator.cli.commands.compare import compare_command

    return compare_command(run_directory, goldens, json)


@app.command
def audit(
    runs: list[str] | None = None,
    /,
    *,
    follow: Annotated[bool, Parameter(negative=())] = False,
    master: str = "local[*]",
    out: Path | None = None,
    json: bool = False,
    junit: Path | None = None,
    markdown: Path | None = None,
    check: Checks = None,
    reports: bool | None = None,
    verbose: Verbose = False,
) -> int:
    """Judge one or many runs with Spark; a running cluster as it is at this moment.

    Parameters
    ----------
    runs
        Directories of runs, or globs; with --follow one, or a cluster's name, by default the one that runs.
    follow
        Read the run while it is written, and tell what is found as it happens, until the run is over.
    master
        Any Spark master.
    out
        Write events, verdicts and violations there, as Parquet and JSON (docs/audit-out.md).
    json
        Print the verdicts as JSON.
    junit
        Also write the verdicts there, as JUnit's XML.
    markdown
        Also write the verdicts there, as Markdown for a pull request.
    check
        A check of your own, a Python file (docs/how-to-add-a-check.md); repeatable.
    reports
        Write a report.html for each run; unasked for, of at most 20 runs.
    verbose
        Name each check that held or was skipped.
    """
    from emulator.cli.commands.audit import audit_runs_command
    from emulator.cli.commands.follow import follow_run_command
    from emulator.judging.for_machines import ForMachines

    if follow:
        given = {"--out": out, "--junit": junit, "--markdown": markdown, "--check": check, "--reports": reports}
        return follow_run_command(runs or (), master, json, [name for name, value in given.items() if value])
    for_machines = ForMachines(junit, markdown)
    return audit_runs_command(runs or (), master, out, json, for_machines, check or (), reports, verbose)


@app.command
def sql(*arguments: str, csv: bool = False, json: bool = False, rows: int = 1_000, master: str = "local[*]") -> int:
    """Ask the events in SQL, as documented views: RUN... [QUERY]; without a query, interactively.

    Parameters
    ----------
    arguments
        Directories of runs or campaigns, or globs; a last argument that holds a blank is the query, unless it is a
        directory.
    csv
        Print the rows as CSV.
    json
        Print the rows as a list of objects.
    rows
        Print so many of a query's rows; that there were more is said.
    master
        Any Spark master.
    """
    from audit.asking import sql_command, told_apart

    if csv and json:
        print("faultline sql: either --csv or --json", file=sys.stderr)
        return UNUSABLE
    runs, query = told_apart(arguments)
    shape: Literal["text", "csv", "json"] = "csv" if csv else "json" if json else "text"
    return sql_command(runs, query, shape=shape, rows_max=rows, master=master)


@app.command
def explain(run_directory: Path, subject: str, /, *, partition: str | None = None, json: bool = False) -> int:
    """A record's life as a chain of causes: sent, appended where, acknowledged, truncated why.

    Parameters
    ----------
    run_directory
        A run's directory.
    subject
        A value that was written, or an offset.
    partition
        Only what happened in that one, such as t-0; by default each in turn.
    json
        Print the chain as JSON.
    """
    from emulator.cli.commands.explain import explain_command

    return explain_command(run_directory, subject, partition, json)


@app.command
def diff(left: Path, right: Path, /, *, partition: str | None = None, json: bool = False) -> int:
    """Where two runs first part, times left out.

    Parameters
    ----------
    left
        A run's directory.
    right
        Another run's.
    partition
        Only what is of that one, such as t-0.
    json
        Print the first difference of each node as JSON; none: the runs do the same.
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
    """One replica's records with their epochs beside the others'; or a broker's events as Kafka's own log lines.

    Parameters
    ----------
    node
        A broker, such as broker-0.
    partition
        Such as t-0.
    as_kafka
        A broker, whose log lines are printed as its version of Kafka writes them.
    run
        A run's directory; by default the running cluster's, else the newest in runs/.
    file
        With --as-kafka: one of Kafka's log files; by default the lines of all.
    json
        Print as JSON.
    """
    from emulator.cli.commands.log import log_command
    from emulator.cli.commands.log_as_kafka import as_kafka_command
    from emulator.cluster.registry import NoCluster, run_of

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
    """Neither of the two ways to ask."""
    one, other = "log NODE PARTITION [--run DIR]", "log --as-kafka NODE [--file FILE] [--run DIR]"
    print(f"faultline log: give either {one} or {other}", file=sys.stderr)
    return UNUSABLE


@app.command
def report(run_directory: Path, /, *, json: bool = False) -> int:
    """(Re)write a run's report.html, or a campaign's.

    Parameters
    ----------
    run_directory
        A run's directory, which has a verdict.json; or a campaign's.
    json
        Print as JSON which run it is of, where it is, and whether the run is valid.
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
    kafka_version: str | None = None,
    set_: Setting = None,
    settings: Files = None,
    param: Parameters = None,
    out: Path | None = None,
    golden: Path | None = None,
    json: bool = False,
    junit: Path | None = None,
    markdown: Path | None = None,
    master: str | None = None,
) -> int:
    """Play many seeds of one scenario in the simulated world, on all cores.

    Parameters
    ----------
    scenario
        A catalogue id, a YAML file, or a recording.
    seeds
        A..B, both included.
    kafka_version
        The brokers' version.
    set_
        Any Kafka setting, `key=value`; repeatable.
    settings
        A .properties file: server.properties, producer:my.properties, broker-0:server-0.properties; repeatable.
    param
        Another value in the scenario's file, such as pause#2=30 or cut.at_s=12; repeatable.
    out
        A campaign's directory, for `faultline sql` and `report`; beside it SEED/observations.json and verdict.json of
        each. One that was cut short goes on.
    golden
        Where the recordings are; by default those of the project.
    json
        Print the summary as JSON.
    junit
        Also write there, as JUnit's XML, what became of each seed.
    markdown
        Also write a summary there, as Markdown for a pull request.
    master
        A Spark master whose executors play instead of this machine's cores, such as spark://host:7077.
    """
    use_compiled()
    from emulator.cli.commands.sim import sim_command
    from emulator.judging.for_machines import ForMachines

    files, overrides, parameters = tuple(settings or ()), tuple(set_ or ()), tuple(param or ())
    machines = ForMachines(junit, markdown)
    return sim_command(
        scenario, seeds, kafka_version, overrides, out, golden, json, files, machines, parameters, master
    )


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
    master: str | None = None,
) -> int:
    """Play a scenario in every combination of settings, versions and moments, and tell what each loses.

    Parameters
    ----------
    scenario
        A catalogue id or a YAML file; alone, a sweep that comes with faultline, or a sweep's file.
    set_
        `key=A,B`: any Kafka setting and its values; repeatable.
    param
        `NAME=A,B`: a place in the scenario's file and its values, such as pause#2=10,30 or cut.at_s=5,12; repeatable.
    kafka_version
        The brokers' versions, A,B.
    seeds
        A..B, both included, of each combination; by default 1..10.
    settings
        A .properties file for all: server.properties, producer:my.properties; repeatable.
    measure
        Another column of the table, such as isr_shrinks; repeatable.
    runs
        Only so many of the runs, drawn by chance.
    out
        A campaign's directory, for `faultline sql` and `report`. One that was cut short goes on.
    csv
        Write the table there as CSV, with every measure's spread.
    html
        Write there, as one page, heat maps of all measures, and what breaks.
    json
        Print the cells as JSON.
    master
        A Spark master whose executors play instead of this machine's cores, such as spark://host:7077.
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
    kafka_version: str | None = None,
    set_: Setting = None,
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
    master: str | None = None,
) -> int:
    """Which single faults break which promises with your settings, why, and the smallest change that ends it.

    Parameters
    ----------
    files
        .properties files as `run --settings` takes them: server.properties, producer:my.properties.
    kafka_version
        The brokers' version.
    set_
        Any Kafka setting, `key=value`; repeatable.
    seeds
        A..B, both included, of each fault; by default 1..3, and 1 of each pair.
    pairs
        Then go through all pairs of faults, too.
    runs
        Only so many runs of pairs, drawn by chance.
    for_
        Instead: for so long, as 90s or 10m.
    topology
        A topology or a compose file as `up` takes it; by default three brokers in three AZs.
    brokers
        Instead: so many brokers,
    azs
        in so many AZs, by default three.
    cluster
        Instead: a cluster that runs, by its name (without: the only one), as it is now. Nothing is done to it.
    topic
        Which of its topics, where they differ.
    fault
        Only this one, by the name of its scenario: az-0-is-cut-off-load.
    out
        Where the scenarios of what breaks are written; by default runs/advice.
    html
        A page to hand on: promises against faults, and of what breaks why, the command and the change.
    json
        Print as JSON.
    master
        A Spark master whose executors play instead of this machine's cores, such as spark://host:7077.
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
    kafka_version: str | None = None,
    seed: int = 1,
    out: Path | None = None,
    json: bool = False,
    master: str | None = None,
    verbose: Verbose = False,
) -> int:
    """Draw clusters, settings and schedules of faults by chance, and make small what breaks a promise.

    Parameters
    ----------
    runs
        So many; by default 500.
    for_
        Instead: for so long, as 90s, 10m or 1h.
    set_
        `key=VALUE`: a Kafka setting that is not drawn; repeatable.
    settings
        Files with settings that are not drawn, as Kafka's and its clients' have them; repeatable.
    kafka_version
        The brokers' version.
    seed
        What chance is drawn from.
    out
        A directory for what is found; the same command goes on there. By default runs/fuzz, anew each time.
    json
        Print the finds as JSON.
    master
        A Spark master whose executors play instead of this machine's cores, such as spark://host:7077.
    verbose
        Name the rules and gates that no run reached.
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
    """What this machine has and lacks (Python, Java, Docker engine, rights, ports), each with what to do.

    Parameters
    ----------
    json
        Print the findings as JSON.
    """
    from emulator.cli.commands.doctor import doctor_command

    return doctor_command(json)


@app.command
def settings(*names: str, kafka_version: str | None = None, json: bool = False) -> int:
    """What one of Kafka's settings is here; or what is made of a settings file.

    Parameters
    ----------
    names
        Settings, such as log.retention.ms or producer.acks, or files as --settings takes them; none: their number.
    kafka_version
        The brokers' version.
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
    """Print a scenario as it would be played.

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
        code = app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        line = "; ".join(part.strip() for part in str(error).splitlines() if part.strip())
        print(f"faultline: {line}".encode(errors="backslashreplace").decode(), file=sys.stderr)
        return UNUSABLE
    return code if isinstance(code, int) else 0
