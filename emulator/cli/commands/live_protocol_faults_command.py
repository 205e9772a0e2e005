"""`faultline protocol-fault add|list|remove`: faults of the brokers' Kafka listeners."""

from typing import Any

from rich.console import Console

from emulator.cli.cluster_options import WAIT, WaitOptions
from emulator.cli.commands.command_errors import CommandFailed, reports_errors
from emulator.cli.commands.control_calls import ask_cluster
from emulator.cli.play_options import Listed
from emulator.cluster.control_requests import AddProtocolFault, ProtocolFaultStatus, RemoveProtocolFault
from emulator.exit_codes import HELD, UNKNOWN
from protocol.protocol_faults import ProtocolFaultAction


@reports_errors("protocol-fault add")
def add_command(
    action: ProtocolFaultAction,
    /,
    *apis: str,
    error: str = "",
    delay_ms: float = 0.0,
    client_id: Listed = (),
    node: Listed = (),
    times: int = 1,
    skip: int = 0,
    options: WaitOptions = WAIT,
) -> int:
    """Put a protocol fault in force.

    Parameters
    ----------
    action
        error: answer with --error. delay: hold the request. drop-response: apply it, answer nothing.
        close, close-after: close the connection before or after it is applied.
    apis
        Kafka's names of the requests: Fetch Produce.
    error
        Name or number of the error code, e.g. NOT_LEADER_OR_FOLLOWER.
    delay_ms
        Time to hold each request, in milliseconds.
    client_id
        Only requests of Kafka clients with this client.id; repeatable.
    node
        Only at this broker, or leader:TOPIC-N; repeatable.
    times
        Number of requests to hit at each broker; 0 for all.
    skip
        Number of requests that pass first.
    """
    if not apis:
        raise CommandFailed("no API given; name one or several, such as Fetch")
    ask = AddProtocolFault(action, list(apis), list(client_id), list(node), error, delay_ms, times, skip)
    return ask_cluster(options, ask, _show_applied)


@reports_errors("protocol-fault list")
def list_command(fault: str = "", /, *, wait_hits: int = 0, options: WaitOptions = WAIT) -> int:
    """List protocol faults in force and their hits.

    Parameters
    ----------
    fault
        Only this one, such as rule-1.
    wait_hits
        Wait, as long as --wait, until so many requests were hit. Exit code 3 if they were not.
    """
    return ask_cluster(options, ProtocolFaultStatus(fault, wait_hits), _show_list, _reached)


@reports_errors("protocol-fault remove")
def remove_command(fault: str = "", /, *, options: WaitOptions = WAIT) -> int:
    """Remove protocol faults.

    Parameters
    ----------
    fault
        Only this one, such as rule-1; by default all.
    """
    return ask_cluster(options, RemoveProtocolFault(fault), _show_removed)


def _reached(result: dict[str, Any]) -> int:
    return HELD if result["reached"] else UNKNOWN


def _show_applied(out: Console, result: dict[str, Any]) -> None:
    for fault in result["applied"]:
        out.print(f"{fault['id']}: {fault['rule']}", markup=False)


def _show_list(out: Console, result: dict[str, Any]) -> None:
    for fault in result["protocol_faults"]:
        where = ", ".join(f"{node} {count}" for node, count in fault["hits_by_node"].items())
        hits = f"{fault['hits']} requests hit" + (f" ({where})" if where else "")
        out.print(f"{fault['id']}: {fault['rule']}: {hits}", markup=False)
    if not result["protocol_faults"]:
        out.print("no protocol fault is in force")


def _show_removed(out: Console, result: dict[str, Any]) -> None:
    for fault in result["healed"]:
        out.print(f"{fault['id']} removed: {fault['rule']}, {fault['frames_stopped']} requests hit", markup=False)
    if not result["healed"]:
        out.print("no protocol fault was in force")
