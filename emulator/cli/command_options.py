"""Options of the commands that play, judge or start a cluster, one group for each command.

Parser, command and Python interface share them. `emulator.cli.app` has the positional arguments.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

from cyclopts import Parameter

from emulator.cli.cluster_options import Cluster, Json
from emulator.cli.play_options import (
    AnySetting,
    AuditMaster,
    Cold,
    Files,
    Flag,
    KafkaVersion,
    Lasting,
    Listed,
    Master,
    Metadata,
    Parameters,
    Remote,
    ScenarioSettings,
    Setting,
    Settings,
    Verbose,
    options,
)
from emulator.runs.deployment_options import Driver, Engine

if TYPE_CHECKING:
    from emulator.judging.ci_reports import CiReports

World = Literal["network", "sim"]
Audit = Literal["spark", "oracle", "none"]
Controllers = Literal["separate", "combined"]
LogFile = Literal["server", "controller", "state-change"]


class _Reports:
    """The files of a command that writes reports for CI systems."""

    junit: Path | None
    markdown: Path | None

    @property
    def ci_reports(self) -> "CiReports":
        from emulator.judging.ci_reports import CiReports

        return CiReports(self.junit, self.markdown)


@options
class RunOptions(_Reports):
    """Options of `faultline run`."""

    world: World = "network"
    """`network`: real processes and sockets; `sim`: the same machines in virtual time."""
    engine: Annotated[
        Engine | None,
        Parameter(help="How nodes run in the network world: local processes (the default), or containers."),
    ] = None
    driver: Driver | None = None
    """Component that applies link faults: the nodes (the default), or the kernel's packet filter
    (cut and heal only, speed 1, as root)."""
    seed: int = 1
    """Seed of latency, scheduling and ties; the simulated world reproduces a seed byte for byte."""
    speed: float | None = None
    """Factor of the clock in the network world; by default the scenario's, in containers at most
    2."""
    settings: ScenarioSettings = ScenarioSettings()
    out: Path | None = None
    """The run's directory; by default runs/ID-TIME."""
    audit: Audit | None = None
    """Judge of the run: `spark` (default in the network world), `oracle` (default in the
    simulated world), `none`."""
    json: bool = False
    """Print the verdict as JSON and nothing else."""
    junit: Path | None = None
    """File for the verdict as JUnit XML, in addition to the output."""
    markdown: Path | None = None
    """File for the verdict as Markdown for a pull request, in addition to the output."""
    verbose: Verbose = False
    """Name each check that held or was skipped."""

    @property
    def judge(self) -> Audit:
        return self.audit or ("oracle" if self.world == "sim" else "spark")

    @property
    def machines(self) -> tuple[Engine, Driver]:
        return self.engine or "process", self.driver or "nodes"


@options
class AuditOptions(_Reports):
    """Options of `faultline audit`."""

    follow: Flag = False
    """Audit the run while it is written, and print each finding as it appears, until the run
    ends."""
    master: AuditMaster = "local[*]"
    out: Path | None = None
    """Directory for events, verdicts and violations, as Parquet and JSON (docs/audit-out.md)."""
    json: bool = False
    """Print the verdicts as JSON."""
    junit: Path | None = None
    """File for the verdicts as JUnit XML, in addition to the output."""
    markdown: Path | None = None
    """File for the verdicts as Markdown for a pull request, in addition to the output."""
    check: Annotated[tuple[Path, ...], Parameter(negative=(), show_default=False)] = ()
    """A Python file with a custom check (docs/how-to-add-a-check.md); repeatable."""
    reports: bool | None = None
    """Write a report.html for each run; by default only for up to 20 runs."""
    remote: Remote = None
    cold: Cold = False
    verbose: Verbose = False
    """Name each check that held or was skipped."""


@options
class LogOptions:
    """Options of `faultline log`."""

    as_kafka: str | None = None
    """A broker; prints its events as log lines in the format of its Kafka version."""
    run: Path | None = None
    """A run's directory; by default the running cluster's, else the newest in runs/."""
    cluster: Cluster = None
    file: LogFile | None = None
    """With --as-kafka: one of Kafka's log files; by default all."""
    json: bool = False
    """Print as JSON."""


@options
class ImportOptions:
    """Options of `faultline import`."""

    out: Path | None = None
    """Directory of the run; by default a new one in runs/."""
    tz: str = "UTC"
    """Time zone of lines without one: UTC, +02:00 or Europe/Vienna; by default UTC."""
    pattern: str | None = None
    """log4j's conversion pattern of the lines, such as '%d %p [%t] %c - %m%n'.
    By default the known ones are tried."""
    clients: Path | None = None
    """File of an application's own sends, JSON lines or CSV (docs/after-an-incident.md)."""
    kafka_version: str | None = None
    """Version of the brokers, where their lines do not have it."""
    json: bool = False
    """Print the record of the import as JSON."""


