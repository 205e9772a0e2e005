"""Commands for a long-running cluster: up, down, status, page, and faults on links.

`emulator.cli.commands` implements them. Every command takes `--cluster NAME` where several clusters run. Without
`--wait` it returns within 2 s.
"""

from collections.abc import Callable
from typing import Final

from cyclopts import Group

from emulator.cli.cluster_options import ALL, CLUSTER, ClusterOptions, LinkPart, Words
from emulator.cli.root_app import app
from emulator.faults.link_fault_kinds import LINK_FAULTS, Cut, LinkFault

LIVE = Group.create_ordered("Long-running clusters")


app.command(
    "emulator.cli.commands.live_up:up_command", name="up", help="Start a cluster that runs until `down`.", group=LIVE
)
app.command(
    "emulator.cli.commands.live_attach:attach_command",
    name="attach",
    help="Register a cluster that `docker compose up` started, for the other commands.",
    group=LIVE,
)
app.command(
    "emulator.cli.commands.live_down:down_command",
    name="down",
    help="Stop a cluster, and clean up after killed ones.",
    group=LIVE,
)
app.command(
    "emulator.cli.commands.live_status:live_status_command",
    name="status",
    help="Show each node's own view: leaders, controllers and log ends; and the faults in force.",
    group=LIVE,
)
app.command(
    "emulator.cli.commands.live_page:page_command",
    name="page",
    help="Print the addresses of the cluster's live page, or open it.",
    group=LIVE,
)


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


app.command(
    "emulator.cli.commands.live_faults:heal_command",
    name="heal",
    help="""End the link faults that name all of these places; without places, every link fault.

    Frames that `hold` has queued go on.""",
    group=LIVE,
)
