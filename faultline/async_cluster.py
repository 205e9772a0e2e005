"""A cluster of real processes for programs on trio; `Cluster` is a portal over it.

It waits without blocking other tasks, and can be cancelled anywhere.
"""

import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import trio

from emulator.cli.command_options import Controllers, UpOptions
from emulator.cli.commands.live_up import UNUSABLE_INPUT, prepared, remove_unused
from emulator.cli.play_options import Metadata
from emulator.cluster import control_requests as r
from emulator.cluster.cluster_registry import PROGRAM_PREFIX, Found
from emulator.cluster.ending import end
from emulator.cluster.launch import Held, NotUp, launch_held
from emulator.cluster.trio_client import ask
from emulator.exit_codes import UNKNOWN
from emulator.faults.link_fault_kinds import HealedKind, Recovery, RuleError
from emulator.faults.link_rule_building import amounts_of, fault_of
from emulator.faults.link_words import links_in, listed
from faultline.errors import FaultlineError, NotStarted, Refused
from faultline.old_keywords import takes_old_names
from faultline.settings_arguments import Setting, options_of
from faultline.settled import settled
from faultline.verdict import Verdict
from protocol.ids import BrokerId
from protocol.link_rules import LinkFaultKind
from protocol.protocol_faults import ProtocolFaultAction

LOOK_AGAIN_S = 0.1


class _Blocking(Protocol):
    """A `Cluster`, which waits for this one."""

    _on_trio: "AsyncCluster"


