"""Runs a live cluster with its control server, until a request or a signal ends it."""

import signal
from collections.abc import Awaitable, Callable, Set

import trio

from emulator.cluster.control_context import Auditing, no_audit
from emulator.cluster.control_server import LAST_ANSWERS_S, LOOPBACK, ControlServer
from emulator.cluster.http.access_tokens import run_id
from emulator.cluster.live_cluster import LiveCluster
from emulator.cluster.page.live_page_state import LivePageState
from emulator.cluster.page.state_stream import StateStream


async def hold(
    live: LiveCluster,
    opened: Callable[[int], None],
    *beside: Callable[[], Awaitable[None]],
    host: str = LOOPBACK,
    port: int = 0,
    audit: Auditing = no_audit,
    hosts: Set[str] = frozenset(),
    has_page: bool = False,
) -> None:
    """Enter the cluster and serve until `live.ending`, which SIGTERM sets, too.

    Raises PortInUse.

    `opened` is called with the control server's port; tasks `beside` end with it. `audit`, `hosts`,
    `has_page`: as for ControlServer.
    """
    async with trio.open_nursery() as outer:
        await outer.start(_obey_signals, live.ending)  # to the very end: a second signal must not interrupt it
        async with live.cluster, trio.open_nursery() as nursery:
            for task in beside:
                nursery.start_soon(task)
            token = live.cluster.token
            stream = StateStream(run_id(token.encode()), LivePageState(live).look)
            server = ControlServer(token, live.answer, audit=audit, hosts=hosts, stream=stream, has_page=has_page)
            opened(await nursery.start(server.serve, host, port))
            nursery.start_soon(live.run)
            nursery.start_soon(stream.run)
            await live.ending.wait()
            stream.end()
            with trio.move_on_after(LAST_ANSWERS_S):
                await server.quits()  # the client that requested the end receives its answer
                await stream.drained()
            nursery.cancel_scope.cancel()
        outer.cancel_scope.cancel()


async def _obey_signals(ending: trio.Event, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
    """Let SIGTERM end the cluster as `down` does."""
    with trio.open_signal_receiver(signal.SIGTERM) as signals:
        task_status.started()
        async for _ in signals:
            ending.set()
