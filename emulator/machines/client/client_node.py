"""Machine of a client process in an AZ: the player's commands, and workloads of its own.

Every connection to it is a player's; each response goes to its request's connection. The node drops responses for a
closed connection; the work goes on. If work cannot begin (too much at once, an unusable setting), the response has
the problem, and nothing was done.
"""

from collections.abc import Callable, Sequence

from emulator.machines.client.client_commands import ClientCommands, TooManyProducers
from emulator.machines.client.client_operations import KeptOperations, OperationLog
from emulator.machines.client.client_settings import UnusableSetting
from emulator.machines.client.client_state import TooManyExchanges
from emulator.machines.client.client_workload import ConsumeWorkload, ProduceWorkload
from emulator.machines.client.group_commands import GroupCommands, TooManyCommands
from emulator.machines.client.transactional_workload import TransactionalWorkload
from emulator.machines.client.transform_workload import TransformWorkload
from emulator.machines.client.workload_specs import has_transactions
from protocol.chance import Chance
from protocol.conversations import ACCEPTED_BY_CLIENT
from protocol.gates import gates_for
from protocol.machine import (
    ConnectionAccepted,
    ConnectionEvent,
    Effect,
    Input,
    MessageReceived,
    Now,
    Started,
    StopRequested,
)
from protocol.messages.consuming import (
    ClientCommitRequest,
    ClientCommitResponse,
    ClientCommittedRequest,
    ClientCommittedResponse,
    ClientConsumeRequest,
    ClientConsumeResponse,
)
from protocol.messages.message_base import Message
from protocol.messages.status_messages import NodeStatus, WorkloadStatus
from protocol.messages.workload_messages import (
    ClientFetchRequest,
    ClientFetchResponse,
    ClientMetadataRequest,
    ClientMetadataResponse,
    ClientProduceRequest,
    ClientProduceResponse,
    StartWorkloadRequest,
    StartWorkloadResponse,
    StopWorkloadRequest,
    StopWorkloadResponse,
    WorkloadReport,
    WorkloadReportsRequest,
    WorkloadReportsResponse,
    WorkloadSpec,
)
from protocol.outbox import Outbox

WORKLOADS_MAX = 64
"""Bound of workloads of one life, stopped ones included: their reports stay."""
PARTITIONS_MAX = 1_000

_CANNOT_BEGIN = (UnusableSetting, TooManyExchanges, TooManyProducers, TooManyCommands, ValueError)

Workload = ProduceWorkload | ConsumeWorkload | TransactionalWorkload | TransformWorkload


