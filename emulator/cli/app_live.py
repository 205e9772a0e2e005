"""Commands for a long-running cluster: up, down, status, and faults on links.

`emulator.cli.commands` implements them. Every command takes `--cluster NAME` where several clusters run. Without
`--wait` it returns within 2 s.
"""

from collections.abc import Callable
from typing import Annotated, Final

from cyclopts import App, Group, Parameter

from emulator.cli.cluster_options import ALL, CLUSTER, ClusterOptions, Json, LinkPart
from emulator.cli.command_options import UP, UpOptions
from emulator.cli.play_options import Flag
from emulator.faults.link_fault_kinds import LINK_FAULTS, Cut, LinkFault
from protocol.link_rules import LinkFaultKind

Words = Annotated[str, Parameter(allow_leading_hyphen=True)]

LIVE = Group.create_ordered("Long-running clusters")
app = App(name="live")


# --- the cluster ----------------------------------------------------------------------------------------------------


@app.command(group=LIVE)
def up(topology: str = "three-az", /, *, options: UpOptions = UP) -> int:
    """Start a cluster that runs until `down`.

    Parameters
    ----------
    topology
        A topology's name, such as three-az, or a compose file.
    """
    from emulator.cli.commands.live_up import up_command

    return up_command(options, topology)


@app.command(group=LIVE)
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


@app.command(group=LIVE)
def down(*, all_: Annotated[Flag, Parameter(name="--all")] = False, options: ClusterOptions = CLUSTER) -> int:
    """Stop a cluster, and clean up after killed ones.

    Parameters
    ----------
    all_
        Stop every cluster below runs/.
    """
    from emulator.cli.commands.live_down import down_command

    return down_command(options, all_)


@app.command(group=LIVE)
def status(*, watch: bool = False, options: ClusterOptions = CLUSTER) -> int:
    """Show each node's own view: leaders, controllers and log ends; and the faults in force.

    Parameters
    ----------
    watch
        Refresh every half second until Ctrl-C or q; keys cut, heal, kill, pause, resume, start and filter.
    """
    from emulator.cli.commands.live_status import live_status_command

    return live_status_command(options, watch)


# --- faults on links ------------------------------------------------------------------------------------------------


PLACES: Final = "az-0, leader:TOPIC-N, active-controller, A B, A '->' B (one way), or opened_by A to B."


def _link_command(fault: type[LinkFault]) -> Callable[..., int]:
    def command(*places: Words, part: LinkPart = ALL, options: ClusterOptions = CLUSTER) -> int:
        from emulator.cli.commands.live_faults import link_fault_command

        return link_fault_command(fault.VERB, options, places, part)

    same = f"Same as for cut{f', then {fault.HELP_AMOUNTS}' if fault.HELP_AMOUNTS else ''}."
    command.__doc__ = f"""{fault.HELP}

    Parameters
    ----------
    places
        {PLACES if fault is Cut else same}
    """
    return command


for _verb, _fault in LINK_FAULTS.items():
    app.command(_link_command(_fault), name=_verb, group=LIVE)


@app.command(group=LIVE)
def heal(*places: Words, kind: LinkFaultKind | None = None, options: ClusterOptions = CLUSTER) -> int:
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

    return heal_command(options, places, kind or "")
