"""The object that answers every request to a live cluster.

A request that takes longer than its client waits goes on. The number of unfinished requests is limited.
"""

import sys
import traceback
from typing import Any, Final

import trio

from emulator.cluster import control_requests as r
from emulator.cluster.await_registration import ANSWERING_S, REGISTERED_S, Returning
from emulator.cluster.client_work import ClientWork
from emulator.cluster.cluster_registry import LOG_FILE
from emulator.cluster.cluster_status import Life, as_json, status_of
from emulator.cluster.live_link_faults import LinkFaults
from emulator.cluster.live_protocol_faults import ProtocolFaults
from emulator.cluster.machine_faults import MachineFaults, last_word
from emulator.cluster.offsets import Offsets
from emulator.cluster.player_mailbox import Job, PlayerMailbox
from emulator.cluster.setting_warnings import SettingWarnings
from emulator.cluster.settings_in_force import settings_in_force
from emulator.cluster.specification import LiveSpec
from emulator.cluster.topic_changes import TopicChanges
from emulator.cluster.voter_changes import VoterChanges
from emulator.cluster.workloads import Workloads
from emulator.machines.node.restarts import Roster
from emulator.runs.network_run import FaultExecutor
from emulator.scenario.player.live_player import LivePlayer
from emulator.settings.in_force import PROTOCOL
from emulator.settings.setting import BROKER, TOPIC
from emulator.topology import OBSERVER
from emulator.worlds.network.node_supervisor import Cluster
from emulator.worlds.network.ports import PortInUse
from emulator.worlds.network.reports import ClusterError

JOBS_MAX: Final = 96
"""Limit of unfinished requests, including those whose clients have gone."""
UNINFORMED_LOOK_S: Final = 0.05
ANSWERED_S: Final = 0.05


