"""Input of a node's process at its fork. Plain data, as msgpack; code is named, never sent."""

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from emulator.storage.files import Files
from emulator.topology import Node, Topology
from protocol.events import LEVELS
from protocol.hardware import SOUND, Hardware
from protocol.machine import Machine


class Address(NamedTuple):
    """Address of a node; `host` may be a name, which is looked up each time."""

    host: str
    port: int


class Life(msgspec.Struct, frozen=True):
    """One incarnation of one node in one run: input of a machine's factory."""

    run: str
    node: Node
    topology: Topology
    incarnation: int
    seed: int


Factory = Callable[[Life, Files, dict[str, Any]], Machine]
"""Builds a node's machine: (life, the node's files, the spec's arguments)."""


class SpecError(ValueError):
    """A factory that does not exist."""


class MachineSpec(msgspec.Struct, frozen=True):
    """Specification of a machine. `factory`: `module:function` of a Factory.

    `arguments`: any values that msgpack can encode. For the event of its start: `versions`, kafka.version and
    inter.broker.protocol.version ("": it has none), and its `settings`.
    """

    factory: str
    arguments: dict[str, Any] = {}
    versions: tuple[str, str] = ("", "")
    settings: str = ""

    def load(self) -> Factory:
        """Import the factory. Raises SpecError."""
        module, _, name = self.factory.partition(":")
        try:
            factory: Factory = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise SpecError(f"no factory {self.factory!r} (module:function): {error}") from error
        return factory


class ShellSettings(msgspec.Struct, frozen=True):
    """Everything a shell needs beside its machine.

    - `routes`: {other node: its address}; others are no nodes of this run.
    - `control_host`: the only address of this node that takes orders ("": any).
    - `failing_folders`: of its disk ("": all of it). `data_dir`: its disk ("": `data/NODE` of `run_dir`).
    - `kafka`: {AZ of clients ("": outside): {broker: address for Kafka clients of that AZ}}; empty: no listener for
      them.
    - `kafka_host`: the only address of this node that listens for them ("": any).
    - `epoch_s` is CLOCK_MONOTONIC's value at scenario time 0, `wall_epoch_ms` the wall clock's then.
    """

    life: Life
    run_dir: str
    token: str
    routes: dict[str, Address]
    epoch_s: float
    wall_epoch_ms: float
    speed: float = 1.0
    levels: tuple[str, ...] = LEVELS
    record_inputs: bool = False
    versions: tuple[str, str] = ("", "")
    settings: str = ""
    control_host: str = ""
    failing_folders: tuple[str, ...] = ()
    data_dir: str = ""
    hardware: Hardware = SOUND
    kafka: dict[str, dict[str, Address]] = {}
    kafka_host: str = "127.0.0.1"


class ProcessOrder(msgspec.Struct, frozen=True):
    """Order to the fork server: one node's process. Its listening socket travels beside this."""

    settings: ShellSettings
    spec: MachineSpec


LOOPBACK = "127.0.0.1"
EXIT_CRASHED = 70
"""Exit code of a node whose machine or shell met a bug (sysexits: EX_SOFTWARE)."""