class AsyncCluster:
    """`Cluster` with `async with` and `await`; `Cluster` documents the arguments.

    Cancelled while it starts, in a method or in the block, it leaves no process running: it ends within about a second,
    or as long as its nodes take to end. The request of a cancelled method may still be carried out.
    """

    def __init__(
        self,
        topology: str = "three-az",
        *,
        kafka_version: str | None = None,
        settings: Mapping[str, Setting] | None = None,
        metadata: Metadata | None = None,
        controllers: Controllers | None = None,
        initial_controllers: int | None = None,
        seed: int = 1,
        directory: Path | str | None = None,
        ready_s: float = 60.0,
    ) -> None:
        self._topology = topology
        self._settings = options_of(kafka_version, settings)
        self._metadata, self._controllers = metadata, controllers
        self._initial_controllers = initial_controllers
        self._seed = seed
        self._directory = Path(directory) if directory is not None else None
        self._ready_s = ready_s
        self._held: Held | None = None
        self._bootstrap: dict[str, str] = {}
        self._block = "async with faultline.AsyncCluster() as cluster"
        """Code that runs the cluster, for messages."""

    @classmethod
    def of(cls, cluster: _Blocking) -> "AsyncCluster":
        """The same running cluster; the original object ends it."""
        cluster._on_trio._running()
        return cluster._on_trio

    # --- start and end ---

    async def __aenter__(self) -> "AsyncCluster":
        """Start the cluster. Raises NotStarted; no process and no file is left then."""
        if self._held is not None:
            raise FaultlineError("the cluster runs already; use another object for a second cluster")
        directory = self._directory or Path(tempfile.mkdtemp(prefix="faultline-"))
        name = PROGRAM_PREFIX + directory.name
        options = UpOptions(
            name=name, settings=self._settings, metadata=self._metadata, controllers=self._controllers,
            initial_controllers=self._initial_controllers, seed=self._seed, out=directory, kafka=True,
        )  # fmt: skip
        try:
            run, _account = await trio.to_thread.run_sync(prepared, options, self._topology)
        except UNUSABLE_INPUT as error:
            raise NotStarted(str(error)) from error
        try:
            launch = partial(launch_held, run, self._ready_s, look=trio.from_thread.check_cancelled)
            self._held = await trio.to_thread.run_sync(launch)
        except BaseException as error:
            remove_unused(run)
            if isinstance(error, NotUp):
                raise NotStarted(str(error)) from error
            raise
        try:
            self._bootstrap = (await self._do(r.Ready()))["bootstrap"]
        except BaseException:
            await self._finish()  # the block does not begin, so its end does not call this
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._finish()

    async def _finish(self) -> None:
        """End the cluster; none of its processes survives."""
        held, self._held = self._held, None
        if held is not None:
            self._directory = held.found.directory
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(_end, held)

    def _running(self) -> Found:
        if self._held is None:
            raise FaultlineError(f"the cluster does not run; use {self._block}")
        return self._held.found

    @property
    def directory(self) -> Path:
        """The run's directory, which `faultline audit`, `log`, `explain`, `sql` take at any time."""
        if self._held is not None:
            return self._held.found.directory
        if self._directory is None:
            raise FaultlineError(f"the cluster has not been started; use {self._block}")
        return self._directory

    @property
    def azs(self) -> tuple[str, ...]:
        """AZs with clients."""
        return tuple(az for az in self._bootstrap if az)

    def bootstrap_servers(self, az: str = "") -> str:
        """Bootstrap servers for a Kafka client in `az`, which is then subject to that AZ's cuts.

        "": for a client outside every AZ, which no cut of an AZ affects. Raises Refused.
        """
        self._running()
        if az not in self._bootstrap:
            raise Refused(f"no clients in {az!r}; AZs with clients: {', '.join(self.azs)}, and '' for outside")
        return self._bootstrap[az]

    async def status(self) -> dict[str, Any]:
        """Each node's own view of the cluster, as `faultline status --json` prints it."""
        return await self._do(r.Status())

    # --- links ---

    async def cut(self, *places: str, only: Sequence[str] = (), client_id: str = "", recovery: Recovery = "rto") -> str:
        """Cut links; returns the rule's name.

        `cut("az-0")`: from all others. `cut("broker-0", "broker-1")`: the link between them. `cut("client-0", "->",
        "broker-1")`: one way. A place may be `leader:t-0` or `active-controller`, too. Kafka clients of an AZ share the
        links of its `client-N`. `only`: frames of these APIs, or connections of these purposes. `client_id`:
        connections of Kafka clients with this client id; here and below. `recovery`: data flows after the heal at TCP's
        next retransmission, or at once.
        """
        return await self.link_fault("cut", places, only, client_id, recovery)

    async def hold(self, *places: str, only: Sequence[str] = (), client_id: str = "") -> str:
        """Queue frames between these places until the heal. Returns the rule's name."""
        return await self.link_fault("hold", places, only, client_id)

    @takes_old_names
    async def delay(
        self, *places: str, delay_ms: float, jitter_ms: float = 0.0, only: Sequence[str] = (), client_id: str = ""
    ) -> str:
        """Delay every frame between these places. Returns the rule's name."""
        return await self.link_fault("delay", places, only, client_id, delay_ms=delay_ms, jitter_ms=jitter_ms)

    async def loss(self, *places: str, share: float, only: Sequence[str] = (), client_id: str = "") -> str:
        """Lose a share of frames, which come by a retransmission. Returns the rule's name."""
        return await self.link_fault("loss", places, only, client_id, share=share)

    async def bandwidth(self, *places: str, bytes_per_s: float, only: Sequence[str] = (), client_id: str = "") -> str:
        """Limit the bytes per second of a node over these links. Returns the rule's name."""
        return await self.link_fault("bandwidth", places, only, client_id, bytes_per_s=bytes_per_s)

    async def reset(self, *places: str, every_ms: float = 0.0, only: Sequence[str] = (), client_id: str = "") -> str:
        """Reset all connections between these places, once; later ones at the age `every_ms`.

        Returns the rule's name. `only`: connections of these purposes.
        """
        return await self.link_fault("reset", places, only, client_id, every_ms=every_ms)

    async def link_fault(
        self,
        kind: LinkFaultKind,
        places: Sequence[str],
        /,
        only: Sequence[str] = (),
        client_id: str = "",
        recovery: Recovery = "rto",
        **amounts: float,
    ) -> str:
        """Apply a fault of any kind; `amounts` as over HTTP. Returns the rule's name."""
        try:
            fault = fault_of(
                kind, links_in(kind, places), listed(",".join(only)), client_ids=listed(client_id), recovery=recovery,
                **amounts_of(kind, amounts),
            )  # fmt: skip
        except (RuleError, TypeError) as error:
            raise Refused(str(error)) from error
        return str((await self._do(r.LinkFault(fault)))["applied"][0]["id"])

    async def protocol_fault(
        self,
        action: ProtocolFaultAction,
        *apis: str,
        error: str | int = "",
        delay_ms: float = 0.0,
        client_id: str | Sequence[str] = (),
        nodes: Sequence[str] = (),
        times: int = 1,
        skip: int = 0,
    ) -> str:
        """Break requests of Kafka clients. Returns the rule's name, for `heal` and `hits`.

        `action`: `error` answers with `error`; `delay` holds the request for `delay_ms`; `drop-response` applies it and
        answers nothing; `close` and `close-after` close the connection before and after it is applied. `apis`: Kafka's
        names, as Fetch. `client_id`, `nodes`: only these clients, only these brokers. `times`: requests that are hit, 0
        for all, after `skip` others; each broker counts its own.
        """
        clients = [client_id] if isinstance(client_id, str) else list(client_id)
        ask = r.AddProtocolFault(
            action, list(apis), clients, list(nodes), str(error), delay_ms=delay_ms, times=times, skip=skip
        )
        return str((await self._do(ask))["applied"][0]["id"])

    async def hits(self, name: str, *, at_least: int = 0) -> int:
        """Requests that a protocol fault has hit.

        With `at_least` it waits until so many were hit. Raises Refused if that takes longer than `ready_s`.
        """
        result = await self._do(r.ProtocolFaultStatus(name, at_least))
        (fault,) = result["protocol_faults"]
        if not result["reached"]:
            raise Refused(f"{name}: {fault['hits']} of {at_least} requests hit in time", unknown=True)
        return int(fault["hits"])

    async def heal(self, *names: str, kind: HealedKind = "") -> None:
        """End the rules with all of these places, or these names; by default all. `kind`: only it."""
        await self._do(r.Heal(list(names), kind))

    # --- machines ---

    async def kill(self, *nodes: str) -> None:
        """SIGKILL.

        A node, all of an AZ (`az-0`) or of a pattern (`broker-*`), a partition's leader (`leader:t-0`) or the
        `active-controller`; here and below."""
        await self._machines("kill", nodes)

    async def stop(self, *nodes: str) -> None:
        """SIGTERM nodes: an orderly stop."""
        await self._machines("stop", nodes)

    async def start(self, *nodes: str) -> None:
        """Start nodes after a kill or stop; returns when a broker is registered."""
        await self._machines("start", nodes)

    async def pause(self, *nodes: str) -> None:
        """SIGSTOP nodes: they stand still until `resume`."""
        await self._machines("pause", nodes)

    async def resume(self, *nodes: str) -> None:
        """SIGCONT nodes."""
        await self._machines("resume", nodes)

    async def power_loss(self, *nodes: str, batches_kept: int = r.SYNCED) -> None:
        """Kill nodes with their page caches.

        `batches_kept` of each log survive, by default the synced ones.
        """
        await self._machines("power-loss", nodes, batches_kept=batches_kept)

    async def disk_full(self, *nodes: str, directory: str = "") -> None:
        """Fill a log directory, or the whole disk."""
        await self._machines("disk-full", nodes, directory=directory)

    async def disk_error(self, *nodes: str, directory: str = "") -> None:
        """Fail every operation on a log directory, or on the whole disk."""
        await self._machines("disk-error", nodes, directory=directory)

    async def lose_disk(self, *nodes: str, directory: str = "") -> None:
        """Replace a log directory of stopped nodes, or the whole disk, by an empty one."""
        await self._machines("lose-disk", nodes, directory=directory)

    @takes_old_names
    async def slow_disk(self, *nodes: str, operation_ms: float, fsync_ms: float = 0.0) -> None:
        """Slow down each operation of a disk by `operation_ms`, each fsync by `fsync_ms`."""
        given = {"operation_ms": operation_ms, "fsync_ms": fsync_ms}
        await self._machines("slow-disk", nodes, given=given)

    async def clock_jump(self, *nodes: str, jump_ms: float) -> None:
        """Set the wall clock of nodes forward, or back."""
        await self._machines("clock-jump", nodes, given={"jump_ms": jump_ms})

    # --- topics ---

    async def create_topic(
        self,
        name: str,
        *,
        partitions: int = 1,
        replicas: int = 3,
        assignment: Sequence[Sequence[int]] = (),
        settings: Mapping[str, Setting] | None = None,
    ) -> None:
        """Create a topic; returns when every partition has a leader.

        `assignment`: brokers by partition, the preferred leader first, instead of `partitions` and `replicas`.
        """
        own = dict(settings or {})
        if assignment:
            brokers = [[BrokerId(broker) for broker in replicas_of] for replicas_of in assignment]
            await self._do(r.CreateTopic(name, brokers, settings=own))
        else:
            await self._do(r.CreateTopic(name, partitions=partitions, replicas=replicas, settings=own))

    # --- the quorum of KRaft ---

    async def add_controller(self, controller: str) -> None:
        """Make a running controller a voter (KIP-853); returns when that is committed."""
        await self._do(r.AddController(controller))

    async def remove_controller(self, controller: str) -> None:
        """Take a controller from the voters; returns when that is committed (KIP-853)."""
        await self._do(r.RemoveController(controller))

    async def settle(self, limit_s: float = 30.0) -> bool:
        """Wait for one leader of every partition, with its living replicas in sync and equal logs.

        Returns whether this state was reached within `limit_s` seconds. `settle` neither heals links nor starts nodes.
        """
        until = trio.current_time() + limit_s
        while not settled(await self.status()):
            if trio.current_time() > until:
                return False
            await trio.sleep(LOOK_AGAIN_S)
        return True

    # --- the audit ---

    async def audit(self) -> Verdict:
        """Audit the run so far with Spark, in a separate process."""
        from faultline.audit_call import audited_beside

        return await audited_beside(self.directory)

    async def _machines(self, fault: str, nodes: Sequence[str], **fields: Any) -> None:
        """Break or repair machines. Raises Refused."""
        if not nodes:
            raise Refused(f"{fault}: no nodes; give a node such as broker-0, an AZ, or a pattern such as broker-*")
        await self._do(r.Machine(fault, list(nodes), **fields))

    async def _do(self, what: r.ControlRequest) -> dict[str, Any]:
        """Result of a request. Raises Refused."""
        answer = await ask(self._running().registration, what, self._ready_s)
        if answer.code != 0:
            raise Refused(answer.error, unknown=answer.code == UNKNOWN)
        return answer.result


def _end(held: Held) -> None:
    end(held.found)
    assert held.process.stdin is not None
    held.process.stdin.close()
    held.process.wait()