@options
class SimOptions(_Reports):
    """Options of `faultline sim`."""

    seeds: str = "1..200"
    """Seeds A..B, both included."""
    settings: ScenarioSettings = ScenarioSettings()
    out: Path | None = None
    """Campaign directory, for `faultline sql` and `report`; it also gets SEED/observations.json
    and verdict.json of each seed. An interrupted campaign is resumed."""
    golden: Path | None = None
    """Directory of the recordings; by default the project's."""
    json: bool = False
    """Print the summary as JSON."""
    junit: Path | None = None
    """File for the outcome of each seed as JUnit XML, in addition to the output."""
    markdown: Path | None = None
    """File for the summary as Markdown for a pull request, in addition to the output."""
    master: Master = None


@options
class SweepOptions:
    """Options of `faultline sweep`."""

    overrides: Setting = ()
    """`key=A,B`: any Kafka setting and its values; repeatable."""
    parameters: Parameters = ()
    """`NAME=A,B`: a parameter of the scenario's file and its values, such as sleep#2=10,30 or
    cut.at_s=5,12; repeatable."""
    kafka_version: str | None = None
    """The brokers' versions, A,B."""
    metadata: Metadata | None = None
    """Store of the clusters' metadata; by default as for `run`, by the version of each run."""
    seeds: str | None = None
    """Seeds A..B, both included, of each combination; by default 1..10."""
    files: Files = ()
    """A .properties file for all combinations: server.properties, producer:my.properties;
    repeatable."""
    measure: Listed = ()
    """An additional column of the table, such as isr_shrinks; repeatable."""
    runs: int | None = None
    """Maximum number of runs, a random sample; by default all."""
    out: Path | None = None
    """Campaign directory, for `faultline sql` and `report`. An interrupted campaign is resumed."""
    csv: Path | None = None
    """File for the table as CSV, with the spread of every measure."""
    html: Path | None = None
    """File for one page with heat maps of all measures and the broken promises."""
    json: bool = False
    """Print the cells as JSON."""
    master: Master = None


@options
class AdviseOptions(_Reports):
    """Options of `faultline advise`."""

    kafka_version: KafkaVersion = None
    metadata: Metadata | None = None
    """Store of the cluster's metadata; by default that of the settings files or the
    topology, else ZooKeeper up to Kafka 3.2 and KRaft from 3.3 on."""
    controllers: Controllers | None = None
    """In KRaft: controllers in nodes of their own (separate), or brokers that are
    controllers too (combined); by default as in process.roles, else separate."""
    overrides: AnySetting = ()
    seeds: str | None = None
    """Seeds A..B, both included, of each fault; by default 1..3, in KRaft
    mode 1..2, and 1 of each pair."""
    pairs: bool = False
    """Then also play all pairs of faults."""
    runs: int | None = None
    """With --pairs: maximum number of runs of pairs, a random sample; by default all."""
    lasting: Lasting = None
    """With --pairs: time limit, e.g. 90s, 10m (instead of --runs)."""
    topology: str | None = None
    """A topology or a compose file as `up` takes it; by default three brokers in three AZs."""
    brokers: int | None = None
    """Number of brokers (instead of --topology)."""
    azs: int | None = None
    """Number of AZs (instead of --topology); by default three."""
    cluster: Annotated[tuple[str, ...] | None, Parameter(consume_multiple=True, negative=())] = None
    """A running cluster with its present settings (instead of --topology), by name; without a
    name the only one. The cluster is only read."""
    topic: str | None = None
    """With --cluster: the topic whose settings apply, where the topics' settings differ."""
    fault: str | None = None
    """Only this fault, by the name of its scenario: az-0-is-cut-off-load."""
    out: Path | None = None
    """Directory for the scenarios that break a promise; by default runs/advice."""
    html: Path | None = None
    """File for a page: promises against faults, and the reason, the command and the remedy of
    each broken promise."""
    sarif: Path | None = None
    """File for the findings as SARIF 2.1.0, at the lines of the settings files that end them."""
    junit: Path | None = None
    """File for a case of each promise as JUnit XML, in addition to the output."""
    markdown: Path | None = None
    """File for the findings as Markdown for a pull request, in addition to the output."""
    annotations: bool = False
    """Also print each finding to stderr as a workflow command of GitHub Actions."""
    json: bool = False
    """Print as JSON."""
    master: Master = None


@options
class PlanRollOptions:
    """Options of `faultline plan roll`."""

    kafka_version: KafkaVersion = None
    to: str | None = None
    """Version after the roll, such as 4.4; by default the same: a restart."""
    metadata: Metadata | None = None
    """Store of the cluster's metadata; by default as for `advise`."""
    controllers: Controllers | None = None
    """In KRaft: controllers in nodes of their own (separate), or brokers that are
    controllers too (combined); by default as for `advise`."""
    overrides: AnySetting = ()
    seeds: str | None = None
    """Seeds A..B, both included, of each order; by default 1..2."""
    faults: bool = True
    """Also play each fault while a node is down."""
    topology: str | None = None
    """A topology or a compose file as `up` takes it; by default three brokers in three AZs."""
    brokers: int | None = None
    """Number of brokers (instead of --topology)."""
    azs: int | None = None
    """Number of AZs (instead of --topology); by default three."""
    out: Path | None = None
    """Directory for the scenarios; by default runs/roll."""
    json: bool = False
    """Print as JSON."""
    master: Master = None


