"""Rendering of events as log lines (semantics 9).

Events come typed, in the order of one broker's incarnations; lines go out in that order. Kafka's line may list the
partitions of a whole request; here is one line for each partition.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from emulator.runs.kafka_log.controller_texts import CONTROLLER, STATE_CHANGE
from emulator.runs.kafka_log.fetcher_texts import FETCHER
from emulator.runs.kafka_log.log_dir_texts import LOG_DIRS
from emulator.runs.kafka_log.log_texts import LOG, PARTITION
from emulator.runs.kafka_log.pattern import LogLine, Pattern, written
from emulator.runs.kafka_log.process_rendering import ProcessRendering
from emulator.runs.kafka_log.process_texts import CONNECTIONS, PROCESSES
from emulator.runs.kafka_log.quorum_texts import QUORUM
from emulator.topology import broker_name
from protocol import events as e
from protocol.gates import Gates
from protocol.ids import NO_LEADER, TopicPartition, topic_partition_text
from protocol.kinds import CutReason, IgnoredReason

PATTERNS: dict[str, Pattern] = {
    **PROCESSES, **CONNECTIONS, **LOG, **PARTITION, **FETCHER, **CONTROLLER, **STATE_CHANGE, **LOG_DIRS, **QUORUM,
}  # fmt: skip

POSITIONS = {
    "created": "NewPartition",
    "offline-election": "OfflinePartition",
    "unclean-election": "OfflinePartition",
    "preferred-election": "OnlinePartition",
    "controlled-shutdown": "OnlinePartition",
    "reassign-election": "OnlinePartition",
}
"""Previous state of a partition, by the reason of its new state.

