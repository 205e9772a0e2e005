"""Faults of a live cluster's machines, one command at a time.

A fault has the effect it has in a scenario (`emulator.runs.network_run.FaultExecutor`). This module refuses a fault
that is in force already, or that is for another node.
"""

import contextlib
import os
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
import trio

from emulator.cluster.control_requests import Machine, Refused
from emulator.cluster.name_suggestions import machines_meant, nearest, with_nodes
from emulator.faults import actions as act
from emulator.faults.machine_fault_kinds import KILLING, LIVE_FAULTS, MachineStep
from emulator.machines.node.restarts import Restarted, UnusableStart, restarted
from emulator.regular_files import open_regular
from emulator.run_layout import EVENT_SUFFIX, EVENTS_FOLDER, event_paths, is_foreign
from emulator.runs.network_run import FaultExecutor, with_files
from emulator.settings.account import Account
from emulator.settings.in_force import PROTOCOL
from emulator.storage.disk import DiskFiles
from emulator.storage.files import StorageError
from emulator.storage.log_directory import directory_names
from emulator.storage.power_loss import cut, surviving_bytes
from emulator.topology import quorum_nodes
from emulator.worlds.network.node_supervisor import Cluster, ClusterError
from protocol.events import NodeStopped
from protocol.events.event_parsing import event_in

LAST_BYTES: Final = 16_384
"""Bytes of an event file's end that are searched for the last event of an incarnation."""
FOR_THE_LIVING: Final = {word for word, step in LIVE_FAULTS.items() if step.NEEDS_LIFE} | KILLING
"""Faults that a stopped node refuses: a user who kills it has mistaken it for another."""


