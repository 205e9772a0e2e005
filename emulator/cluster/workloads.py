"""Workloads on a live cluster: a producer at a rate and a consumer in each AZ's client.

They go on by themselves during faults, and write every operation for the audit. A client that dies takes its workload
with it; `start` begins another.
"""

from collections.abc import Callable, Sequence
from typing import Any

import trio

from emulator.cluster.control_requests import Refused, StartWorkload
from emulator.cluster.name_suggestions import client_in, nearest, topics_of
from emulator.cluster.player_mailbox import PlayerMailbox
from emulator.machines.client.client_settings import UnusableSetting as UnusableClient
from emulator.machines.client.workload_settings import settings_of
from emulator.machines.client.workload_specs import Load, producers_settings, specs_of, value_prefix
from emulator.settings.bearing import MODELLED
from emulator.settings.java_names import java_producer
from emulator.settings.setting import PRODUCER
from emulator.settings.setting_registry import BY_SCOPE, GROUP_OF, UnusableSetting, nearest_setting, usable_value
from emulator.worlds.network.node_supervisor import Cluster
from protocol.messages.message_base import Message
from protocol.messages.workload_messages import (
    READ_COMMITTED_LEVEL,
    SettingValue,
    StartWorkloadRequest,
    StartWorkloadResponse,
    StopWorkloadRequest,
    StopWorkloadResponse,
    WorkloadReport,
    WorkloadReportsRequest,
    WorkloadReportsResponse,
)
from protocol.versions import UnknownVersion


