"""Watches of the active controller.

Watches are one-shot: each event's handler sets its own again by reading.
"""

from controller.controller_context import ControllerContext
from controller.session_calls import Procedure, perform, perform_all
from protocol.messages.session_messages import Exists, GetChildren
from protocol.znodes import PREFERRED_REPLICA_ELECTION, REASSIGN_PARTITIONS


def read_children(path: str) -> Procedure[list[str]]:
    """Sorted names of children, none if the path is absent; keeps watching."""
    found = yield from perform(GetChildren(path, watch=True))
    return sorted(found.children)


def watch_admin_znodes(context: ControllerContext) -> Procedure[None]:
    """Watch the znodes that an operator may create; Kafka sets the watch by an exists request."""
    yield from perform_all([Exists(PREFERRED_REPLICA_ELECTION, watch=True), Exists(REASSIGN_PARTITIONS, watch=True)])