class LiveCluster:
    """A live cluster. `cluster` is entered, and nothing runs yet.

    `ending` is set when the cluster is to end. `owner`: the tool that owns its machines, which alone can end them.
    """

    def __init__(self, spec: LiveSpec, cluster: Cluster, owner: str = "") -> None:
        self.spec = spec
        self._owner = owner
        self.cluster = cluster
        self.ending = trio.Event()
        topology, version = spec.run.topology, spec.run.kafka_version
        self.roster = Roster(spec.run)
        self.mailbox = PlayerMailbox(cluster, lambda: LivePlayer(topology, spec.record_magic, version))
        self.links = LinkFaults(cluster, self._node_of)
        self.protocol_faults = ProtocolFaults(cluster, self.links, self._node_of)
        log_dirs = {node: str(own.get("log.dirs", "")) for node, own in spec.run.settings.items()}
        self.setting_warnings = SettingWarnings(cluster.run_dir, spec.run)
        executor = FaultExecutor(cluster, cluster.run_dir, 0, self.roster)
        self.machines = MachineFaults(cluster, executor, log_dirs, self.setting_warnings.add, self._node_of)
        self._returning = Returning(cluster, self.mailbox, self.roster)
        serves = self.machines.check_serves
        self.clients = ClientWork(cluster, self.mailbox, serves, version, spec.topics)
        self.topics = TopicChanges(cluster, self.mailbox, self.clients.describe, spec.run)
        self.voters = VoterChanges(cluster, self.mailbox)
        self.offsets = Offsets(cluster, self.mailbox)
        self.workloads = Workloads(cluster, self.mailbox, serves, version, spec.producers, spec.consumers)
        self.problem = ""
        """Reason why it cannot get ready."""
        self._jobs = 0
        self._awaited: set[trio.Event] = set()
        """Ends of requests that clients wait for."""
        self._nursery: trio.Nursery | None = None

    async def run(self) -> None:
        """Start every node, and serve until cancelled."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            await nursery.start(self.mailbox.run)
            nursery.start_soon(self._observe_ends)
            nursery.start_soon(self._answer_at_end)
            topology = self.spec.run.topology
            servers = [node.name for node in topology.with_role("session")]
            others = [node.name for node in topology.nodes if node.name not in {OBSERVER, *servers}]
            try:
                await self.cluster.start(*servers)  # first, for a broker's wait for them has a limit
                await self.cluster.start(*others)
            except (ClusterError, PortInUse) as error:
                self.problem = str(error)
                print(f"not every node has started: {error}", file=sys.stderr, flush=True)
            self.mailbox.watch_running()
            await trio.sleep_forever()

    async def answer(self, ask: r.AnyAsk, wait_s: float) -> r.Answer:
        """Answer a request within about `wait_s`."""
        nursery = self._nursery
        if nursery is None or self.ending.is_set():
            return r.unknown("the cluster starts or ends; try again", why="busy")
        if self._jobs >= JOBS_MAX:
            return r.unknown(f"{JOBS_MAX} requests are under way, no more at a time: try again", why="busy")
        if isinstance(ask, r.Ready):  # repeated polls must not pile up unfinished jobs
            return await self._ready(wait_s)
        job, ended = Job(), trio.Event()
        until_s = trio.current_time() + wait_s
        answers: list[r.Answer] = []

        async def work() -> None:
            self._jobs += 1
            try:
                answers.append(r.Answer(result=await self._do(ask, job, until_s)))
            except r.Died as died:
                answers.append(r.unknown(died, why="ended"))
            except (r.Refused, ClusterError) as refused:
                answers.append(r.unusable(refused, _so_far(job)))
            except Exception as error:  # our bug: it is logged, and fails this request alone
                traceback.print_exc()
                answers.append(r.unknown(f"a bug; see {LOG_FILE} of the run: {error!r}", why="bug"))
            finally:
                self._jobs -= 1
                ended.set()

        nursery.start_soon(work)
        self._awaited.add(ended)
        try:
            with trio.move_on_after(wait_s):
                await ended.wait()
        finally:
            self._awaited.remove(ended)
        if not answers:  # what is refused at once is refused, however short the wait
            await trio.lowlevel.cancel_shielded_checkpoint()
        if answers:
            return answers[0]
        if self.ending.is_set():
            return r.unknown("the cluster ends: the outcome is unknown", _so_far(job), why="busy")
        return r.unknown(self._returning.not_ended(ask, wait_s, self.machines.starting()), _so_far(job))

    async def _ready(self, wait_s: float) -> r.Answer:
        lacking = "the brokers did not report in time"
        with trio.move_on_after(wait_s):
            await self.mailbox.until(
                lambda: bool(self.problem or self._ended()) or not self.lacking() or self.ending.is_set()
            )
            while not self.lacking() and (lacking := await self._uninformed()):  # noqa: ASYNC110 - brokers don't call
                await trio.sleep(UNINFORMED_LOOK_S)
        if not self.lacking() and not lacking:
            return r.Answer(result={"ready_ms": round(self.cluster.now_ms(), 3), "bootstrap": self.bootstrap()})
        ends = (f"{name} has ended: {last_word(self.cluster, name).reason}" for name in sorted(self._ended()))
        if problem := self.problem or "; ".join(ends):
            return r.unusable(problem)
        return r.unknown(self.lacking() or lacking)

    async def _uninformed(self) -> str:
        """Brokers with a Kafka listener that do not know the controller yet; "": none.

        They are registered before. A Kafka client that connects then gets no controller, and librdkafka waits a minute
        before it tries again.
        """
        if not self.cluster.engine.kafka:
            return ""
        statuses = await self.cluster.statuses()
        brokers = [node.name for node in self.spec.run.topology.with_role("broker")]
        uninformed = [name for name in brokers if (one := statuses.get(name)) is not None and not one.controller]
        return f"controller not known yet: {', '.join(uninformed)}" if uninformed else ""

    def _ended(self) -> set[str]:
        """Started nodes that run no more: a wait for them would be in vain."""
        return {end.node for end in self.cluster.exits} - {*self.cluster.running()}

    def _node_of(self, target: str) -> str:
        """The node that a target means now, as the session service has it. Raises NoTarget."""
        return self.mailbox.player.seen.node_of(target)

    def lacking(self) -> str:
        """The missing nodes, as the session service has it; "" if none is missing."""
        seen, topology = self.mailbox.player.seen, self.spec.run.topology
        servers = [node.name for node in topology.with_role("session") if node.name not in seen.serving]
        if servers:
            return f"not in service: {', '.join(servers)}"
        brokers = [node.name for node in topology.with_role("broker") if node.number not in seen.live]
        if brokers:
            return f"not registered: {', '.join(brokers)}"
        return "" if seen.controller is not None else "there is no controller"

    # --- requests ---

    async def _do(self, ask: r.AnyAsk, job: Job, until_s: float) -> dict[str, Any]:
        """Carry the request out; returns its result. Raises Refused, ClusterError."""
        match ask:
            case r.Ready():
                raise AssertionError("it is answered without a job")
            case r.Down():
                if self._owner:
                    raise r.Refused(f"its machines are {self._owner}'s: {self._owner} down ends it")
                assert self._nursery is not None
                self._nursery.start_soon(self._end_soon)
                return {}
            case r.Status():
                return await self.status()
            case r.DescribeSettings():
                return settings_in_force(self.spec, self.roster.spec, self.mailbox.player.seen)
            case r.LinkFault(fault=fault):
                return await self.links.apply(fault)
            case r.Heal(place=places, kind=kind):
                return await self.links.heal(places, kind)
            case r.AddProtocolFault():
                return await self.protocol_faults.add(ask)
            case r.ProtocolFaultStatus():
                return await self.protocol_faults.status(ask, until_s)
            case r.RemoveProtocolFault():
                return await self.protocol_faults.remove(ask)
            case r.Machine():
                return await self._machine(ask, until_s)
            case r.CreateTopic():
                done = await self.clients.create_topic(ask, job)
                return self.setting_warnings.with_warnings(done, TOPIC, ask.settings, f"topic {ask.topic}")
            case r.DescribeTopic():
                return self.clients.describe(ask)
            case r.TopicOffsets():
                return await self.offsets.of_topic(ask, job)
            case r.DeleteTopic():
                return await self.topics.delete(ask, job)
            case r.AlterTopic():
                done = await self.topics.alter(ask, job)
                return self.setting_warnings.with_warnings(done, TOPIC, done["set"], f"topic alter {ask.topic}")
            case r.AlterBroker():
                done = await self.topics.alter_broker(ask, job)
                whose = "all" if done["broker"] is None else f"broker-{done['broker']}"
                return self.setting_warnings.with_warnings(done, BROKER, done["set"], f"broker alter {whose}")
            case r.AddPartitions():
                return await self.topics.add_partitions(ask, job)
            case r.Reassign():
                return await self.topics.reassign(ask, job)
            case r.Produce():
                return await self.clients.produce(ask, job)
            case r.Consume():
                return await self.clients.consume(ask, job)
            case r.ElectPreferred():
                return await self.clients.elect_preferred(ask, job)
            case r.AddController() | r.RemoveController():
                return await self.voters.change(ask, job)
            case r.StartWorkload():
                return await self.workloads.start(ask)
            case r.StopWorkload(name=name, at_once=at_once):
                return await self.workloads.stop(name, at_once)
            case r.WorkloadStatus():
                return await self.workloads.status()

    async def _machine(self, ask: r.Machine, until_s: float) -> dict[str, Any]:
        """Carry out a machine fault. `until_s`: deadline of the answer. Raises Refused, Died."""
        done = await self.machines.do(ask)
        self.mailbox.watch_running()
        if ask.fault != "start":
            return done
        limit_s = max(REGISTERED_S, until_s - ANSWERING_S - trio.current_time())
        await self._returning.until_registered(done["machines"], limit_s)
        return done | (done["machines"][0] if len(done["machines"]) == 1 else {})

    async def status(self) -> dict[str, Any]:
        """The contract's `faultline status --json`."""
        cluster = self.cluster
        statuses = await cluster.statuses()
        faults = await self.links.report()
        paused, running = self.machines.paused(), cluster.running()
        lives = {
            name: Life(name in running, name in paused, incarnation, cluster.processes.hardware[name])
            for name, incarnation in cluster.incarnations().items()
        }
        seen_faults, now = self.links.seen(), self.roster.spec
        seen = status_of(self.spec.run.topology, statuses, lives, seen_faults, cluster.now_ms(), self.spec.name)
        return {
            **as_json(seen),
            "faults": faults,
            "run": str(cluster.run_dir),
            "bootstrap": self.bootstrap(),
            "cluster": {
                "name": self.spec.name,
                "kafka": self.spec.run.kafka_version,
                "versions": {
                    name: {"kafka.version": now.binary(name), PROTOCOL: now.protocol(name)} for name in now.settings
                },
                "run": str(cluster.run_dir),
                "engine": self.spec.engine,
                "speed": cluster.clock.speed,
                "now_ms": round(cluster.now_ms(), 3),
                "ready": not self.lacking(),
                "lacking": self.lacking(),
                "page": self.spec.page,
            },
        }

    def bootstrap(self) -> dict[str, str]:
        """{AZ of Kafka clients ("": outside every AZ): bootstrap.servers}; empty: no Kafka listener."""
        kafka_ports = self.cluster.engine.kafka
        return {
            az: ",".join(f"{host}:{port}" for host, port in brokers.values()) for az, brokers in kafka_ports.items()
        }

    async def _end_soon(self) -> None:
        """End after the client that requested the end has its answer."""
        await trio.sleep(ANSWERED_S)
        self.ending.set()

    async def _answer_at_end(self) -> None:
        """Answer the waiting clients at the end, rather than close their connections."""
        await self.ending.wait()
        for event in self._awaited:
            event.set()
        self.mailbox.note_change()

    async def _observe_ends(self) -> None:
        """Stop observing nodes that have ended."""
        while True:
            await self.cluster.wait_exit_change()
            self.mailbox.watch_running()
            self.mailbox.note_change()


def _so_far(job: Job) -> dict[str, Any]:
    entries = [dict(entry) for entry in job.noted()]
    return {"so_far": entries} if entries else {}