@options
class PlanTimeoutsOptions:
    """Options of `faultline plan timeouts`."""

    within: str = "30s"
    """Wanted recovery: how long a write or read may wait in a fault, e.g. 15s, 1m."""
    kafka_version: KafkaVersion = None
    metadata: Metadata | None = None
    """Store of the cluster's metadata; by default as for `advise`."""
    controllers: Controllers | None = None
    """In KRaft: controllers in nodes of their own (separate), or brokers that are
    controllers too (combined); by default as for `advise`."""
    overrides: AnySetting = ()
    seeds: str | None = None
    """Seeds A..B, both included, of each fault with the chosen time-outs; by default 1..2."""
    topology: str | None = None
    """A topology or a compose file as `up` takes it; by default three brokers in three AZs."""
    brokers: int | None = None
    """Number of brokers (instead of --topology)."""
    azs: int | None = None
    """Number of AZs (instead of --topology); by default three."""
    out: Path | None = None
    """Directory for the scenarios; by default runs/timeouts."""
    json: bool = False
    """Print as JSON."""
    master: Master = None


@options
class PlanTopologiesOptions:
    """Options of `faultline plan topologies`."""

    layouts: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative=())] = ()
    """Layouts to compare, such as two-dc three-dc; by default all."""
    kafka_version: KafkaVersion = None
    metadata: Metadata | None = None
    """Store of the cluster's metadata; by default as for `advise`."""
    overrides: AnySetting = ()
    seeds: str | None = None
    """Seeds A..B, both included, of each loss; by default 1..2."""
    json: bool = False
    """Print as JSON."""
    master: Master = None


@options
class FuzzOptions:
    """Options of `faultline fuzz`."""

    runs: int | None = None
    """Number of runs; by default 500."""
    lasting: Lasting = None
    """Time limit, e.g. 90s, 10m, 1h (instead of --runs)."""
    overrides: Setting = ()
    """`key=VALUE`: a Kafka setting with a fixed value; repeatable."""
    files: Files = ()
    """A .properties file of brokers or clients with fixed values; repeatable."""
    kafka_version: KafkaVersion = None
    metadata: Metadata | None = None
    """Store of the clusters' metadata; by default that of the settings files, else ZooKeeper up
    to Kafka 3.2 and KRaft from 3.3 on."""
    transactions: bool = False
    """Clients write in transactions, and transform records exactly once; from Kafka 0.11 on."""
    seed: int = 1
    """Seed of the random choices."""
    out: Path | None = None
    """Directory for the findings; the same command resumes there. By default runs/fuzz, begun
    anew each time."""
    json: bool = False
    """Print the findings as JSON."""
    master: Master = None
    verbose: Verbose = False
    """Name the rules and version gates that no run reached."""


@options
class UpOptions:
    """Options of `faultline up`."""

    engine: Annotated[Engine, Parameter(help="How nodes run: local processes, or containers.")] = "process"
    driver: Driver = "nodes"
    """Component that applies link faults: the nodes, or the kernel's packet filter (cut and heal
    only, speed 1, as root)."""
    name: str | None = None
    """The cluster's name; by default the topology's."""
    settings: Settings = Settings()
    metadata: Metadata | None = None
    """Store of the cluster's metadata; by default ZooKeeper up to Kafka 3.2, KRaft from 3.3 on."""
    controllers: Controllers | None = None
    """In KRaft: controllers in nodes of their own (separate, the default), or brokers that are
    controllers too (combined)."""
    initial_controllers: int | None = None
    """In KRaft from 3.9 on: number of controllers that vote at first. The voters are in the
    metadata log then, and change (KIP-853). By default all vote, for good."""
    speed: float | None = None
    """Factor of the clock; by default the topology's, else 1."""
    seed: int = 1
    """Seed of all random choices."""
    out: Path | None = None
    """The run's directory; by default runs/NAME-TIME."""
    wire: bool = False
    """Also write an event for every frame."""
    wait: float = 60.0
    """Time limit for the cluster to become ready, in seconds."""
    kafka: bool = False
    """Open a Kafka-protocol listener on each broker; print the bootstrap servers per AZ."""
    http: int | None = None
    """Port of 127.0.0.1 for the control connection and HTTP (docs/http.md); 0 for a free port.
    Prints the address."""
    page: bool = False
    """Serve the live page (docs/page.md), and print its addresses."""
    open: bool = False
    """Serve the live page, and open it in a browser."""
    story: str | None = None
    """Serve the live page with the steps of this scenario, a name or a file. The cluster has the
    scenario's version and settings."""
    json: Json = False


RUN: Final = RunOptions()
AUDIT: Final = AuditOptions()
LOG: Final = LogOptions()
IMPORT: Final = ImportOptions()
SIM: Final = SimOptions()
SWEEP: Final = SweepOptions()
ADVISE: Final = AdviseOptions()
FUZZ: Final = FuzzOptions()
PLAN_ROLL: Final = PlanRollOptions()
PLAN_TIMEOUTS: Final = PlanTimeoutsOptions()
PLAN_TOPOLOGIES: Final = PlanTopologiesOptions()
UP: Final = UpOptions()
