"""Commands for a long-running cluster: up, down, status, and faults on links.

`emulator.cli.commands` implements them. Every command takes `--cluster NAME` where several clusters run. Without
`--wait` it returns within 2 s.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from cyclopts import App, Group, Parameter

from emulator.cli.cluster_options import DEFAULTS, ClusterOptions, Json
from emulator.cli.play_options import OF_KAFKA, Settings
from emulator.faults.link_fault_kinds import LINK_FAULTS, Cut, LinkFault
from emulator.runs.deployment_options import Driver, Engine
from protocol.link_rules import LinkFaultKind

Words = Annotated[str, Parameter(allow_leading_hyphen=True)]

LIVE = Group.create_ordered("Long-running clusters")
app = App(name="live")


def add_to(main: App) -> None:
    """Mount every command of this module beside those of `main`."""
    for name in _COMMANDS:
        app[name].group = LIVE
        main.command(app[name], name=name)


# --- the cluster ----------------------------------------------------------------------------------------------------


@app.command
def up(
    topology: str = "three-az",
    /,
    *,
    engine: Engine = "process",
    driver: Driver = "nodes",
    name: str | None = None,
    settings: Settings = OF_KAFKA,
    speed: float | None = None,
    seed: int = 1,
    out: Path | None = None,
    wire: bool = False,
    wait: float = 60.0,
    kafka: bool = False,
    http: int | None = None,
    json: Json = False,
) -> int:
    """Start a cluster that runs until `down`.

    Parameters
    ----------
    topology
        A topology's name, such as three-az, or a compose file.
    engine
        How nodes run: local processes, or containers.
    driver
        Component that applies link faults: the nodes, or the kernel's packet filter (cut and heal only, speed 1, as
        root).
    name
        The cluster's name; by default the topology's.
    speed
        Factor of the clock; by default the topology's, else 1.
    seed
        Seed of all random choices.
    out
        The run's directory; by default runs/NAME-TIME.
    wire
        Also write an event for every frame.
    wait
        Time limit for the cluster to become ready, in seconds.
    kafka
        Open a Kafka-protocol listener on each broker; print the bootstrap servers per AZ.
    http
        Port of 127.0.0.1 for the control connection and HTTP (docs/http.md); 0 for a free port. Prints the address.
    """
    from emulator.cli.commands.live_up import UpOptions, up_command

    return up_command(
        UpOptions(
            topology, engine, driver, name, settings.kafka_version, settings.overrides, settings.files, speed, seed,
            out, wire, wait, json, kafka, http,
        )
    )  # fmt: skip


@app.command
def attach(topology: str = "three-az", /, *, project: str | None = None, json: Json = False) -> int:
    """Register a cluster that `docker compose up` started, for the other commands.

    Parameters
    ----------
    topology
        The topology of the containers: a topology's name, or a compose file.
    project
        The compose project's name; by default the compose tool's default.
    """
    from emulator.cli.commands.live_attach import attach_command

    return attach_command(topology, project, json)


@app.command
def down(
    *, all_: Annotated[bool, Parameter(name="--all", negative=())] = False, options: ClusterOptions = DEFAULTS
) -> int:
    """Stop a cluster, and clean up after killed ones.

    Parameters
    ----------
    all_
        Stop every cluster below runs/.
    """
    from emulator.cli.commands.live_down import down_command

    return down_command(options.cluster, all_, options.json)


@app.command
def status(*, watch: bool = False, options: ClusterOptions = DEFAULTS) -> int:
    """Show each node's own view: leaders, controllers and log ends; and the faults in force.

    Parameters
    ----------
    watch
        Refresh every half second until Ctrl-C or q; keys cut, heal, kill, pause, resume, start and filter.
    """
    from emulator.cli.commands.live_status import live_status_command

    return live_status_command(options.cluster, watch, options.json)


# --- faults on links ------------------------------------------------------------------------------------------------


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Part:
    """The connections and frames that a link fault affects; by default all."""

    only: Annotated[
        list[str] | None,
        Parameter(
            negative=(),
            help="Only frames of these APIs, such as Fetch,Produce, or connections of these purposes, such as fetcher.",
        ),
    ] = None
    client_id: Annotated[str | None, Parameter(help="Only connections of Kafka clients with this client.id.")] = None


ALL: Final = Part()
PLACES: Final = "az-0, leader:TOPIC-N, active-controller, A B, A '->' B (one way), or opened_by A to B."


def _link_command(fault: type[LinkFault]) -> Callable[..., int]:
    def command(*places: Words, part: Part = ALL, options: ClusterOptions = DEFAULTS) -> int:
        from emulator.cli.commands.live_faults import link_fault_command

        return link_fault_command(options.call(fault.VERB), places, part.only or (), part.client_id)

    same = f"Same as for cut{f', then {fault.HELP_AMOUNTS}' if fault.HELP_AMOUNTS else ''}."
    command.__doc__ = f"""{fault.HELP}

    Parameters
    ----------
    places
        {PLACES if fault is Cut else same}
    """
    return command


for _verb, _fault in LINK_FAULTS.items():
    app.command(_link_command(_fault), name=_verb)


@app.command
def heal(*places: Words, kind: LinkFaultKind | None = None, options: ClusterOptions = DEFAULTS) -> int:
    """End the link faults that name all of these places; without places, every link fault.

    Frames that `hold` has queued go on.

    Parameters
    ----------
    places
        A place (az-0), two places (A B), or a rule (rule-2).
    kind
        Heal only faults of this kind; others on the same links stay.
    """
    from emulator.cli.commands.live_faults import heal_command

    return heal_command(options.call("heal"), places, kind or "")


_COMMANDS = ("up", "attach", "down", "status", *LINK_FAULTS, "heal")
