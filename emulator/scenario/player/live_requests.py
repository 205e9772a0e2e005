"""Requests to a live player, and their results.

    Command(7, (Produce(...),))  -->  ...  -->  CommandEnded(7, ({"saw": "attempt", ...},), "")
    Errand(8, "client-0", StartWorkloadRequest(...))  -->  ErrandEnded(8, StartWorkloadResponse(...), "")
"""

import msgspec

from emulator.scenario import scenario_model as m
from emulator.scenario.player.timeline import Entry
from protocol.messages.message_base import Message

Live = (
    m.Produce | m.Fetch | m.AskMetadata | m.ListOffsets | m.CreateTopic | m.DeleteTopic | m.AlterTopic
    | m.AlterBroker | m.AddPartitions | m.Reassign | m.AddController | m.RemoveController
    | m.ElectPreferred | m.ElectController | m.Wait | m.Sleep | m.Consume | m.Commit | m.LookCommitted
)  # fmt: skip
"""Steps that a live player accepts. Faults are applied to the cluster directly."""


class Command(msgspec.Struct, frozen=True, tag="live-command"):
    """Input: do these steps in order; CommandEnded(number) follows.

    Partitions are named.
    """

    number: int
    steps: tuple[Live, ...]


class CommandEnded(msgspec.Struct, frozen=True, tag="live-command-ended"):
    """Effect: the entries, as in a run's timeline; `error`: "" or the reason for a failure."""

    number: int
    entries: tuple[Entry, ...]
    error: str = ""


class Errand(msgspec.Struct, frozen=True, tag="live-errand"):
    """Input: ask the process of `client`; ErrandEnded(number) follows."""

    number: int
    client: str
    request: Message


class ErrandEnded(msgspec.Struct, frozen=True, tag="live-errand-ended"):
    """Effect: the client's response, or `error`, the reason for its absence."""

    number: int
    answer: Message | None
    error: str = ""


class WatchNode(msgspec.Struct, frozen=True, tag="live-watch"):
    """Input: observe the node from now on, or (`on` false) stop, since it is dead."""

    node: str
    on: bool


LiveInput = Command | Errand | WatchNode
