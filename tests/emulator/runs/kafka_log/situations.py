"""Possible events of a broker, with the versions that have them. Broker 0, partition t-0."""

from collections.abc import Iterator
from typing import Any, Final

from emulator.runs.kafka_log.rendering import Broker, Rendering, Written
from protocol import events as e
from protocol.gates import gates_for
from protocol.versions import VERSIONS, rank

T0 = ("t", 0)
FOLLOWS = e.RoleChanged(*T0, "follower", 1, 4, 3, 1, 6, 3, "")
LEADS = e.RoleChanged(*T0, "leader", 0, 4, 3, 1, 6, 3, "0,1,2", "5", "2")
ANSWER: dict[str, Any] = {"topic": "t", "partition": 0, "source": 1, "log_end": 6}
DECIDED: dict[str, Any] = {"topic": "t", "partition": 0, "isr": "1,2", "controller_epoch": 7, "zk_version": 5}
ORDER: dict[str, Any] = {"controller": 2, "correlation": 9, "leader": 1, "replicas": "1,2", "state_controller_epoch": 6}

OBSERVES = e.QuorumStateChanged("observer", 4, 1001, 30)
LEADS_QUORUM = e.QuorumStateChanged("leader", 4, 0, 30, 28, 28)

Situation = tuple[str, str, tuple[e.Event, ...]]
"""(first version, last version, events)"""


def cut(to: int, reason: str, *, log_end: int = 6) -> e.LogTruncated:
    return e.LogTruncated(*T0, to, log_end, to < log_end, 3, reason)


def answer(leader_epoch: int, offset: int, own_epoch: int, to: int, complete: bool = True) -> e.EpochAnswered:
    return e.EpochAnswered(
        **ANSWER, leader_epoch=leader_epoch, offset=offset, own_epoch=own_epoch, to=to, complete=complete
    )


def fetcher(change: str, reason: str = "") -> e.FetcherChanged:
    return e.FetcherChanged(*T0, change, 1, -1 if change == "removed" else 3, reason, 4)


def decided(reason: str, replica: int = -1) -> e.StateDecided:
    return e.StateDecided(**DECIDED, leader=1, leader_epoch=4, reason=reason, replica=replica)


def ignored(epoch: int, reason: str) -> e.LeaderAndIsrIgnored:
    return e.LeaderAndIsrIgnored(*T0, epoch, 4, 7, reason, **ORDER)


TIMER: Final = "timed out"
"""Reason of an event that a timer caused."""


def connection(purpose: str, *changes: str, reason: str = "") -> tuple[e.Event, ...]:
    return tuple(e.ConnectionChanged("broker-0.1#7", "broker-1", purpose, one, reason) for one in changes)


def ends(purpose: str) -> tuple[e.Event, ...]:
    """Refused, lost, timed out, closed."""
    return (
        *connection(purpose, "opening", "refused"), *connection(purpose, "opening", "opened", "lost"),
        *connection(purpose, "opening", "opened", "closed", reason=TIMER),
        *connection(purpose, "opening", "opened", "closed"),
    )  # fmt: skip


def session(state: str) -> e.SessionChanged:
    return e.SessionChanged(4294967313, state, "broker-0", "session-1")


