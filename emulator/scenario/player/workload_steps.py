"""Workloads of a scenario: started in the client processes; their totals at the end."""

from collections.abc import Callable
from typing import Any

from emulator.machines.client.client_state import Failure
from emulator.machines.client.workload_specs import Load, has_transactions, specs_of, value_prefix
from emulator.scenario import scenario_model as m
from emulator.scenario.player.player_context import Stage
from emulator.scenario.player.tasks import Order, StepFailed, Steps, together
from emulator.scenario.player.timeline import Timeline
from protocol.ids import topic_partition_of
from protocol.machine import Now
from protocol.messages.message_base import Message
from protocol.messages.workload_messages import (
    StartWorkloadRequest,
    StartWorkloadResponse,
    StopWorkloadRequest,
    StopWorkloadResponse,
    WorkloadSpec,
)
from protocol.outbox import Outbox

AT_ONCE_S = 5.0
"""Time limit for a client to end its operations in flight, in seconds.

A paused one takes longer.
"""
LIMIT_S = m.StopWorkload().limit_s


class WorkloadSteps:
    """Runs these steps for a player, and keeps the started workloads.

    `topic_partition`: topic and number of a partition, None: the scenario's first.
    """

    def __init__(
        self, stage: Stage, topic_partition: Callable[[str | None], tuple[str, int]], timeline: Timeline
    ) -> None:
        self._stage = stage
        self._topic_partition = topic_partition
        self._timeline = timeline
        self._running: dict[str, list[tuple[str, WorkloadSpec]]] = {}

    def begin(self, step: m.Workload) -> Steps:
        """Start a workload. Raises StepFailed if a client cannot; other clients' are then ended."""
        stage = self._stage
        topic = step.topic or self._topic_partition(None)[0]
        topic_partitions = [
            topic_partition
            for name in stage.seen.assignments
            if (topic_partition := topic_partition_of(name)) is not None
        ]
        load = Load(
            name=step.name,
            topic=topic,
            partitions=sorted(number for of, number in topic_partitions if of == topic),
            rate_per_s=step.rate_per_s,
            settings=step.settings,
            consumer_settings=step.consumer_settings,
            keys=step.keys,
            value_bytes=step.value_bytes,
            producers=step.producers,
            consumers=step.consumers,
            group=step.group,
            client_version=step.client_version,
            transactional_id=step.transactional_id,
            records_per_transaction=step.records_per_transaction,
            abort_ratio=step.abort_ratio,
            output=step.output,
            output_partitions=sorted(number for of, number in topic_partitions if of == step.output),
            group_metadata=step.group_metadata,
        )
        if not load.partitions:
            raise StepFailed(f"there is no topic {topic}")
        if step.output and not load.output_partitions:
            raise StepFailed(f"there is no topic {step.output}")
        clients: dict[str, str] = {}
        for node in stage.topology.with_role("client"):
            clients.setdefault(node.az, node.name)
        begun = self._running[step.name] = []
        for az in step.azs or clients:
            client = clients[az]
            for spec in specs_of(load, value_prefix(f"{step.name}.{client}", stage.now.mono_ms)):
                answer: Message | Failure = yield self._response(client, StartWorkloadRequest(spec))
                why = f"{answer.error}: {answer.reason}" if isinstance(answer, Failure) else ""
                if isinstance(answer, StartWorkloadResponse):
                    why = answer.problem
                if why:
                    yield from self._stop(step.name, 0.0, noted=False)
                    raise StepFailed(f"workload {step.name}: {client}: {why}")
                begun.append((client, spec))

    def end(self, name: str, limit_s: float) -> Steps:
        """End a workload, `name` "": all; records the totals."""
        if name and name not in self._running:
            raise StepFailed(f"no workload {name!r} runs")
        stops = [self._stop(one, limit_s) for one in ([name] if name else sorted(self._running))]
        yield together(self._stage.work, stops)

    def _stop(self, name: str, limit_s: float, noted: bool = True) -> Steps:
        entries: list[dict[str, Any]] = []
        parts = self._running.pop(name, [])
        stops = [self._stop_one(client, spec, limit_s, entries) for client, spec in parts]
        yield together(self._stage.work, stops)
        order = {(client, spec.kind): place for place, (client, spec) in enumerate(parts)}
        for entry in sorted(entries, key=lambda one: order[one["client"], one["kind"]]) if noted else ():
            self._timeline.add(self._stage.now.mono_ms, {"saw": "workload", "name": name, **entry})

    def _stop_one(self, client: str, spec: WorkloadSpec, limit_s: float, entries: list[dict[str, Any]]) -> Steps:
        entry: dict[str, Any] = {"client": client, "kind": spec.kind}
        entries.append(entry)
        answer = None
        if limit_s > 0:
            answer = yield self._response(client, StopWorkloadRequest(spec.name), limit_s)
        if answer is None:
            entry["left"] = True
            answer = yield self._response(client, StopWorkloadRequest(spec.name, at_once=True), AT_ONCE_S)
        match answer:
            case StopWorkloadResponse(report=report) if report is not None:
                entry.update((name, getattr(report, name)) for name in _counted(spec))
            case StopWorkloadResponse(problem=problem):
                entry["error"] = f"{problem}: the client has begun another life"
            case Failure(error=error, reason=reason):
                entry["error"] = f"{error}: {reason}"
            case _:
                entry["error"] = f"no answer within {AT_ONCE_S:g} s"

    def _response(self, client: str, request: Message, limit_s: float | None = None) -> Order:
        """A request to a client; the result is the response, a Failure, or None after `limit_s`."""
        stage = self._stage

        def begin(done: Callable[[Any], None]) -> None:
            ended: list[bool] = []

            def once(outcome: Message | Failure | None) -> None:
                if not ended:
                    ended.append(True)
                    done(outcome)

            def answered(now: Now, out: Outbox, answer: Message | Failure) -> None:
                once(answer)

            stage.asker.ask(stage.out, client, request, answered)
            if limit_s is not None:
                stage.sleep(limit_s * 1000.0).begin(lambda _: once(None))

        return Order(client, begin)


def _counted(spec: WorkloadSpec) -> tuple[str, ...]:
    """Names of the counts in its report."""
    transactions = ("committed", "aborted") if has_transactions(spec) else ()
    if spec.kind == "produce":
        return ("sent", "ok", "failed", "unknown", "skipped", *transactions)
    if spec.kind == "transform":
        return ("read", "sent", "ok", "failed", "unknown", "rebalances", "lost", *transactions)
    return ("read", "rebalances", "lost", "refused") if spec.group else ("read",)