Other reasons move none to online.
"""

NO_ANSWER = "no answer to a fetch"
"""Reason of a delayed fetch: the connection was lost, or the response did not come in time."""
Step = tuple[int, str]
"""(incarnation, cause): events of one input have it in common."""


class Written(msgspec.Struct, frozen=True):
    """An event with the fields of its envelope that a line needs."""

    event: e.Event
    wall_ms: float
    step: Step


class Broker(msgspec.Struct, frozen=True):
    """The broker of the lines: broker.id, its gates, its log directory's name, its node's name.

    Several log directories are folders of it.
    """

    number: int
    gates: Gates
    log_directory: str
    node: str = ""

    def path(self, directory: str) -> str:
        return f"{self.log_directory}/{directory}" if directory else self.log_directory


class Rendering(ProcessRendering):
    """Renders the events of one broker.

    Per partition it keeps facts that Kafka's lines have and single events do not: the leader that the broker follows,
    the zkVersion of its last ISR change, and whether its fetcher was removed in the same step.
    """

    def __init__(self, broker: Broker) -> None:
        super().__init__()
        self._broker = broker
        self._leader: dict[TopicPartition, int] = {}
        self._zk_version: dict[TopicPartition, int] = {}
        self._removed: dict[TopicPartition, Step] = {}
        self._directory: dict[TopicPartition, str] = {}
        self._quorum: e.QuorumStateChanged | None = None
        self._renounced: e.ControllerChanged | None = None
        self._registered = False
        self._at = 0.0
        self._step: Step = (0, "")
        self._lines: list[LogLine] = []
        self._by_event: dict[type[e.Event], Callable[[Any], None]] = {
            e.NodeStarted: self._node_started,
            e.NodeStopped: self._node_stopped,
            e.SessionChanged: self._session_changed,
            e.ConnectionChanged: lambda event: self._connection_changed(event, self._broker.node, self._step[1]),
            e.LogLoaded: self._log_loaded,
            e.LogCreated: self._log_created,
            e.LogDirFailed: self._log_dir_failed,
            e.LogTruncated: self._log_truncated,
            e.LeaderEpochBegan: lambda event: self._add("epoch-cached", event),
            e.RoleChanged: self._role_changed,
            e.IsrChangeRequested: self._isr_change_requested,
            e.IsrChangeEnded: self._isr_change_ended,
            e.FetcherChanged: self._fetcher_changed,
            e.EpochAnswered: self._epoch_answered,
            e.FetchOffsetReset: self._fetch_offset_reset,
            e.FetchOutOfRange: lambda event: self._add("fetch-out-of-range", event),
            e.LeaderAndIsrIgnored: self._order_ignored,
            e.ControllerChanged: self._controller_changed,
            e.BrokersSeen: lambda event: self._add("brokers-seen", event),
            e.BrokersHandled: lambda event: self._add(f"broker-{event.change}", event),
            e.StateDecided: self._state_decided,
            e.QuorumStateChanged: self._quorum_changed,
            e.BrokerRegistrationCommitted: self._registration_changed,
            e.BrokerLifecycleChanged: self._lifecycle_changed,
            e.ReplicasMarkedOffline: lambda event: self._add("replicas-marked-offline", event),
        }

    @property
    def rendered(self) -> tuple[str, ...]:
        """Names of the events that become lines, without those of level wire."""
        return tuple(kind.NAME for kind in self._by_event if kind is not e.ConnectionChanged)

    def begin_life(self, broker: Broker) -> None:
        """A new incarnation, perhaps with another version."""
        self._broker = broker
        self._quorum, self._renounced, self._registered = None, None, False

    def lines(self, events: Iterable[Written]) -> Iterator[LogLine]:
        """The lines of these events, in their order."""
        for one in events:
            render = self._by_event.get(type(one.event))
            if render is None:
                continue
            self._at, self._step = one.wall_ms, one.step
            render(one.event)
            yield from self._lines
            self._lines.clear()

    def _add(self, name: str, event: e.Event, **more: Any) -> None:
        """Add the line of this name, if the version writes it."""
        fields = msgspec.structs.asdict(event)
        fields |= {"broker": self._broker.number}
        if "topic" in fields:
            topic_partition = (fields["topic"], fields["partition"])
            fields["dir"] = self._broker.path(self._directory.get(topic_partition, ""))
            fields["tp"] = topic_partition_text(fields["topic"], fields["partition"])
            fields["old_tp"] = f"[{fields['topic']},{fields['partition']}]"
        line = written(PATTERNS[name], self._broker.gates.binary, self._at, fields | more)
        if line is not None:
            self._lines.append(line)

    # --- logs ---

    def _log_created(self, event: e.LogCreated) -> None:
        self._directory[event.topic, event.partition] = event.directory

    def _log_dir_failed(self, event: e.LogDirFailed) -> None:
        path = self._broker.path
        fields = {
            "dir": path(event.directory),
            "dirs": ", ".join(path(one) for one in event.directories.split(",")),
            "places": event.partitions,
            "places_apart": event.partitions.replace(",", ", "),
        }
        names = ["stopping-replicas", "replicas-offline", "stopped-fetcher", "stopping-logs"]
        for name in (*names, *(["all-failed"] if event.last else ["logs-offline", "stopped-replicas"])):
            self._add(name, event, **fields)

    def _log_loaded(self, event: e.LogLoaded) -> None:
        self._directory[event.topic, event.partition] = event.directory
        segments = event.recovered.split(",") if event.recovered else []
        for done, segment in enumerate(segments):
            self._add("recovering", event, segment=segment, done=done, segments=len(segments))
            if int(segment) == event.corrupted:
                self._add("corrupted", event, segment=segment)
        self._add("loaded", event)

    def _log_truncated(self, event: e.LogTruncated) -> None:
        topic_partition = (event.topic, event.partition)
        by_fetcher = {"source": self._leader.get(topic_partition, -1)}
        if event.reason == CutReason.HIGH_WATERMARK:
            if self._broker.gates.truncates_to_high_watermark:
                self._removed_before(topic_partition, event)
            else:
                self._add("to-local-high-watermark", event, **by_fetcher)
        below = event.reason != CutReason.FULL and event.to < event.high_watermark
        if below:
            self._add("below-high-watermark", event, **by_fetcher)
        if event.reason != CutReason.FULL:
            self._log_cut(event)
        if below:
            self._add("was-below-high-watermark", event, **by_fetcher)
        if event.reason == CutReason.OUT_OF_RANGE:
            self._add("has-reset-to-latest", event, **by_fetcher)
        if event.reason in (CutReason.OUT_OF_RANGE, CutReason.FULL):
            self._add("offset-out-of-range", event, **by_fetcher)

    def _log_cut(self, event: e.LogTruncated) -> None:
        self._add("truncating", event)
        if event.effective:
            self._add("truncated", event)
        else:
            self._add("truncated-nothing", event, largest=event.log_end - 1)
        if event.to > event.log_end:
            self._add("truncating-beyond-end", event, largest=event.log_end - 1)

    # --- leadership and ISR ---

    def _role_changed(self, event: e.RoleChanged) -> None:
        topic_partition = (event.topic, event.partition)
        before = self._leader.get(topic_partition, NO_LEADER)
        self._leader[topic_partition] = event.leader
        if event.role == "leader":
            self._removed_before(topic_partition, event)
        if self._quorum is not None and event.leader_epoch <= event.previous_epoch:
            return  # a delta of the metadata log with another ISR: "Skipped the become-leader state change"
        previous = f"Some({before})" if before > NO_LEADER else "None"
        if event.role == "leader":
            self._add("leads", event, previous=previous, under=_under(event.isr, event.min_insync_replicas))
        elif event.role == "follower":
            self._add("follows", event, previous=previous)

    def _isr_change_requested(self, event: e.IsrChangeRequested) -> None:
        self._zk_version[event.topic, event.partition] = event.zk_version
        if event.change == "shrink":
            known = (one.partition(":") for one in event.out_of_sync.split())
            replicas = " ".join(f"(brokerId: {broker}, endOffset: {log_end})" for broker, _, log_end in known)
            self._add("shrinking-isr", event, replicas=replicas)
        elif event.through == "session":
            self._add("expanding-isr", event)

    def _isr_change_ended(self, event: e.IsrChangeEnded) -> None:
        if event.result == "done":
            under = _under(event.isr, event.min_insync_replicas)
            self._add("isr-altered" if self._broker.gates.alter_isr else "isr-written", event, under=under)
        elif event.result == "bad-version":
            tried = self._zk_version.get((event.topic, event.partition), -1)
            self._add("zk-version-outdated", event, zk_version=tried)

    def _order_ignored(self, event: e.LeaderAndIsrIgnored) -> None:
        match event.reason:
            case IgnoredReason.OLD_CONTROLLER:
                self._add("order-of-old-controller", event)
            case IgnoredReason.NOT_A_REPLICA:
                self._add("order-not-for-us", event)
            case IgnoredReason.LEADER_NOT_ALIVE:
                self._add("leader-unavailable", event)
            case IgnoredReason.OFFLINE:
                self._add("order-for-offline-replica", event)
            case IgnoredReason.SESSION_EXPIRED | IgnoredReason.HALF_WAY | IgnoredReason.NEWER_REGISTRATION:
                pass  # a stack trace, about the request as a whole
            case _ if event.leader_epoch == event.current_epoch:
                self._add("order-of-same-epoch", event)
            case _:
                self._add("order-of-old-epoch", event)

    # --- fetchers ---

    def _fetcher_changed(self, event: e.FetcherChanged) -> None:
        topic_partition = (event.topic, event.partition)
        match event.change:
            case "removed":
                self._removed[topic_partition] = self._step
                self._add("fetcher-removed", event)
            case "added":
                self._removed_before(topic_partition, event)
                kind = "Map" if self._quorum is None else "HashMap"
                self._add("fetcher-added", event, host=broker_name(event.source), map=kind)
            case "delayed" if event.reason == NO_ANSWER:
                self._add("fetch-failed", event)
            case "failed":
                if event.reason == "FENCED_LEADER_EPOCH":
                    self._add("fenced", event)
                self._add("failed", event)
            case _:
                pass

    def _removed_before(self, topic_partition: TopicPartition, event: e.Event) -> None:
        """Add the line of a removed fetcher: Kafka's fetcher manager logs it before every new role.

        It does so even if there was no fetcher.
        """
        if self._removed.get(topic_partition) != self._step:
            self._removed[topic_partition] = self._step
            self._add("fetcher-removed", event)

    def _epoch_answered(self, event: e.EpochAnswered) -> None:
        if event.offset == -1:
            self._add("answer-undefined", event)
        elif event.leader_epoch == -1:
            self._add("answer-without-epoch", event)
            if event.offset >= event.log_end:
                self._add("answer-beyond-end", event)
        elif event.own_epoch == -1:
            self._add("answer-below-epochs", event)
        elif not event.complete:
            self._add("answer-epoch-unknown", event)

    def _fetch_offset_reset(self, event: e.FetchOffsetReset) -> None:
        match event.reason:
            case "latest":
                self._add("reset-to-latest", event)
            case "start":
                self._add("reset-to-start", event)
                if event.offset <= event.log_end:  # nothing is truncated, so no event of the log follows
                    self._add("offset-out-of-range", event, to=event.log_end)
            case _:
                self._add("truncation-not-allowed", event)

    # --- controller ---

    def _controller_changed(self, event: e.ControllerChanged) -> None:
        if self._quorum is not None:
            self._active_changed(event, self._quorum)
            return
        if not event.active:
            self._add("resigned", event)
            return
        for name in ("elected-as-leader", "elected", "begins-office", "epoch-incremented"):
            self._add(name, event)

    # --- KRaft ---

    def _active_changed(self, event: e.ControllerChanged, quorum: e.QuorumStateChanged) -> None:
        """The leader's claim. Kafka writes a renunciation when the node learns of the next epoch."""
        if not event.active:
            self._renounced = event
            return
        fields = {"committed": _committed(quorum), "committed_epoch": quorum.epoch, "next": quorum.log_end}
        self._add("controller-active", event, **fields)

    def _quorum_changed(self, event: e.QuorumStateChanged) -> None:
        before, self._quorum = self._quorum, event
        known = (0, NO_LEADER) if before is None else (before.epoch, before.leader)
        if event.state == "observer" or known == (event.epoch, event.leader):
            return
        leader, renounced = str(event.leader) if event.leader > NO_LEADER else "(none)", self._renounced
        if renounced is not None:
            self._renounced = None
            self._add("controller-renounces", renounced, epoch=event.epoch, leader=leader, committed=_committed(event))
        elif event.leader != self._broker.number:
            self._add("quorum-leader", event, leader=leader)

    def _registration_changed(self, event: e.BrokerRegistrationCommitted) -> None:
        fenced = {"fenced": 1, "unfenced": -1}.get(event.change, 0)
        stopping = int(event.change == "in-controlled-shutdown")
        if fenced or stopping:
            self._add("broker-fencing", event, of=event.broker, fenced=fenced, stopping=stopping)

    def _lifecycle_changed(self, event: e.BrokerLifecycleChanged) -> None:
        if event.broker_epoch >= 0 and not self._registered:
            self._registered = True
            self._add("broker-registered", event)
        match event.state:
            case "recovery":
                self._add("broker-recovers", event)
            case "running":
                self._add("broker-runs", event)
            case _:
                pass

    def _state_decided(self, event: e.StateDecided) -> None:
        if event.reason in POSITIONS:
            brokers = event.isr.split(",")
            epochs = ", ".join(f"BrokerState(brokerId={broker}, brokerEpoch=-1)" for broker in brokers)
            position = POSITIONS[event.reason]
            recovery = "RECOVERING" if event.reason == "unclean-election" else "RECOVERED"
            self._add(
                "partition-online", event, position=position, isr_list=", ".join(brokers), isr_epochs=epochs,
                recovery=recovery,
            )  # fmt: skip
        elif event.reason == "offline-replica":
            self._add("replica-left-isr", event, recovery="RECOVERED")


def _committed(quorum: e.QuorumStateChanged) -> int:
    """The last offset that the node has known to be committed."""
    return max(quorum.high_watermark, quorum.highest_watermark) - 1


def _under(isr: str, least: int) -> str:
    """Kafka's note on an ISR of fewer replicas than `min.insync.replicas`, `least`."""
    return "(under-min-isr)" if len(isr.split(",")) < least else ""