class MachineFaults:
    """Faults on machines of a live cluster.

    `paused`: nodes that a command has stopped with a signal. `log_dirs`: {broker: its setting}. `tell`: records the
    notes on a later incarnation's settings, and returns their lines. `node_of`: the present node of a target such as
    `leader:t-0`.
    """

    def __init__(
        self,
        cluster: Cluster,
        executor: FaultExecutor,
        log_dirs: Mapping[str, str],
        tell: Callable[[Account], list[str]],
        node_of: Callable[[str], str],
    ) -> None:
        self._node_of = node_of
        self._tell = tell
        self._roster = executor.roster
        self._cluster = cluster
        self._executor = executor
        self._log_dirs = log_dirs
        self._starting: set[str] = set()
        self._stopping: set[str] = set()
        self._paused: set[str] = set()
        self._orders = 0

    def paused(self) -> tuple[str, ...]:
        return tuple(name for name in self._cluster.running() if name in self._paused)

    def starting(self) -> tuple[str, ...]:
        return tuple(sorted(self._starting))

    def check_serves(self, name: str) -> str:
        """The node, if it serves requests now. Raises Refused."""
        if name not in self._cluster.running():
            raise Refused(f"{name} does not run; start it with: faultline start {name}")
        if name in self.paused():
            raise Refused(f"{name} is paused; it goes on with: faultline resume {name}")
        return name

    async def do(self, ask: Machine) -> dict[str, Any]:
        """Carry out a fault at all its machines at once; done on return. Raises Refused.

        Returns {"fault":, "machines": [result of each], "left_out": {node: reason}}, "targets": {target: its node} if
        the command named targets, and for a single machine the fields of its result.
        """
        words, targets = with_nodes([ask.node] if isinstance(ask.node, str) else ask.node, self._node_of)
        ask = msgspec.structs.replace(ask, node=words)
        names, left_out = self._machines(ask)
        directories = {name: self._directory(ask, name) for name in names}
        changes = {name: self._change(ask, name) for name in names}
        results: list[dict[str, Any]] = []
        refused: list[str] = []

        async def one(name: str) -> None:
            try:
                done = await self._do_one(ask, name, directories[name])
                results.append(done | self._start_notes(changes[name], name))
            except (Refused, ClusterError) as error:
                refused.append(str(error))

        async with trio.open_nursery() as nursery:
            for name in names:
                nursery.start_soon(one, name)
        if refused:
            done = f"; done: {', '.join(sorted(each['node'] for each in results))}" if results else ""
            raise Refused("; ".join(sorted(refused)) + done)
        results.sort(key=lambda each: names.index(each["node"]))
        alone = results[0] if len(results) == 1 else {"fault": ask.fault}
        return {**alone, "machines": results, "left_out": left_out, **({"targets": targets} if targets else {})}

    def _machines(self, ask: Machine) -> tuple[list[str], dict[str, str]]:
        """(nodes of the command, {node: reason why it is left out}). Raises Refused.

        A named node must be fit for the fault; of an AZ or a pattern unfit nodes are left out.
        """
        topology = self._cluster.topology
        names: list[str] = []
        left_out: dict[str, str] = {}
        logs_only = LIVE_FAULTS[ask.fault].OF_BROKERS or ask.directory != ""
        for name, named in machines_meant(topology, [ask.node] if isinstance(ask.node, str) else ask.node).items():
            if not named and logs_only and name not in self._log_dirs:
                continue
            try:
                self._check(ask.fault, name)
            except Refused as refused:
                if named:
                    raise
                left_out[name] = str(refused)
            else:
                names.append(name)
        if not names:
            raise Refused("; ".join(left_out.values()) or "none of these machines keeps a log")
        return names, left_out

    async def _do_one(self, ask: Machine, name: str, directory: str) -> dict[str, Any]:
        """Raises Refused, ClusterError."""
        cluster, fault = self._cluster, ask.fault
        requested_ms = cluster.now_ms()
        if fault in ("start", "stop"):
            (self._starting if fault == "start" else self._stopping).add(name)
        try:
            await self._carry_out(ask, name, directory)
        finally:
            (self._starting if fault == "start" else self._stopping).discard(name)
        leaves = LIVE_FAULTS[fault].LEAVES
        if leaves == "paused":
            self._paused.add(name)
        elif leaves in ("running", "dead"):
            self._paused.discard(name)
        done_ms = cluster.now_ms()
        return {
            "fault": fault,
            "node": name,
            "directory": directory,
            "asked_ms": round(requested_ms, 3),
            "done_ms": round(done_ms, 3),
            "after_ms": round((done_ms - requested_ms) / cluster.clock.speed, 3),
            "running": name in cluster.running(),
        }

    async def _carry_out(self, ask: Machine, name: str, directory: str) -> None:
        """Raises Refused, ClusterError."""
        if ask.fault == "power-loss":  # a user need not know how long each log is: no more is kept than there is
            await self._cluster.kill(name, "power-loss")
            try:
                with_files(self._cluster.run_dir, name, lambda files: _lose_unsynced(files, ask.batches_kept))
            except (StorageError, OSError) as error:
                raise Refused(f"{name} was killed, and its disk cannot be cut: {error}") from error
            return
        self._orders += 1
        done = await self._executor.do(act.Act(self._orders, self._action(ask, name, directory)))
        if done.error:
            raise Refused(done.error)

    def _action(self, ask: Machine, name: str, directory: str) -> MachineStep:
        """Raises Refused."""
        given: dict[str, Any] = dict(ask.given)
        if directory:
            given["directory"] = directory
        if ask.fault == "start" and name in self._roster.spec.settings:
            given |= {"kafka_version": ask.version, "settings": {**ask.from_files, **ask.settings}}
        try:
            return msgspec.convert({"node": name, **given}, LIVE_FAULTS[ask.fault])
        except msgspec.ValidationError as error:
            what, _, field = str(error).partition(" - at `$.")
            raise Refused(f"{field.rstrip('`')}: {what}" if field else what) from error

    def _directory(self, ask: Machine, name: str) -> str:
        """A directory of the node's log.dirs. Raises Refused."""
        kind = LIVE_FAULTS[ask.fault]
        keeps_metadata = kind.OF_QUORUM and name in quorum_nodes(self._cluster.topology)
        if kind.OF_BROKERS and name not in self._log_dirs and not keeps_metadata:
            raise Refused(f"{name} is no broker: it keeps no log")
        if not ask.directory:
            return ""
        known = directory_names(self._log_dirs.get(name, ""))
        if not known:
            raise Refused(f"no log directory {ask.directory!r}: {name} has one log directory, its disk")
        return nearest("log directory", ask.directory, known)

    def _change(self, ask: Machine, name: str) -> Restarted | None:
        """Change of a node by a start, computed before any node is started. Raises Refused."""
        changed_settings = {**ask.from_files, **ask.settings}
        if not (ask.version or changed_settings):
            return None
        spec = self._roster.spec
        if name not in spec.settings and name not in ([ask.node] if isinstance(ask.node, str) else ask.node):
            return None  # of an AZ only the brokers are meant
        try:
            return restarted(spec, name, ask.version, changed_settings, insists=ask.settings)
        except UnusableStart as error:
            raise Refused(str(error)) from error

    def _start_notes(self, after: Restarted | None, name: str) -> dict[str, Any]:
        """Fields of a start's result: "kafka.version", "inter.broker.protocol.version" and "said".

        The present versions, and lines about settings.
        """
        if after is None:
            return {}
        versions = {"kafka.version": after.spec.binary(name), PROTOCOL: after.spec.protocol(name)}
        return {**versions, "said": self._tell(after.account)}

    def _check(self, fault: str, name: str) -> None:
        running = name in self._cluster.running()
        if not running:
            self._paused.discard(name)
        if fault == "start" and name in self._starting:
            raise Refused(f"{name} is starting already; faultline status shows what becomes of it")
        if fault == "start" and running:
            raise Refused(f"{name} runs already")
        if fault in FOR_THE_LIVING and not running:
            raise Refused(f"{name} does not run; start it with: faultline start {name}")
        if fault == "stop" and name in self._stopping:
            raise Refused(f"{name} is stopping already; kill it if you cannot wait")
        if fault == "pause" and name in self._paused:
            raise Refused(f"{name} is paused already")
        if fault == "resume" and name not in self._paused:
            raise Refused(f"{name} is not paused")
        if fault == "lose-disk" and running:
            raise Refused(f"{name} runs: its disk cannot be lost under it; kill it first")
        if (LIVE_FAULTS[fault].HEARS or fault == "disk-error") and name in self._paused:
            raise Refused(f"{name} is paused; resume it first" + (", or kill it" if fault == "stop" else ""))


def _lose_unsynced(files: DiskFiles, batches_kept: int) -> None:
    """-1: only synced bytes are left."""
    cut(files, surviving_bytes(files, files.synced_bytes, lambda path, synced, size: synced, batches=batches_kept))


def last_word(cluster: Cluster, name: str) -> NodeStopped:
    """The end of the node's last incarnation, as it wrote it; `kind` "": it wrote nothing."""
    end = next(end for end in reversed(cluster.exits) if end.node == name)
    own = f"{name}.{end.incarnation}{EVENT_SUFFIX}"
    for path in event_paths(cluster.run_dir / EVENTS_FOLDER, name):
        if path.name != own or is_foreign(path):
            continue
        with contextlib.suppress(OSError), open_regular(path) as file:  # the file may be missing
            file.seek(max(0, os.fstat(file.fileno()).st_size - LAST_BYTES))
            for line in reversed(file.read(2 * LAST_BYTES).splitlines()):
                event = event_in(line)
                if event is not None and event["event"] == NodeStopped.NAME:
                    return NodeStopped(end.code, str(event.get("reason", "")), str(event.get("kind", "")))
    return NodeStopped(end.code, f"exited with code {end.code} and no output")
