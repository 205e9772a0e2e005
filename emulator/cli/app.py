"""`faultline`: entry point of the command line.

`emulator.cli.commands` implements the commands. A command is registered by its import path, and imported when it is
called. Those that simulate are functions here, because compiled code is chosen before the import.

Unusable arguments end with code 2 and one line that names the usable ones. Ctrl-C ends with 130 and leaves no process
running.
"""

import sys
from pathlib import Path
from typing import Literal

from cyclopts import App, CycloptsError

from emulator.cli import app_live as app_live  # these three register their commands
from emulator.cli import app_live_machines as app_live_machines
from emulator.cli import app_live_use as app_live_use
from emulator.cli.command_options import (
    ADVISE,
    AUDIT,
    FUZZ,
    PLAN_ROLL,
    PLAN_TIMEOUTS,
    PLAN_TOPOLOGIES,
    RUN,
    SIM,
    SWEEP,
    AdviseOptions,
    AuditOptions,
    FuzzOptions,
    PlanRollOptions,
    PlanTimeoutsOptions,
    PlanTopologiesOptions,
    RunOptions,
    SimOptions,
    SweepOptions,
)
from emulator.cli.old_arguments import current_arguments, old_names_shown
from emulator.cli.play_options import AuditMaster, Cold, Listed, Remote
from emulator.cli.root_app import app as app
from emulator.compiled_modules import use as use_compiled
from emulator.exit_codes import UNUSABLE
from emulator.toplevel_errors import ended


@app.command
def run(scenario: str, /, *, options: RunOptions = RUN) -> int:
    """Play a scenario and judge it.

    Parameters
    ----------
    scenario
        A catalogue id, a YAML file, or a recording by name or path (its `do` entries are played).
    """
    if options.world == "sim":  # nodes of the network world are processes of their own, forked from sources
        use_compiled()
    from emulator.cli.commands.run_scenario import run_command

    return run_command(scenario, options)


app.command(
    "emulator.cli.commands.compare_command:compare_command",
    name="compare",
    help="List every difference between a run's observations and the nearest recording.",
)


@app.command
def audit(runs: Listed = (), /, *, options: AuditOptions = AUDIT) -> int:
    """Judge one or many runs with Spark; of a running cluster, a snapshot.

    Parameters
    ----------
    runs
        Directories of runs, or globs. With --follow: one directory or a cluster's name; by default the running cluster.
    """
    if options.follow:
        from emulator.cli.commands.follow_command import follow_run_command

        return follow_run_command(runs, options)
    from emulator.cli.commands.audit import audit_runs_command

    return audit_runs_command(runs, options)