class Workloads:
    """Workloads of the clients. It keeps no state: the clients have it.

    `check_serves(node)` raises Refused for a node that does not serve now. `producers`, `consumers`: default settings
    of a workload's clients.
    """

    def __init__(
        self, cluster: Cluster, mailbox: PlayerMailbox, check_serves: Callable[[str], str], kafka_version: str,
        producers: dict[str, Any], consumers: dict[str, Any],
    ) -> None:  # fmt: skip
        self._kafka_version = kafka_version
        self._producers = producers
        self._consumers = consumers
        self._cluster = cluster
        self._mailbox = mailbox
        self._check_serves = check_serves

    async def start(self, ask: StartWorkload) -> dict[str, Any]:
        """Start a workload in every requested AZ, or in none. Raises Refused.

        `values` of the result: {client: prefix of its values}.
        """
        topics = topics_of(self._mailbox.player.seen.assignments)
        topic = nearest("topic", ask.topic, topics)
        topology = self._cluster.topology
        azs = [nearest("AZ", az, topology.azs) for az in ask.azs]
        azs = azs or sorted({node.az for node in topology.with_role("client")})
        clients = [self._check_serves(client_in(topology, az).name) for az in azs]
        load = self._load(ask, topic, topics[topic])
        values = {client: value_prefix(client, self._cluster.now_ms()) for client in clients}
        specs = [(client, spec) for client in clients for spec in specs_of(load, values[client])]
        try:
            for _, spec in specs:
                settings_of(spec, self._kafka_version)
        except UnusableClient as error:
            raise Refused(str(error)) from error
        begun: list[tuple[str, Message]] = []
        for client, spec in specs:  # one after the other: if one refuses, those that have begun must end
            for _, answer in await self._ask_all([(client, StartWorkloadRequest(spec))]):
                assert isinstance(answer, StartWorkloadResponse), answer
                if answer.problem:
                    await self._ask_all(begun)
                    raise Refused(f"{client}: {answer.problem}")
            begun.append((client, StopWorkloadRequest(spec.name, at_once=True)))
        summary = {"workload": ask.name, "topic": topic, "clients": clients, "rate_per_s": ask.rate_per_s}
        return {**summary, "values": values}

    def _load(self, ask: StartWorkload, topic: str, partitions: list[int]) -> Load:
        """Raises Refused."""
        try:
            settings = producers_settings(
                self._producers,
                acks=ask.acks,
                own=self._own(ask.settings),
                retries=ask.retries,
                idempotent=ask.idempotent,
                kafka_version=self._kafka_version,
                client_version=ask.client_version,
            )
        except UnknownVersion as unknown:
            raise Refused(str(unknown)) from unknown
        return Load(
            name=ask.name,
            topic=topic,
            partitions=partitions,
            rate_per_s=ask.rate_per_s,
            settings=settings,
            consumer_settings=self._consumers | self._isolation(ask),
            keys=ask.keys,
            value_bytes=ask.value_bytes,
            consumers=ask.consumers,
            client_version=ask.client_version,
            transactional_id=ask.transactional_id,
            records_per_transaction=ask.records_per_transaction,
            abort_ratio=ask.abort_ratio,
        )

    def _isolation(self, ask: StartWorkload) -> dict[str, Any]:
        return {"isolation.level": ask.isolation} if ask.isolation == READ_COMMITTED_LEVEL else {}

    def _own(self, given: dict[str, SettingValue]) -> dict[str, Any]:
        """The producers' part of a workload's own settings. Raises Refused."""
        known, read = BY_SCOPE[PRODUCER], {}
        for name, value in given.items():
            if name not in known:
                raise Refused(f"{name!r} is not a setting of a producer{nearest_setting(name, known)}")
            try:
                read[name] = usable_value(known[name], value, self._kafka_version)
            except UnusableSetting as error:
                raise Refused(str(error)) from error
        acted_on = {name: value for name, value in read.items() if GROUP_OF[known[name].key].standing == MODELLED}
        return java_producer(acted_on)

    async def stop(self, name: str, at_once: bool) -> dict[str, Any]:
        """Stop workloads; return the final reports when no operation is unfinished. Raises Refused."""
        running = [
            (client, report.name)
            for client, reports in (await self._reports()).items()
            for report in reports
            if report.running and (not name or report.name.rpartition(":")[0] == name)
        ]
        if name and not running:
            raise Refused(f"no workload {name!r} runs")
        answers = await self._ask_all([(client, StopWorkloadRequest(it, at_once)) for client, it in running])
        ended: dict[str, list[WorkloadReport]] = {client: [] for client, _ in running}
        for client, answer in answers:
            assert isinstance(answer, StopWorkloadResponse), answer
            if answer.report is not None:
                ended[client].append(answer.report)
        return self._result(ended, {})

    async def status(self) -> dict[str, Any]:
        """Counts so far."""
        return self._result(await self._reports(), self._silent())

    def _silent(self) -> dict[str, str]:
        """{client: reason why it does not answer}."""
        silent: dict[str, str] = {}
        for node in self._cluster.topology.with_role("client"):
            try:
                self._check_serves(node.name)
            except Refused as refused:
                silent[node.name] = str(refused)
        return silent

    def _result(self, reports: dict[str, list[WorkloadReport]], silent: dict[str, str]) -> dict[str, Any]:
        """{"clients": {client: {"az":, "workloads": [report]}}}, the totals, and the silent clients."""
        clients = {
            client: {"az": self._cluster.topology.node(client).az, "workloads": [_as_json(one) for one in of_client]}
            for client, of_client in sorted(reports.items())
        }
        every = [one for of_client in reports.values() for one in of_client]
        names = ("sent", "ok", "failed", "unknown", "skipped", "read", "committed", "aborted")
        total = {name: sum(getattr(one, name) for one in every) for name in names}
        return {"clients": clients, "total": total, "silent": silent}

    async def _reports(self) -> dict[str, list[WorkloadReport]]:
        clients = [node.name for node in self._cluster.topology.with_role("client")]
        silent = self._silent()
        answers = await self._ask_all([(name, WorkloadReportsRequest()) for name in clients if name not in silent])
        return {c: a.reports for c, a in answers if isinstance(a, WorkloadReportsResponse) and a.reports}

    async def _ask_all(self, jobs: Sequence[tuple[str, Message]]) -> list[tuple[str, Message]]:
        """Send all requests at once; a client that dies meanwhile is left out."""
        answers: list[tuple[str, Message]] = []

        async def one(client: str, request: Message) -> None:
            try:
                answers.append((client, await self._mailbox.ask(client, request)))
            except Refused:
                if client in self._cluster.running():
                    raise

        try:
            async with trio.open_nursery() as nursery:
                for client, request in jobs:
                    nursery.start_soon(one, client, request)
        except* Refused as refused:
            raise _first(refused) from None
        return sorted(answers, key=lambda answer: answer[0])


def _as_json(report: WorkloadReport) -> dict[str, Any]:
    return {name: getattr(report, name) for name in report.__struct_fields__}


def _first(errors: BaseExceptionGroup[Refused]) -> Refused:
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, Refused)
    return error
