"""The player's timeline of steps and results, like a recording's (tests/golden/README.md)."""

from typing import Any

from emulator.machines.client.client_state import Attempt, Described, Failure, Fetched, Listed
from emulator.scenario.player import metadata_log_source as source
from emulator.scenario.player.metadata_view import MetadataView
from emulator.topology import Topology, broker_name
from protocol.ids import topic_partition_text
from protocol.messages.consuming import ClientCommittedResponse, ClientConsumeResponse
from protocol.messages.kraft_messages import DescribeQuorumResponse
from protocol.messages.leadership_messages import MetadataResponse
from protocol.messages.placement import ElectLeadersResponse
from protocol.messages.workload_messages import TransactionReport
from protocol.znodes import Leadership

Entry = dict[str, Any]


class Timeline:
    """Entries in order; times in seconds since the launch.

    `first`: the scenario's first partition, which entries omit. `kraft`: partition states come from the metadata log,
    all of them, with `broker_registrations`, `controller_epochs` and `quorum_views`.
    """

    def __init__(self, kraft: bool = False) -> None:
        self.kraft = kraft
        self.broker_registrations: list[Entry] = []
        self.controller_epochs: list[Entry] = []
        self.quorum_views: list[Entry] = []
        self.entries: list[Entry] = []
        self.partition_states: list[Entry] = []
        self.controllers: list[Entry] = []
        self.live_brokers: list[Entry] = []
        self.views: list[Entry] = []
        self.first = ""
        self._last_states: dict[str, Leadership] = {}
        self._last_views: dict[int, Entry] = {}

    def add(self, at_ms: float, entry: Entry) -> None:
        self.entries.append({"t": round(at_ms / 1000, 3), **entry})

    def did(self, at_ms: float, entry: Entry | None) -> None:
        if entry is not None:
            self.add(at_ms, entry)

    def _where(self, partition: str) -> Entry:
        return {} if partition in ("", self.first) else {"partition": partition}

    # --- results ---

    def attempt(self, at_ms: float, attempt: Attempt, partition: str) -> None:
        self.add(
            at_ms,
            {
                "saw": "attempt", "broker": attempt.broker, "value": attempt.value, "acks": attempt.acks,
                "attempt": attempt.attempt, "error": attempt.error, "offset": attempt.offset, **self._where(partition),
            },
        )  # fmt: skip

    def transaction(self, at_ms: float, transactional_id: str, report: TransactionReport) -> None:
        entry = {"saw": "transaction", "transactional_id": transactional_id, "number": report.number}
        self.add(at_ms, {**entry, "end": report.end, "error": report.error or 0})

    def message_set(self, at_ms: float, attempt: Attempt, partition: str) -> None:
        entry = {"saw": "produce-compressed", "broker": attempt.broker, "acks": attempt.acks}
        self.add(at_ms, {**entry, "error": attempt.error, "offset": attempt.offset, **self._where(partition)})

    def library_result(self, at_ms: float, results: list[list[Any]], partition: str) -> None:
        """[error or null, offset] of each value."""
        self.add(at_ms, {"saw": "idempotent-producer-result", "result": results, **self._where(partition)})

    def fetched(self, at_ms: float, fetched: Fetched, partition: str, *, committed: bool = False) -> None:
        """An entry; of a fetch at read_committed with its next and the last stable offset."""
        ends = {"next_offset": fetched.next_offset, "last_stable_offset": fetched.last_stable_offset}
        records = (
            None
            if fetched.records is None
            else [[r.offset, epoch_or_null(r.leader_epoch), text(r.value)] for r in fetched.records]
        )
        self.add(
            at_ms,
            {
                "saw": "fetch", "broker": fetched.broker, "error": fetched.error,
                "high_watermark": fetched.high_watermark, "records": records, **self._where(partition),
                **(ends if committed else {}),
            },
        )  # fmt: skip

    def consumed(self, at_ms: float, group: str, answer: ClientConsumeResponse) -> None:
        """An entry for each partition."""
        for one in answer.partitions:
            self.add(
                at_ms,
                {
                    "saw": "consume", "group": group, "committed": one.committed, "resets": one.resets,
                    "records": [[r.offset, epoch_or_null(r.leader_epoch), text(r.value)] for r in one.records],
                    "position": one.position, "error": one.error, "commit": answer.commit,
                    **self._where(topic_partition_text(one.topic, one.partition)),
                },
            )  # fmt: skip

    def commit_ended(self, at_ms: float, group: str, offset: int, error: int | str, partition: str) -> None:
        self.add(at_ms, {"saw": "commit", "group": group, "offset": offset, "error": error, **self._where(partition)})

    def committed(self, at_ms: float, group: str, answer: ClientCommittedResponse, partition: str) -> None:
        entry: Entry = {"saw": "committed", "group": group, "offset": None if answer.offset < 0 else answer.offset}
        entry |= {"leader_epoch": epoch_or_null(answer.leader_epoch), "error": answer.error}
        self.add(at_ms, {**entry, **self._where(partition)})

    def metadata(self, at_ms: float, described: Described, partition: str) -> None:
        if described.metadata is None:
            nothing = dict.fromkeys(("leader", "leader_epoch", "isr", "controller", "live_brokers"))
            entry = {"saw": "metadata", "broker": described.broker, **nothing, "error": described.error}
            return self.add(at_ms, {**entry, **self._where(partition)})
        view = metadata_view(described.broker, described.metadata, partition or self.first)
        entry = {
            "saw": "metadata", "broker": view["broker"], "leader": view["leader"], "leader_epoch": view["epoch"],
            "isr": view["isr"], "controller": view["controller"], "live_brokers": view["live"],
        }  # fmt: skip
        return self.add(at_ms, {**entry, **self._where(partition)})

    def offsets(self, at_ms: float, listed: Listed, partition: str) -> None:
        entry = {
            "saw": "list-offsets", "broker": listed.broker, "earliest": listed.earliest, "latest": listed.latest,
            "leader_epoch": epoch_or_null(listed.leader_epoch), "error": listed.error,
        }  # fmt: skip
        self.add(at_ms, {**entry, **self._where(partition)})

    def admin(self, at_ms: float, verb: str, topic: str, error: int | str, why: str) -> None:
        """Note the outcome of a command that may fail.

        `error`: Kafka's code, or the name of the tool's exception."""
        self.add(at_ms, {"saw": "admin", "verb": verb, "topic": topic, "error": error, "reason": why})

    def quorum(self, at_ms: float, controller: int, answer: DescribeQuorumResponse | Failure) -> None:
        """A controller's answer to DescribeQuorum, or an exception's name."""
        entry: Entry = {"saw": "quorum", "controller": controller}
        if isinstance(answer, Failure):
            return self.add(at_ms, {**entry, "error": answer.error})
        if answer.error:
            return self.add(at_ms, {**entry, "error": answer.error})
        return self.add(at_ms, {**entry, "leader": answer.leader, "epoch": answer.epoch, "hw": answer.high_watermark})

    def elected(self, at_ms: float, answer: ElectLeadersResponse) -> None:
        """The answer to `elect-preferred`, as the recordings' client library shows it."""
        topics: dict[str, list[tuple[int, int, str | None]]] = {}
        for one in answer.partitions:
            topics.setdefault(one.topic, []).append((one.partition, one.error, one.message or None))
        self.add(at_ms, {"saw": "elect-preferred", "answer": repr((answer.error, list(topics.items())))})

    # --- what the cluster's metadata hold ---

    def record_state(self, at_ms: float, seen: MetadataView, partition: str) -> None:
        name = partition or self.first
        s = seen.states.get(name)
        if s is None:
            return
        if self.kraft:
            state = {"leader": s.leader, "isr": list(s.isr), "leader_epoch": s.leader_epoch}
            return self.add(at_ms, {"saw": "partition-state", **state, **self._where(partition)})
        return self.add(
            at_ms,
            {
                "saw": "partition-state", "controller_epoch": s.controller_epoch, "leader": s.leader,
                "leader_epoch": s.leader_epoch, "isr": list(s.isr), "zk_version": s.zk_version,
                **self._where(partition),
            },
        )  # fmt: skip

    def record_partitions(self, at_ms: float, seen: MetadataView, topology: Topology) -> None:
        """Every partition, counted."""
        az = {node.number: node.az for node in topology.with_role("broker")}
        states, assignments = seen.states, seen.assignments
        leaders = {broker_name(broker): 0 for broker in sorted(az)}
        replicas = dict(leaders)
        for state in states.values():
            if state.leader >= 0:
                leaders[broker_name(state.leader)] += 1
        for assigned in assignments.values():
            for broker in assigned:
                replicas[broker_name(broker)] += 1
        entry = {
            "saw": "partitions", "partitions": len(assignments),
            "led": sum(leaders.values()),
            "preferred": sum(state.leader in assignments.get(name, ())[:1] for name, state in states.items()),
            "in_sync": sum({*assignments.get(name, ())} == {*state.isr} for name, state in states.items()),
            "azs": min((len({az[broker] for broker in assigned}) for assigned in assignments.values()), default=0),
            "leaders": leaders, "replicas": replicas,
        }  # fmt: skip
        self.add(at_ms, entry)

    def record_controller(self, at_ms: float, seen: MetadataView) -> None:
        self.add(at_ms, {"saw": "controller", "controller": seen.controller, "epoch": seen.controller_epoch})

    def record_active(self, at_ms: float, controller: int | None) -> None:
        """The active controller, by its number, where the script requires one."""
        self.add(at_ms, {"saw": "active-controller", "controller": controller})

    def log_changed(self, at_ms: float, kind: str, entry: Entry) -> None:
        """Called at every committed change of the metadata log, and at every change in the quorum."""
        t = {"t": round(at_ms / 1000, 3)}
        match kind:
            case source.PARTITION_STATE:
                name = entry.pop("partition")
                self.partition_states.append({**t, **entry, **self._where(name)})
            case source.REGISTRATION:
                self.broker_registrations.append({**t, **entry})
            case source.QUORUM_EPOCH:
                self.controller_epochs.append({**t, **entry})
            case source.QUORUM_VIEW:
                self.quorum_views.append({**t, **entry})

    def changed(self, at_ms: float, what: str, seen: MetadataView) -> None:
        """Called at every change that the player observes."""
        t = round(at_ms / 1000, 3)
        if not seen.states:
            return  # the recordings begin with the first topic
        if not self.controllers and what == "states":
            self.controllers.append({"t": t, "controller": seen.controller, "epoch": seen.controller_epoch})
            self.live_brokers.append({"t": t, "live": sorted(seen.live)})
        if what == "states":
            if not self.kraft:
                self._states(t, seen)
        elif what == "controller":
            entry = {"t": t, "controller": seen.controller, "epoch": seen.controller_epoch}
            self.controllers.append(entry)
        elif what == "live":
            self.live_brokers.append({"t": t, "live": sorted(seen.live)})
        else:
            self._views(t, seen)

    def _states(self, t: float, seen: MetadataView) -> None:
        for gone in self._last_states.keys() - seen.states.keys():
            del self._last_states[gone]  # should it come again, it is another topic's
        for name, s in seen.states.items():
            if self._last_states.get(name) == s:
                continue
            self._last_states[name] = s
            self.partition_states.append(
                {
                    "t": t, "leader": s.leader, "leader_epoch": s.leader_epoch, "isr": list(s.isr),
                    "controller_epoch": s.controller_epoch, "zk_version": s.zk_version, **self._where(name),
                }
            )  # fmt: skip

    def _views(self, t: float, seen: MetadataView) -> None:
        for broker in list(self._last_views):
            if broker not in seen.metadata:
                del self._last_views[broker]
                self.views.append({"t": t, "broker": broker, "reachable": False})
        for broker, metadata in seen.metadata.items():
            view = metadata_view(broker, metadata, self.first)
            if self._last_views.get(broker) != view:
                self._last_views[broker] = view
                self.views.append({"t": t, **view})


def metadata_view(broker: int, metadata: MetadataResponse, partition: str) -> Entry:
    """A broker's metadata of one partition, flat."""
    found = next((p for p in metadata.partitions if topic_partition_text(p.topic, p.partition) == partition), None)
    return {
        "broker": broker,
        "controller": metadata.controller,
        "leader": found.leader if found else -1,
        "epoch": epoch_or_null(found.leader_epoch) if found else None,
        "isr": list(found.isr) if found else [],
        "live": sorted(endpoint.broker for endpoint in metadata.brokers),
    }


def epoch_or_null(leader_epoch: int) -> int | None:
    """Null where the format has no epochs (before 0.11)."""
    return None if leader_epoch < 0 else leader_epoch


def text(value: bytes | None) -> str | None:
    """A record's value as the recordings show it."""
    return None if value is None else value.decode("utf-8", "backslashreplace")