@app.command
def sql(
    *arguments: str,
    csv: bool = False,
    json: bool = False,
    rows: int = 1_000,
    master: AuditMaster = "local[*]",
    remote: Remote = None,
    cold: Cold = False,
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
    return sql_command(runs, query, shape=shape, rows_max=rows, master=remote or master, cold=cold)


app.command(
    "emulator.cli.commands.spark_command:spark_command",
    name="spark",
    help="Show, start or stop the Spark server that commands share.",
)


app.command(
    "emulator.cli.commands.import_command:import_command",
    name="import",
    help="Import real brokers' log files and data folders as a run, for audit, report, explain, sql and log.",
)


app.command(
    "emulator.cli.commands.incident_command:incident_command",
    name="incident",
    help="Name an imported incident's fault, its effects, the records at stake, and settings against it.",
)


app.command(
    "emulator.cli.commands.explain:explain_command",
    name="explain",
    help="Trace a record as a chain of causes: its sends, appends, acknowledgements and truncations.",
)


app.command(
    "emulator.cli.commands.diff:diff_command",
    name="diff",
    help="Show the first difference between two runs, ignoring timestamps, or between two replicas' segments.",
)


app.command(
    "emulator.cli.commands.log_command:either_log_command",
    name="log",
    help="Show a replica's records beside the other replicas', or a broker's events as Kafka's log.",
)


app.command(
    "emulator.cli.commands.export_command:export_command",
    name="export",
    help="Export a run's metrics for Prometheus, or its operations as traces for OpenTelemetry.",
)


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
def sim(scenario: str, /, *, options: SimOptions = SIM) -> int:
    """Play many seeds of one scenario in the simulated world, on all cores.

    Parameters
    ----------
    scenario
        A catalogue id, a YAML file, or a recording.
    """
    use_compiled()
    from emulator.cli.commands.sim import sim_command

    return sim_command(scenario, options)


@app.command
def sweep(scenario: str, /, *, options: SweepOptions = SWEEP) -> int:
    """Play a scenario in every combination of settings, versions and times; tabulate the losses.

    Parameters
    ----------
    scenario
        A catalogue id or a YAML file; without other options, the name of a shipped sweep, or a sweep's file.
    """
    use_compiled()
    from emulator.cli.commands.sweep import sweep_command

    return sweep_command(scenario, options)


@app.command
def advise(*files: str, options: AdviseOptions = ADVISE) -> int:
    """Find the single faults that break a promise with given settings, and the smallest remedy.

    Parameters
    ----------
    files
        .properties files as `run --settings` takes them: server.properties, producer:my.properties.
    """
    use_compiled()
    from emulator.cli.commands.advise import advise_command

    return advise_command(files, options)


@app.command
def fuzz(*, options: FuzzOptions = FUZZ) -> int:
    """Play random clusters, settings and fault schedules; shrink each that breaks a promise."""
    use_compiled()
    from emulator.cli.commands.fuzz import fuzz_command

    return fuzz_command(options)


plan_app = App(name="plan", help="Plans of maintenance, time-outs and layouts, measured in simulated runs.")
app.command(plan_app)


@plan_app.command
def roll(*files: str, options: PlanRollOptions = PLAN_ROLL) -> int:
    """Plan a rolling restart or upgrade: order, cost, and a fault at the worst moment.

    Parameters
    ----------
    files
        .properties files as `advise` takes them: server.properties, producer:my.properties.
    """
    use_compiled()
    from emulator.cli.commands.plan_roll import plan_roll_command

    return plan_roll_command(files, options)


@plan_app.command
def timeouts(*files: str, options: PlanTimeoutsOptions = PLAN_TIMEOUTS) -> int:
    """Choose clients' time-outs for a wanted recovery, by their waits in each fault.

    Parameters
    ----------
    files
        .properties files as `advise` takes them: server.properties, producer:my.properties.
    """
    use_compiled()
    from emulator.cli.commands.plan_timeouts import plan_timeouts_command

    return plan_timeouts_command(files, options)


@plan_app.command
def topologies(*files: str, options: PlanTopologiesOptions = PLAN_TOPOLOGIES) -> int:
    """Compare layouts over data centers: which of them survive the loss of one.

    Parameters
    ----------
    files
        .properties files as `advise` takes them: server.properties, producer:my.properties.
    """
    use_compiled()
    from emulator.cli.commands.plan_topologies import plan_topologies_command

    return plan_topologies_command(files, options)


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


app.command(
    "emulator.cli.commands.settings:settings_command",
    name="settings",
    help="Show how a Kafka setting, or a settings file, is treated.",
)


scenarios_app = App(name="scenarios", help="The catalogue of scenarios.")
app.command(scenarios_app)


@scenarios_app.default
def scenarios_list(*, json: bool = False) -> int:
    """List the catalogue."""
    from emulator.cli.commands.scenarios import list_command

    return list_command(json=json)


scenarios_app.command(
    "emulator.cli.commands.scenarios:show_command",
    name="show",
    help="Print a scenario with its defaults filled in.",
)
scenarios_app.command(
    "emulator.cli.commands.scenarios:check_command",
    name="check",
    help="Validate scenario files; every error with its line and column.",
)


checks_app = App(name="checks", help="The checks of the audit.")
app.command(checks_app)


@checks_app.default
def checks_list(*, json: bool = False) -> int:
    """List the checks.

    Parameters
    ----------
    json
        Print the names and titles as JSON.
    """
    from emulator.cli.commands.show_checks import list_command

    return list_command(json=json)


checks_app.command(
    "emulator.cli.commands.show_checks:show_command",
    name="show",
    help="Print a check's definition, the tables that it reads, and its SQL.",
)


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
