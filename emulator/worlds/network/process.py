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
from emulator.orphans import EXIT_ORPHANED
from emulator.storage.disk import DiskFiles
from emulator.worlds.network.arrivals import Arrivals
from emulator.worlds.network.ports import reserve_port
from emulator.worlds.network.shell import NodeShell
from emulator.worlds.network.spec import EXIT_CRASHED, ProcessOrder
from protocol.machine import Exit

PR_SET_NAME: Final = 15
NAME_BYTES_MAX: Final = 15
"""What the kernel keeps of a process's name."""
TRIM_EVERY_S: Final = 10.0
"""Real seconds. What a replica catches up with after a cut passes through large buffers; freed, they lie in pieces
between what is small and lives on, and glibc gives them back only when it is told to."""
_libc = ctypes.CDLL(None, use_errno=True)


NICENESS = -10
DESCRIPTORS_WITH_CLIENTS: Final = 8192


def run_node(order: ProcessOrder, listener: socket.socket) -> int:
    """Runs one life of a node in this process; returns the exit code. Standard error goes to a file of its
    own."""
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

    tasks = [arrivals.accept_all, *_doors(shell, machine)]
    with trio.open_signal_receiver(signal.SIGTERM) as signals:
        return await shell.run(*tasks, lambda: obey_stop(signals), end_orphaned, return_memory)


def _doors(shell: NodeShell, machine: object) -> list[Callable[[], Awaitable[None]]]:
    """A broker's, for Kafka clients, if there is one."""
    settings = shell.settings
    if not settings.kafka or not isinstance(machine, BrokerNode):
        return []
    from emulator.worlds.network.door.door import Door
    from emulator.worlds.network.door.place import places_of

    life = settings.life
    places = places_of(settings.kafka, life.topology, life.run)
    ports = [place.brokers[life.node.name].port for place in places]
    listeners = [reserve_port(life.node.name, port, settings.kafka_host) for port in ports]
    return [Door(shell, machine, machine.context.gates, machine.context.broker, places, listeners).serve]


def _room_for_clients() -> None:
    """More descriptors, where we have the right to: each client is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS_WITH_CLIENTS if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS_WITH_CLIENTS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _ahead_of_others() -> None:
    """Timers that fire late make a run unknown: go before what is not in a hurry, where we have the right to."""
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, NICENESS)


def _be_called(name: str) -> None:
    """The node's name, as `ps -o comm` and `top` show it; all nodes have one command line."""
    if _libc.prctl(PR_SET_NAME, name.encode()[:NAME_BYTES_MAX], 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_NAME)")


async def return_memory() -> None:
    """Gives back what is free, now and again: less than a millisecond for some ten megabytes."""
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
    """Ends a forked process without running what its parent registered for the end."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


__all__ = ["EXIT_CRASHED", "end_process", "run_node"]
