"""The same cluster for programs on trio.

It waits without blocking other tasks, and can be cancelled anywhere.
"""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

import trio

from emulator.cluster import control_requests as r
from emulator.cluster.trio_client import ask
from emulator.faults.link_fault_kinds import Recovery
from faultline import request_builders
from faultline.lifetime import Lifetime
from faultline.request_builders import Setting
from faultline.settled import settled
from faultline.verdict import Verdict
from protocol.link_rules import LinkFaultKind

LOOK_AGAIN_S = 0.1


class AsyncCluster(Lifetime):
    """`Cluster` with `async with` and `await`; `Cluster` documents the arguments.

    Cancelled while it starts, in a method or in the block, it leaves no process running: it ends within about a second,
    or as long as its nodes take to end. The request of a cancelled method may still be carried out.
    """

    @classmethod
    def of(cls, cluster: Lifetime) -> "AsyncCluster":
        """The same running cluster; the original object ends it."""
        cluster._running()
        it = cls()
        it._held, it._bootstrap, it._ready_s = cluster._held, cluster._bootstrap, cluster._ready_s
        return it

    async def __aenter__(self) -> "AsyncCluster":
        """Start the cluster. Raises NotStarted."""
        await trio.to_thread.run_sync(self._begin, trio.from_thread.check_cancelled)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(self._finish)

    async def status(self) -> dict[str, Any]:
        """Each node's own view of the cluster, as `faultline status --json` prints it."""
        return await self._do(r.Status())

    # --- links ---

    async def cut(
        self, *places: str, only: Sequence[str] = (), client_id: str = "", recovery: Recovery = "rto"
    ) -> str:
        """Cut links; returns the rule's name.

        `cut("az-0")`: from all others. `cut("broker-0", "broker-1")`: the link between them. `cut("client-0", "->",
        "broker-1")`: one way. A place may be `leader:t-0` or `active-controller`, too. Kafka clients of an AZ share the
        links of its `client-N`. `only`: frames of these APIs. `client_id`: connections of Kafka clients with this
        client id; here and below. `recovery`: data flows after the heal at TCP's next retransmission, or at once.
        """
        return await self.link_fault("cut", places, only, client_id, recovery)

    async def hold(self, *places: str, only: Sequence[str] = (), client_id: str = "") -> str:
        """Queue frames between these places until the heal. Returns the rule's name."""
        return await self.link_fault("hold", places, only, client_id)

    async def delay(
        self, *places: str, ms: float, jitter_ms: float = 0.0, only: Sequence[str] = (), client_id: str = ""
    ) -> str:
        """Delay every frame between these places. Returns the rule's name."""
        return await self.link_fault("delay", places, only, client_id, delay_ms=ms, jitter_ms=jitter_ms)

    async def loss(self, *places: str, share: float, only: Sequence[str] = (), client_id: str = "") -> str:
        """Lose a share of frames, which come by a retransmission. Returns the rule's name."""
        return await self.link_fault("loss", places, only, client_id, share=share)

    async def bandwidth(
        self, *places: str, bytes_per_s: float, only: Sequence[str] = (), client_id: str = ""
    ) -> str:
        """Limit the bytes per second of a node over these links. Returns the rule's name."""
        return await self.link_fault("bandwidth", places, only, client_id, bytes_per_s=bytes_per_s)

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
        fault = request_builders.link_fault(kind, places, only, client_id, recovery, **amounts)
        return request_builders.rule_of(await self._do(fault))

    async def heal(self, *names: str, kind: r.HealedKind = "") -> None:
        """End the rules with all of these places, or these names; by default all. `kind`: only it."""
        await self._do(r.Heal(list(names), kind))

    # --- machines ---

    async def kill(self, *nodes: str) -> None:
        """SIGKILL.

        A node, all of an AZ (`az-0`) or of a pattern (`broker-*`), a partition's leader (`leader:t-0`) or the
        `active-controller`; here and below."""
        await self._do(request_builders.machine("kill", nodes))

    async def stop(self, *nodes: str) -> None:
        """SIGTERM nodes: an orderly stop."""
        await self._do(request_builders.machine("stop", nodes))

    async def start(self, *nodes: str) -> None:
        """Start nodes after a kill or stop; returns when a broker is registered."""
        await self._do(request_builders.machine("start", nodes))

    async def pause(self, *nodes: str) -> None:
        """SIGSTOP nodes: they stand still until `resume`."""
        await self._do(request_builders.machine("pause", nodes))

    async def resume(self, *nodes: str) -> None:
        """SIGCONT nodes."""
        await self._do(request_builders.machine("resume", nodes))

    async def power_loss(self, *nodes: str, batches_kept: int = r.SYNCED) -> None:
        """Kill nodes with their page caches.

        `batches_kept` of each log survive, by default the synced ones.
        """
        await self._do(request_builders.machine("power-loss", nodes, batches_kept=batches_kept))

    async def disk_full(self, *nodes: str, directory: str = "") -> None:
        """Fill a log directory, or the whole disk."""
        await self._do(request_builders.machine("disk-full", nodes, directory=directory))

    async def disk_error(self, *nodes: str, directory: str = "") -> None:
        """Fail every operation on a log directory, or on the whole disk."""
        await self._do(request_builders.machine("disk-error", nodes, directory=directory))

    async def lose_disk(self, *nodes: str, directory: str = "") -> None:
        """Replace a log directory of stopped nodes, or the whole disk, by an empty one."""
        await self._do(request_builders.machine("lose-disk", nodes, directory=directory))

    async def slow_disk(self, *nodes: str, takes_ms: float, fsync_ms: float = 0.0) -> None:
        """Make each operation of a disk take so long."""
        given = {"takes_ms": takes_ms, "fsync_ms": fsync_ms}
        await self._do(request_builders.machine("slow-disk", nodes, given=given))

    async def clock_jump(self, *nodes: str, jump_ms: float) -> None:
        """Set the wall clock of nodes forward, or back."""
        await self._do(request_builders.machine("clock-jump", nodes, given={"jump_ms": jump_ms}))

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
        await self._do(request_builders.create_topic(name, partitions, replicas, assignment, settings))

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

    async def _do(self, what: r.Ask) -> dict[str, Any]:
        return request_builders.done(await ask(self._running().registration, what, self._ready_s))

    def _in_a_block(self) -> str:
        return "async with faultline.AsyncCluster() as cluster"