SITUATIONS: dict[str, Situation] = {
    # processes, sessions, connections
    "its process starts": ("0.8.2", "4.4", (e.NodeStarted("broker", "az-0", "", ""),)),
    "it receives SIGTERM": ("0.8.2", "4.4", (e.NodeStopped(0, "stopped", "asked"),)),
    "the run is over": ("0.8.2", "4.4", (e.NodeStopped(0, "the run is over", "asked"),)),
    "its session begins": ("0.8.2", "3.9", (session("connected"),)),
    "its session's connection breaks": ("0.8.2", "3.9", (session("disconnected"),)),
    "its session expires": ("0.8.2", "3.9", (session("expired"),)),
    "a follower's connections end": ("0.8.2", "4.4", ends("fetcher")),
    "a controller's connections end": ("0.8.2", "3.9", ends("controller")),
    "connections to the quorum end": ("3.3", "4.4", ends("quorum")),
    "connections to the active controller end": ("3.3", "4.4", ends("node-to-controller")),
    "another broker's connection ends": ("0.8.2", "4.4", (e.ConnectionChanged(
        "broker-1.1#7", "broker-1", "fetcher", "lost", ""),)),
    "a fetch is not answered": ("0.8.2", "4.4", (fetcher("delayed", "no answer to a fetch"),)),
    # logs
    "a follower cuts below its high watermark": ("0.11", "2.8", (FOLLOWS, cut(2, "epoch"))),
    "a follower has nothing to cut": ("0.11", "2.8", (FOLLOWS, cut(6, "epoch"))),
    "a follower cuts to its high watermark": (
        "0.8.2", "0.10.2", (FOLLOWS, fetcher("removed"), cut(3, "high-watermark"), fetcher("added"))),
    "a follower is told to cut beyond its end": ("0.8.2", "0.10.2", (FOLLOWS, cut(9, "high-watermark"))),
    "a follower has no epochs": ("2.0.0", "2.8", (FOLLOWS, cut(3, "high-watermark"))),
    "two segments are recovered, one is damaged": (
        "0.8.2", "2.8", (e.LogLoaded(*T0, 0, 57, 50, False, "0,42", 42),)),
    "a log was closed cleanly": ("0.8.2", "2.8", (e.LogLoaded(*T0, 0, 57, 50, True),)),
    "one of its log directories fails": (
        "0.8.2", "2.8",
        (e.LogDirFailed("d0/t-0: input/output error", "d0", "d0,d1", "t-0,t-2"),)),
    "a log in one of several directories is cut": ("1.0", "1.1", (e.LogCreated(*T0, "d1"), cut(2, "epoch"))),
    "its last log directory fails": (
        "0.8.2", "2.8", (e.LogDirFailed("d1/t-1: input/output error", "d1", "d0,d1", "t-1", True),)),
    "its only log directory fails": (
        "0.8.2", "2.8", (e.LogDirFailed("t-1: input/output error", "", "", "t-1", True),)),
    "an epoch begins": ("0.11", "2.8", (e.LeaderEpochBegan(*T0, 4, 6, 3, 2, 2),)),
    # roles and ISR
    "it begins to lead": ("0.8.2", "2.8", (LEADS,)),
    "it stops following and leads": ("0.8.2", "2.8", (FOLLOWS, fetcher("added"), fetcher("removed"), LEADS)),
    "it begins to follow": ("0.8.2", "2.8", (FOLLOWS, fetcher("removed"), fetcher("added"))),
    "it follows for the first time": ("0.8.2", "2.8", (FOLLOWS, fetcher("added"))),
    "its ISR shrinks": (
        "0.8.2", "2.8", (e.IsrChangeRequested(*T0, "shrink", "0,1,2", "0", 4, 8, "session", 3, 6, "1:4 2:3"),)),
    "its ISR grows by a write": (
        "0.8.2", "2.8", (e.IsrChangeRequested(*T0, "expand", "0,1", "0,1,2", 4, 8, "session", 3, 6),)),
    "its ISR grows through the controller": (
        "2.7", "2.8", (e.IsrChangeRequested(*T0, "expand", "0,1", "0,1,2", 4, 8, "controller", 3, 6),)),
    "its ISR has changed": ("0.8.2", "2.8", (e.IsrChangeEnded(*T0, "0,1,2", "done", 9),)),
    "its state was written by another broker": (
        "0.8.2", "2.8",
        (e.IsrChangeRequested(*T0, "shrink", "0,1", "0", 4, 8, "session", 3, 6, "1:3"),
         e.IsrChangeEnded(*T0, "0", "bad-version", -1))),
    "a follower asks beyond its log": ("0.8.2", "2.8", (e.FetchOutOfRange(*T0, 1, 9, 0, 6, 31),)),
    # fetchers
    "its leader's log ends before its own": (
        "0.8.2", "2.8", (FOLLOWS, e.FetchOffsetReset(*T0, 1, 5, 6, "latest"), cut(5, "out-of-range"))),
    "its leader's log begins after its own": (
        "0.8.2", "2.8", (FOLLOWS, e.FetchOffsetReset(*T0, 1, 9, 6, "start"), cut(9, "full"))),
    "its leader's log begins within its own": (
        "0.8.2", "2.8", (FOLLOWS, e.FetchOffsetReset(*T0, 1, 0, 6, "start"))),
    "its leader's log ends before its own, and it must not cut": (
        "0.8.2", "2.0.0", (FOLLOWS, e.FetchOffsetReset(*T0, 1, 5, 6, "not-allowed"))),
    "its leader does not know its epoch": ("0.11", "2.8", (answer(-1, -1, -1, 3),)),
    "its leader's answer has no epoch": ("0.11", "2.8", (answer(-1, 4, -1, 4),)),
    "its leader's answer is not before its end": ("0.11", "1.1", (answer(-1, 8, -1, 6),)),
    "its leader's epoch is older than all of its own": ("2.0.0", "2.8", (answer(0, 4, -1, 4),)),
    "its leader's epoch is not among its own": ("2.0.0", "2.8", (answer(2, 5, 1, 4, False),)),
    "its leader's epoch is its own": ("2.0.0", "2.8", (answer(3, 4, 3, 4),)),
    "it is fenced": ("2.1", "2.8", (fetcher("failed", "FENCED_LEADER_EPOCH"),)),
    "it cannot append": ("0.8.2", "2.8", (fetcher("failed", "fetch offset 3 is not the log end 6"),)),
    "a fetch is delayed": ("0.8.2", "2.8", (fetcher("delayed", "NOT_LEADER_OR_FOLLOWER"),)),
    # controller
    "it is elected": ("0.8.2", "2.8", (e.ControllerChanged(True, 7, "elected", 6),)),
    "it resigns": ("0.8.2", "2.8", (e.ControllerChanged(False, 7, "the session expired"),)),
    "brokers come and go": (
        "0.8.2", "2.8",
        (e.BrokersSeen("1,2", "3", "", "0,1,2"), e.BrokersHandled("startup", "1,2"),
         e.BrokersHandled("failure", "3"))),
    "a broker loses a log directory": (
        "1.0", "2.8", (e.BrokersHandled("log-dir-failure", "1"), e.ReplicasMarkedOffline(1, "t-0,t-2", 7))),
    "a partition is created": ("0.8.2", "2.8", (decided("created"),)),
    "a leader is elected": ("0.8.2", "2.8", (decided("offline-election"),)),
    "a leader is elected outside the ISR": ("0.8.2", "2.8", (decided("unclean-election"),)),
    "the preferred leader is elected": ("0.8.2", "2.8", (decided("preferred-election"),)),
    "a leader hands over before it stops": ("0.8.2", "2.8", (decided("controlled-shutdown"),)),
    "a reassignment elects": ("0.8.2", "2.8", (decided("reassign-election"),)),
    "a dead replica leaves the ISR": ("0.8.2", "2.8", (decided("offline-replica", 3),)),
    "an ISR is changed through it": ("2.7", "2.8", (decided("isr-change"),)),
    # orders
    "an order of an older epoch": ("0.8.2", "2.8", (ignored(3, "leader epoch not newer"),)),
    "an order of the same epoch": ("0.8.2", "2.8", (ignored(4, "leader epoch not newer"),)),
    "an order for others": ("0.8.2", "2.8", (ignored(5, "not a replica"),)),
    "an order for an offline replica": ("1.0", "2.8", (ignored(5, "in an offline log directory"),)),
    "an order to follow the dead": ("0.8.2", "2.8", (ignored(5, "leader not alive"),)),
    "an order of an older controller": (
        "0.8.2", "2.8", (e.LeaderAndIsrIgnored("", -1, -1, 8, 7, "controller epoch not newer", 2, 9),)),
    # 3.x and 4.x
    "from 3.0 on it begins to lead": ("3.0", "4.4", (LEADS,)),
    "from 3.0 on it begins to follow": ("3.0", "4.4", (FOLLOWS, fetcher("removed"), fetcher("added"))),
    "from 3.0 on a follower has no epochs": ("3.0", "4.4", (FOLLOWS, cut(3, "high-watermark"))),
    "from 3.0 on two segments are recovered": ("3.0", "4.4", (e.LogLoaded(*T0, 0, 57, 50, False, "0,42", 42),)),
    "from 3.0 on its ISR has changed": ("3.0", "4.4", (e.IsrChangeEnded(*T0, "0", "done", 9, 1, 5, 2),)),
    "from 3.0 on a partition is created": ("3.0", "3.9", (decided("created"),)),
    "from 3.0 on a leader is elected outside the ISR": ("3.0", "3.9", (decided("unclean-election"),)),
    "from 3.0 on a dead replica leaves the ISR": ("3.0", "3.9", (decided("offline-replica", 3),)),
    # KRaft
    "in KRaft an ISR alone changes": ("3.3", "4.4", (OBSERVES, e.RoleChanged(*T0, "leader", 0, 4, 4, 1, 6, 3, "0,1"))),
    "in KRaft it begins to follow": ("3.3", "4.4", (OBSERVES, fetcher("added"))),
    "the quorum has another leader": ("3.3", "4.4", (e.QuorumStateChanged("follower", 4, 1001, 30),)),
    "it becomes the active controller": (
        "3.3", "4.4", (LEADS_QUORUM, e.ControllerChanged(True, 4, "leads-quorum"))),
    "the active controller renounces": (
        "3.3", "4.4",
        (LEADS_QUORUM, e.ControllerChanged(False, 4, "resigned"),
         e.QuorumStateChanged("unattached", 5, -1, 30, -1, 28))),
    "a broker is fenced, unfenced, and stops": (
        "3.3", "4.4",
        tuple(e.BrokerRegistrationCommitted(2, change, 20, 31, 4)
              for change in ("registered", "fenced", "unfenced", "in-controlled-shutdown"))),
    "a broker of KRaft starts": (
        "3.3", "4.4",
        tuple(e.BrokerLifecycleChanged(state, epoch)
              for state, epoch in (("starting", -1), ("starting", 20), ("recovery", 20), ("running", 20)))),
}  # fmt: skip


def lines_of(version: str, events: tuple[e.Event, ...], ibp: str | None = None) -> list[str]:
    """Without the clock."""
    rendering = Rendering(Broker(0, gates_for(version, ibp), "data/broker-0", "broker-0"))
    causes = ("timer:limit" if getattr(event, "reason", "") == TIMER else "broker-2.1#3/5" for event in events)
    written = [Written(event, 0.0, (1, cause)) for event, cause in zip(events, causes, strict=True)]
    return [str(line).partition("] ")[2] for line in rendering.lines(written)]


def as_text(situation: Situation) -> Iterator[str]:
    """`VERSION  LINE`, where the lines change from one version to the next; `-`: none."""
    first, last, events = situation
    before: list[str] | None = None
    for version in VERSIONS[rank(first) : rank(last) + 1]:
        lines = lines_of(version, events)
        if lines != before:
            yield from (f"{version:7} {line}" for line in lines or ["-"])
        before = lines
