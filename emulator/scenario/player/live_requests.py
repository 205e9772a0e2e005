"""What a live player is asked to do, and how it answers.

    Command(7, (Produce(...),))  -->  ...  -->  CommandEnded(7, ({"saw": "attempt", ...},), "")
    Errand(8, "client-0", StartWorkloadRequest(...))  -->  ErrandEnded(8, StartWorkloadResponse(...), "")
"""

import msgspec

from emulator.scenario import model as m
from emulator.scenario.player.timeline import Entry
from protocol.messages.base import Message

Live = (
    m.Produce | m.Fetch | m.AskMetadata | m.ListOffsets | m.CreateTopic | m.DeleteTopic | m.AlterTopic
    | m.AlterBroker | m.AddPartitions | m.Reassign
    | m.ElectPreferred | m.ElectController | m.Wait | m.Pause | m.Consume | m.Commit | m.LookCommitted
)  # fmt: skip
"""What may be asked of a live player. Faults are done to the cluster directly."""


class Command(msgspec.Struct, frozen=True, tag="live-command"):
    """Input: do these steps, one after the other; CommandEnded(number) follows. Partitions are named."""

    number: int
    steps: tuple[Live, ...]


class CommandEnded(msgspec.Struct, frozen=True, tag="live-command-ended"):
    """Effect: what was noted, as in a run's timeline; `error`: "" or what could not be done."""

    number: int
    entries: tuple[Entry, ...]
    error: str = ""


class Errand(msgspec.Struct, frozen=True, tag="live-errand"):
    """Input: ask the process of `client`; ErrandEnded(number) follows."""

    number: int
    client: str
    request: Message


class ErrandEnded(msgspec.Struct, frozen=True, tag="live-errand-ended"):
    """Effect: the answer of the client, or `error`, why there is none."""

    number: int
    answer: Message | None
    error: str = ""


class WatchNode(msgspec.Struct, frozen=True, tag="live-watch"):
    """Input: the node runs from now on, or (`on` false) is dead: observe it, or knock no more at its door."""

    node: str
    on: bool


LiveInput = Command | Errand | WatchNode
