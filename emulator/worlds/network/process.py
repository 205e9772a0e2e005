"""A node's process, from the fork to its exit."""

import contextlib
import ctypes
import faulthandler
import os
import resource
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Final

import trio

from emulator.machines.node.broker_node import BrokerNode
from emulator.machines.node.kraft_broker_node import KraftBrokerNode
from emulator.orphans import EXIT_ORPHANED
from emulator.storage.disk import DiskFiles
from emulator.worlds.network.arrivals import Arrivals
from emulator.worlds.network.ports import reserve_port
from emulator.worlds.network.shell import NodeShell
from emulator.worlds.network.spec import EXIT_CRASHED, ProcessOrder
from protocol.machine import Exit

PR_SET_NAME: Final = 15
NAME_BYTES_MAX: Final = 15
"""Limit of a process's name in the kernel."""
TRIM_EVERY_S: Final = 10.0
"""Interval in real seconds.

A replica that catches up after a cut uses large buffers. Freed, they lie between small objects that live on, and glibc
returns them only on request.
"""
_libc = ctypes.CDLL(None, use_errno=True)


NICENESS = -10
DESCRIPTORS_WITH_CLIENTS: Final = 8192


def run_node(order: ProcessOrder, listener: socket.socket) -> int:
    """Run one incarnation of a node in this process; return the exit code.

    Standard error goes to a file of its own.
    """
    settings = order.settings
    life = settings.life
    run_dir = Path(settings.run_dir)
    _be_called(life.node.name)
    _redirect_output(run_dir / "output" / f"{life.node.name}.{life.incarnation}.txt")
    faulthandler.enable()
    _ahead_of_others()
    data_dir = Path(settings.data_dir) if settings.data_dir else run_dir / "data" / life.node.name
    data_dir.mkdir(parents=True, exist_ok=True)
    files = DiskFiles(data_dir, syncs=False)
    files.faults.failing.update(settings.failing_folders)
    machine = order.spec.load()(life, files, order.spec.arguments)
    shell_exit = trio.run(_run, order, machine, listener, files)
    return shell_exit.code


async def _run(order: ProcessOrder, machine: object, listener: socket.socket, files: DiskFiles) -> Exit:
    if order.settings.kafka:
        _room_for_clients()
    shell = NodeShell(order.settings, machine, listener, files=files)  # type: ignore[arg-type]
    arrivals = Arrivals(shell)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Control-C is for the supervisor

    async def obey_stop(signals: AsyncIterator[int]) -> None:
        async for _ in signals:
            shell.request_stop()

    async def end_orphaned() -> None:
        await arrivals.control_lost.wait()
        shell.events.flush()
        os._exit(EXIT_ORPHANED)

    tasks = [arrivals.accept_all, *_kafka_listeners(shell, machine)]
    with trio.open_signal_receiver(signal.SIGTERM) as signals:
        return await shell.run(*tasks, lambda: obey_stop(signals), end_orphaned, return_memory)


def _kafka_listeners(shell: NodeShell, machine: object) -> list[Callable[[], Awaitable[None]]]:
    """A broker's listener for Kafka clients, if it has one."""
    settings = shell.settings
    if not settings.kafka or not isinstance(machine, BrokerNode | KraftBrokerNode):
        return []
    from emulator.worlds.network.kafka_listener.advertised_listeners import places_of
    from emulator.worlds.network.kafka_listener.kafka_listeners import KafkaListeners

    life = settings.life
    places = places_of(settings.kafka, life.topology, life.run)
    ports = [place.brokers[life.node.name].port for place in places]
    listeners = [reserve_port(life.node.name, port, settings.kafka_host) for port in ports]
    return [KafkaListeners(shell, machine, machine.context.gates, machine.context.broker, places, listeners).serve]


def _room_for_clients() -> None:
    """Raise the limit of descriptors, if permitted: each client needs one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS_WITH_CLIENTS if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS_WITH_CLIENTS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _ahead_of_others() -> None:
    """Raise the process's priority, if permitted: late timers make a run unknown."""
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, NICENESS)


def _be_called(name: str) -> None:
    """Set the process's name, as `ps -o comm` and `top` show it.

    All nodes have one command line.
    """
    if _libc.prctl(PR_SET_NAME, name.encode()[:NAME_BYTES_MAX], 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_NAME)")


async def return_memory() -> None:
    """Return free memory from time to time: less than a millisecond for some ten megabytes."""
    trim = getattr(_libc, "malloc_trim", None)  # another libc has none
    while trim is not None:
        await trio.sleep(TRIM_EVERY_S)
        trim(0)


def _redirect_output(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(fd, 1)
    os.dup2(fd, 2)
    os.close(fd)


def end_process(code: int) -> None:
    """End a forked process without its parent's exit handlers."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


__all__ = ["EXIT_CRASHED", "end_process", "run_node"]
