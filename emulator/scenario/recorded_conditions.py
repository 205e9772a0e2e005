"""Meaning of each `until` text of the recordings.

The recordings name their waits in a few words. Their meaning follows from the scenario and from what the
session service held when they were reached; every text that occurs is in the table below, with its reason.
A is broker-0, B is broker-1; 152 and 153 play these two parts in the incident.
"""

import re
from collections.abc import Callable

import msgspec

from emulator.scenario.conditions import (
    AllOf,
    Condition,
    Controller,
    HasController,
    HasLeader,
    InIsr,
    Isr,
    IsrRestored,
    IsrShrunk,
    KnowsLeader,
    LastStableOffset,
    Leader,
    LeadsInView,
    NewController,
    NewLeader,
    Not,
    PreferredLeader,
    Registered,
    SessionServiceAnswers,
    SessionsExpired,
    Unfenced,
)
from emulator.scenario.document import nearest
from emulator.scenario.observations.recording_parsing import Malformed
from protocol.ids import NO_LEADER, BrokerId

A, B = 0, 1
TRANSACTION_LOG = "__transaction_state-0"
COORDINATORS = {"txn-coordinator": TRANSACTION_LOG, "txn-offsets": "__consumer_offsets-0"}
"""{part of a scenario's name: partition of the coordinator that it is about}"""
LOG_BELOW_MIN_ISR = "txn-log-below-min-isr"
STABLE_OFFSET = re.compile(r"last stable offset of (\S+) >= (\d+)")


class Context(msgspec.Struct, frozen=True):
    """`dead`: brokers killed and not started again before the wait.

    `faulted`: id of the controller in the AZ of KRaft's last fault, or of the stopped controller; None: ZooKeeper's.
    `scenario`: the recording's.
    """

    dead: frozenset[int]
    faulted: BrokerId | None = None
    scenario: str = ""


class UnknownText(Malformed):
    """A wait of a recording that is not in the table."""


def _new_controller(context: Context) -> Condition:
    if context.faulted is None:
        return NewController()
    return AllOf((HasController(), Not(Controller(context.faulted))))


def _new_leader(context: Context) -> Condition:
    """A new leader of the partition that the script is about.

    It is a coordinator's, where the script killed or isolated that.
    """
    for part, partition in COORDINATORS.items():
        if part in context.scenario:
            return NewLeader(partition)
    return NewLeader()


def _isr_back(context: Context) -> Condition:
    """The first started broker is in the ISR of a transactions topic below its minimum."""
    if LOG_BELOW_MIN_ISR in context.scenario:
        return InIsr(A, TRANSACTION_LOG)
    return IsrRestored()


def _only(broker: int) -> frozenset[int]:
    return frozenset({broker})


MEANING: dict[str, Condition | Callable[[Context], Condition]] = {
    # Relative to the last cut or kill. It is sometimes waited for after it happened (acks-all: 12 s of
    # retries come first), so not relative to the wait. "Neither broker-0 nor none" is the same: broker-0
    # led at the cut, and both at once pass through "no leader" (new controller, epoch +2).
    "new leader": _new_leader,
    "new leader (neither broker-0 nor none)": NewLeader(),
    "new leader in zk": NewLeader(),  # the session service's data: broker-1 does not know it yet
    # The controller's epoch grew. In kip101-case1 the old one is dead before; its znode outlives it by 30 s.
    # KRaft's script looked for a leader other than the controller that it had cut off or stopped, which in
    # az-isolated-controller-combined did not lead.
    "new controller": _new_controller,
    # Some replica has left. Not relative: az-isolated-controller waits for it after the new controller,
    # when it may have happened already.
    "isr shrunk": IsrShrunk(),
    # All replicas of the assignment are in again.
    "isr restored": IsrRestored(),
    "isr": IsrRestored(),
    "isr back": _isr_back,
    # After a requested election: the first of the assignment.
    "preferred leader": PreferredLeader(),
    # One member left, whichever led: with min.insync.replicas 2 or before the last one dies.
    "isr=[0]": Isr(_only(A)),
    "isr A": Isr(_only(A)),
    # 153 leads alone after 152's disk filled up.
    "153 alone": AllOf((Leader(B), Isr(_only(B)))),
    # No in-sync replica is alive: leader -1, whatever the version leaves in the ISR (0.10.2: nothing; 2.8: the
    # last).
    "leader=-1": Leader(NO_LEADER),
    "none": Leader(NO_LEADER),
    # By the session service's state.
    "A leads": Leader(A),
    "B leads": Leader(B),
    "152 leads": Leader(A),
    "153 leads": Leader(B),
    "follower elected": Leader(B),  # power-loss-before-sync: the follower returns first
    "A in isr": InIsr(A),
    "B in isr": InIsr(B),
    # The ephemeral registration is gone. kip101-case1: A has died, and has to be back before the
    # controller's session ends.
    "A session expired": SessionsExpired(_only(A)),
    "A registered again": Registered(_only(A)),
    # A read of the partition's state by a client of the session service succeeds again.
    "session service answers": SessionServiceAnswers(),
    # By broker-0's own metadata: it names the leader that was elected meanwhile.
    "b0 knows": KnowsLeader(A),
    "0 leads": Leader(A),
    "1 leads": Leader(B),
    "2 leads": Leader(2),
    "isr without 0": Not(InIsr(A)),
    "isr without 1": Not(InIsr(B)),
    "isr without 2": Not(InIsr(2)),
    # KRaft. A broker answers, and counts itself among the live ones.
    **{f"broker {broker} unfenced": Unfenced(broker) for broker in range(3)},
    # Some controller answers as the quorum's leader.
    "active controller": HasController(),
    "a leader": HasLeader(),
    "moved": NewLeader(),
    # Of all killed brokers: all three.
    "sessions expired": lambda context: SessionsExpired(context.dead),
    "all sessions expired": lambda context: SessionsExpired(context.dead),
    # "In the session service's data unless it says otherwise": these two say otherwise. The broker has
    # been told by the controller that it leads; LeaderAndIsr reaches it before the metadata that says so.
    "A serves": LeadsInView(A, of=A),
    "b1 learns leader": LeadsInView(B, of=B),
}


def meaning(text: str, context: Context) -> Condition:
    """Raises UnknownText."""
    stable = STABLE_OFFSET.fullmatch(text)
    if stable is not None:
        return LastStableOffset(int(stable[2]), f"{stable[1]}-0")
    found = MEANING.get(text)
    if found is None:
        raise UnknownText(f"until {text!r}: not a wait of the recordings{nearest(text, MEANING)}")
    return found(context) if callable(found) else found