class ClientNode:
    """One life of a client process.

    `brokers`: bootstrap nodes of its libraries. `session_servers`: ZooKeeper servers with the old consumers'
    offsets. `kafka_version`: the libraries'. Raises protocol.versions.UnknownVersion.
    """

    ACCEPTED_MESSAGES = ACCEPTED_BY_CLIENT

    def __init__(
        self,
        name: str,
        brokers: Sequence[str],
        session_servers: Sequence[str],
        kafka_version: str,
        kept: KeptOperations | None = None,
    ) -> None:
        """Create a client that has not started. `kept`: see OperationLog."""
        self.name = name
        self._session_servers = list(session_servers)
        self._kept = kept
        self._brokers = list(brokers)
        self._kafka_version = kafka_version
        self._magic = gates_for(kafka_version).record_magic
        self._out = Outbox()
        self._players: set[int] = set()
        self._workloads: dict[str, Workload] = {}
        self._workload_count = 0
        self._operations: OperationLog | None = None
        self._errands: ClientCommands | None = None
        self._groups: GroupCommands | None = None
        self._begins: dict[type[Message], tuple[Callable[..., None], Callable[..., Message]]] = {}
        """{request of a player: (its handler, the response for a request that cannot begin)}."""
        self._chance = Chance(0)

    def step(self, now: Now, event: Input) -> list[Effect]:
        """Handle one input."""
        out = self._out
        if not out.route(now, event):
            self._handle(now, event, out)
        return out.take()

    def _handle(self, now: Now, event: Input, out: Outbox) -> None:
        match event:
            case Started(seed, incarnation):
                self._chance = Chance(seed)
                self._operations = OperationLog(self.name, incarnation, self._kept)
                self._errands = ClientCommands(
                    self._brokers, self._operations, self._kafka_version, self._magic, self._chance
                )
                self._groups = GroupCommands(
                    self.name, self._brokers, self._session_servers, self._operations, self._kafka_version, self._chance
                )
                self._begins = {
                    ClientProduceRequest: (self._errands.produce, ClientProduceResponse),
                    ClientFetchRequest: (self._errands.fetch, ClientFetchResponse),
                    ClientMetadataRequest: (self._errands.metadata, ClientMetadataResponse),
                    ClientConsumeRequest: (self._groups.consume, ClientConsumeResponse),
                    ClientCommitRequest: (self._groups.commit, ClientCommitResponse),
                    ClientCommittedRequest: (self._groups.committed, ClientCommittedResponse),
                }
            case ConnectionAccepted(connection=connection):
                self._players.add(connection)
                out.own(connection, self._on_connection_event)
            case StopRequested():
                self._stop(now, out)
            case _:
                pass  # of a connection that was closed in the same instant

    def status(self, now: Now) -> NodeStatus:
        """Progress of its workloads. Reading changes nothing."""
        return NodeStatus(workloads={name: _counts(work.report) for name, work in sorted(self._workloads.items())})

    def report(self, name: str) -> WorkloadReport:
        """A workload's counts so far. Raises KeyError."""
        return self._workloads[name].report

    def _on_connection_event(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        """Handle a player's request, or its lost connection."""
        if isinstance(event, MessageReceived):
            self._on_request(now, out, event)
        else:
            self._players.discard(event.connection)

    def _on_request(self, now: Now, out: Outbox, event: MessageReceived) -> None:
        connection, correlation = event.connection, event.correlation_id
        assert self._begins, "a request before Started"

        def reply(out: Outbox, answer: Message) -> None:
            if connection in self._players:
                out.send(connection, answer, correlation)

        match event.message:
            case StartWorkloadRequest(spec=spec):
                reply(out, StartWorkloadResponse(problem=self._start_workload(now, out, spec)))
            case WorkloadReportsRequest():
                reply(out, WorkloadReportsResponse([workload.report for workload in self._workloads.values()]))
            case StopWorkloadRequest(name=name, at_once=at_once):
                workload = self._workloads.get(name)
                if workload is None:
                    reply(out, StopWorkloadResponse(problem=f"no workload {name!r}"))
                elif not workload.report.running:
                    reply(out, StopWorkloadResponse(workload.report))
                else:
                    workload.stop(
                        now,
                        out,
                        lambda now, out, report: reply(out, StopWorkloadResponse(report)),
                        at_once=at_once,
                    )
            case request if type(request) in self._begins:
                begin, refused = self._begins[type(request)]
                try:
                    begin(now, out, request, reply)
                except _CANNOT_BEGIN as problem:
                    reply(out, refused(problem=str(problem)))
            case _:
                # No request for a client: the peer has mistaken this node for another.
                out.close(connection)
                self._players.discard(connection)

    def _start_workload(self, now: Now, out: Outbox, spec: WorkloadSpec) -> str:
        """Start a workload; "" or the reason why it cannot start."""
        assert self._operations is not None
        before = self._workloads.get(spec.name)
        if before is not None and before.report.running:
            return f"workload {spec.name!r} exists"
        if before is None and len(self._workloads) >= WORKLOADS_MAX:
            self._forget_ended()
        if len(self._workloads) >= WORKLOADS_MAX:
            return f"workload {spec.name!r}: {WORKLOADS_MAX} workloads are running; stop one first"
        if not 0 < len(spec.partitions) <= PARTITIONS_MAX:
            return f"{len(spec.partitions)} partitions; allowed are 1 to {PARTITIONS_MAX}"
        kind = workload_class(spec)
        chance = Chance(self._chance.below(1 << 62))
        key = f"workload-{self._workload_count}"
        try:
            workload = kind(key, spec, self._brokers, self._operations, self._kafka_version, chance)
        except UnusableSetting as problem:
            return str(problem)
        self._workload_count += 1
        self._workloads[spec.name] = workload
        workload.start(now, out)
        return ""

    def _forget_ended(self) -> None:
        """Make room for a workload: drop the report of the first that ended."""
        ended = [name for name, workload in self._workloads.items() if not workload.report.running]
        for name in ended[:1]:
            del self._workloads[name]

    def _stop(self, now: Now, out: Outbox) -> None:
        """Stop; operations of libraries under way end here, so that every operation has an end."""
        for workload in self._workloads.values():
            if workload.report.running:
                workload.stop(now, out, lambda now, out, report: None, at_once=True)
        if self._errands is not None:
            self._errands.close(now, out)
        if self._groups is not None:
            self._groups.close(now, out)
        out.exit(0, "stopped")


def workload_class(spec: WorkloadSpec) -> type[Workload]:
    """The class of a workload."""
    if spec.kind == "transform":
        return TransformWorkload
    if spec.kind == "consume":
        return ConsumeWorkload
    return TransactionalWorkload if has_transactions(spec) else ProduceWorkload


def _counts(report: WorkloadReport) -> WorkloadStatus:
    return WorkloadStatus(
        report.kind, report.running, report.ok, report.failed, report.unknown, report.skipped, report.read
    )
