"""The verbs that break things: machines and links."""

from typing import cast

import msgspec

from emulator.scenario import model as m
from emulator.scenario.step_reader import APIS, Keys, Steps, Verb


def machine(step: type[m.Start | m.Kill | m.Stop | m.PauseNode | m.ResumeNode]) -> Verb:
    def read(k: Keys, at_s: float | None) -> Steps:
        return [step(node=k.need("node", k.reader.node), at_s=at_s)]

    does = " ".join((step.__doc__ or "").split())
    return Verb(does=does, read=read, keys=("node",), required=("node",), short="node")


def disk(step: type[m.LoseDisk | m.DiskFull | m.DiskError]) -> Verb:
    def read(k: Keys, at_s: float | None) -> Steps:
        node = k.need("node", k.reader.node if step is m.DiskFull else k.reader.broker_node)
        directory = k.get("dir", lambda n: k.reader.log_directory(n, node), "")
        return [step(node=node, directory=directory, at_s=at_s)]

    does = " ".join((step.__doc__ or "").split())
    return Verb(does=does, read=read, keys=("node", "dir"), required=("node",), short="node")


def power_loss(k: Keys, at_s: float | None) -> Steps:
    kept = k.whole("batches_kept", "batches_kept") if "batches_kept" in k else None
    node = k.need("node", k.reader.node)
    return [m.PowerLoss(node=node, batches_kept=kept, partition=k.partition(), at_s=at_s)]


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
