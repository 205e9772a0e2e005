"""The same cluster for programs that run on trio: it waits without holding up others, and can be cancelled anywhere."""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

import trio

from emulator.cluster import requests as r
from emulator.cluster.trio_client import ask
from faultline import asks
from faultline.asks import Recovery, Setting
from faultline.cluster import LOOK_AGAIN_S
from faultline.lifetime import Lifetime
from faultline.settled import settled
from faultline.verdict import Verdict


class AsyncCluster(Lifetime):
    """`Cluster`, which tells of the arguments and of what each method does, with `async with` and `await`.

    Cancelled while it starts, in the midst of a method or in the block, it leaves nothing running: it ends within
    about a second, or as long as its nodes take to end. What a cancelled method has asked for may still come to pass.
    """

    @classmethod
    def of(cls, cluster: Lifetime) -> "AsyncCluster":
        """The same cluster, which runs, and which whoever started it ends."""
        cluster._running()
        it = cls()
        it._held, it._bootstrap, it._ready_s = cluster._held, cluster._bootstrap, cluster._ready_s
        return it

    async def __aenter__(self) -> "AsyncCluster":
        """Raises NotStarted."""
        await trio.to_thread.run_sync(self._begin, trio.from_thread.check_cancelled)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(self._finish)

    async def status(self) -> dict[str, Any]:
        """What every node itself thinks."""
        return await self._do(r.Status())

    # --- links ---

    async def cut(
        self, *places: str, only: Sequence[str] = (), client_id: str = "", recovery: Recovery = "rto"
    ) -> str:
        """Frames between these places vanish. Returns the rule's name."""
        return asks.rule_of(await self._do(asks.cut(places, only, client_id, recovery)))

    async def hold(self, *places: str, only: Sequence[str] = (), client_id: str = "") -> str:
        """As `cut`, and what was held is delivered at the heal."""
        return asks.rule_of(await self._do(asks.hold(places, only, client_id)))

    async def delay(
        self, *places: str, ms: float, jitter_ms: float = 0.0, only: Sequence[str] = (), client_id: str = ""
    ) -> str:
        """Every frame takes so much longer."""
        return asks.rule_of(await self._do(asks.delay(places, ms, jitter_ms, only, client_id)))

    async def loss(self, *places: str, share: float, only: Sequence[str] = (), client_id: str = "") -> str:
        """That share of frames is lost, and comes by a retransmission."""
        return asks.rule_of(await self._do(asks.loss(places, share, only, client_id)))

    async def heal(self, *names: str, kind: r.HealedKind = "") -> None:
        """The rules that name all of these places, or are called so; without a name all. `kind`: only of that kind."""
        await self._do(r.Heal(list(names), kind))

    # --- machines ---

    async def kill(self, *nodes: str) -> None:
        """SIGKILL."""
        await self._do(asks.machine("kill", nodes))

    async def stop(self, *nodes: str) -> None:
        """SIGTERM: an orderly stop."""
        await self._do(asks.machine("stop", nodes))

    async def start(self, *nodes: str) -> None:
        """Again, after a kill or stop; returns when a broker is registered."""
        await self._do(asks.machine("start", nodes))

    async def pause(self, *nodes: str) -> None:
        """SIGSTOP: it stands still until `resume`."""
        await self._do(asks.machine("pause", nodes))

    async def resume(self, *nodes: str) -> None:
        """SIGCONT."""
        await self._do(asks.machine("resume", nodes))

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
        """Returns when every partition has a leader."""
        await self._do(asks.create_topic(name, partitions, replicas, assignment, settings))

    async def settle(self, limit_s: float = 30.0) -> bool:
        """Waits until every partition has one leader and all its living replicas are in sync with one log; whether it
        is so within `limit_s`."""
        until = trio.current_time() + limit_s
        while not settled(await self.status()):
            if trio.current_time() > until:
                return False
            await trio.sleep(LOOK_AGAIN_S)
        return True

    # --- the audit ---

    async def audit(self) -> Verdict:
        """Judges what has happened so far, by Spark, in a process beside this one."""
        from faultline.auditing import audited_beside

        return await audited_beside(self.directory)

    async def _do(self, what: r.Ask) -> dict[str, Any]:
        return asks.done(await ask(self._running().registration, what, self._ready_s))

    def _in_a_block(self) -> str:
        return "async with faultline.AsyncCluster() as cluster"
