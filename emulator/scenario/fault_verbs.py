"""The verbs that break things: machines and links."""

from collections.abc import Callable
from typing import cast

import msgspec
from ruamel.yaml.nodes import Node

from emulator.scenario import model as m
from emulator.scenario.expectations import read_version
from emulator.scenario.step_reader import APIS, Keys, Steps, Verb


def start() -> Verb:
    def read(k: Keys, at_s: float | None) -> Steps:
        names = k.need("node", k.reader.machines)
        version: str = k.get("version", lambda n: read_version(k.reader, n), "")
        settings: dict[str, object] = k.get("settings", k.reader.restart_settings, {})
        changed = [name for name in names or () if name in brokers(k)]
        if (version or settings) and names and not changed:
            k.reader.problem(k.node, f"{names[0]} is no broker: it has no version and no settings of its own")

        def of(name: str) -> m.Start:
            # Of an AZ's machines those that are brokers are meant.
            return m.Start(node=name, version=version, settings=settings) if name in changed else m.Start(node=name)

        return _to_each(names, of, at_s)

    def brokers(k: Keys) -> set[str]:
        return {node.name for node in k.reader.topology.nodes if {"broker", "controller"} & set(node.roles)}

    does = " ".join((m.Start.__doc__ or "").split())
    return Verb(does=does, read=read, keys=("node", "version", "settings"), required=("node",), short="node")


def machine(step: type[m.Kill | m.Stop | m.PauseNode | m.ResumeNode]) -> Verb:
    def read(k: Keys, at_s: float | None) -> Steps:
        return _to_each(k.need("node", k.reader.machines), lambda name: step(node=name), at_s)

    does = " ".join((step.__doc__ or "").split())
    return Verb(does=does, read=read, keys=("node",), required=("node",), short="node")


def disk(step: type[m.LoseDisk | m.DiskFull | m.DiskError]) -> Verb:
    def read(k: Keys, at_s: float | None) -> Steps:
        one = None if step is m.DiskFull else k.reader.broker_node
        with_logs = step is not m.DiskFull or "dir" in k
        names = k.need("node", lambda n: k.reader.machines(n, one, with_logs))

        def one_of_all(n: Node) -> str | None:
            found = [k.reader.log_directory(n, name) for name in names or ()]
            return found[0] if found and all(found) else None

        directory = k.get("dir", one_of_all, "")
        return _to_each(names, lambda name: step(node=name, directory=directory), at_s)

    does = " ".join((step.__doc__ or "").split())
    return Verb(does=does, read=read, keys=("node", "dir"), required=("node",), short="node")


def _to_each(names: tuple[str, ...], make: Callable[[str], m.MachineStep], at_s: float | None) -> Steps:
    """One step, or one that does it to all at once. `names` None: they cannot be used, and `k.failed` says so."""
    steps = tuple(map(make, names or ()))
    if len(steps) == 1:
        return [msgspec.structs.replace(steps[0], at_s=at_s)]
    return [m.Together(steps=steps, at_s=at_s)]


def power_loss(k: Keys, at_s: float | None) -> Steps:
    kept = k.whole("batches_kept", "batches_kept") if "batches_kept" in k else None
    names, partition = k.need("node", k.reader.machines), k.partition()

    def of(name: str) -> m.PowerLoss:
        if len(names) > 1 and "broker" not in k.reader.topology.node(name).roles:
            return m.PowerLoss(node=name)  # of an AZ's machines those that hold logs are meant
        return m.PowerLoss(node=name, batches_kept=kept, partition=partition)

    return _to_each(names, of, at_s)


def lose_unsynced(k: Keys, at_s: float | None) -> Steps:
    kept = k.whole("batches_kept", "batches_kept")
    node = k.need("node", k.reader.node)
    return [m.LoseUnsynced(node=node, batches_kept=kept, partition=k.partition(), at_s=at_s)]


def _links(k: Keys) -> m.Links:
    """None, and `k.failed`, if they cannot be used."""
    return cast(m.Links, k.reader.links_of(k, k.node))


def _link_fault(k: Keys) -> tuple[m.Links, tuple[str, ...], tuple[str, ...], bool]:
    links = _links(k)
    only: tuple[str, ...] = k.get("only", k.reader.only, ())
    expects = k.get("expects_traffic", lambda n: k.reader.truth(n, "expects_traffic"), True)
    purposes = tuple(word for word in only if word not in APIS)
    # A word may be both (a message type and what its connection is for): the message type is the narrower.
    return links, purposes, tuple(APIS[word] for word in only if word in APIS), expects


def cut(k: Keys, at_s: float | None) -> Steps:
    links, purposes, apis, expects = _link_fault(k)
    return [m.Cut(links=links, purposes=purposes, apis=apis, expects_traffic=expects, at_s=at_s)]


def hold(k: Keys, at_s: float | None) -> Steps:
    links, purposes, apis, expects = _link_fault(k)
    return [m.Hold(links=links, purposes=purposes, apis=apis, expects_traffic=expects, at_s=at_s)]


def delay(k: Keys, at_s: float | None) -> Steps:
    links, purposes, apis, expects = _link_fault(k)
    delay_ms, jitter_ms = k.number("delay_ms", "delay_ms"), k.number("jitter_ms", "jitter_ms", 0.0)
    fault = m.Delay(links=links, delay_ms=delay_ms, jitter_ms=jitter_ms, purposes=purposes, apis=apis)
    return [msgspec.structs.replace(fault, expects_traffic=expects, at_s=at_s)]


def loss(k: Keys, at_s: float | None) -> Steps:
    links, purposes, apis, expects = _link_fault(k)
    rate = k.need("rate", lambda n: k.reader.number(n, "rate", 0, 1))
    fault = m.Loss(links=links, rate=rate, purposes=purposes, apis=apis)
    return [msgspec.structs.replace(fault, expects_traffic=expects, at_s=at_s)]


def heal(k: Keys, at_s: float | None) -> Steps:
    if not k.nodes:
        return [m.Heal(at_s=at_s)]
    return [m.Heal(links=_links(k), at_s=at_s)]
