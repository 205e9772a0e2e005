"""Verbs of faults on machines, disks and links."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import product
from typing import Any, cast

import msgspec
import msgspec.inspect
from msgspec.structs import FieldInfo
from ruamel.yaml.nodes import Node

from emulator.faults.link_fault_kinds import KINDS, HealedKind, RuleError, ends_of, with_ends
from emulator.faults.link_rule_building import picked, rule_of
from emulator.faults.targets import candidates, target_in
from emulator.faults.targets import shown as shown_target
from emulator.scenario import scenario_model as m
from emulator.scenario.expectations import read_version
from emulator.scenario.step_reader import LINK_KEYS, Keys, Steps, Verb

APART = (m.Start, m.PowerLoss, m.LoseUnsynced)
"""Verbs on machines that are read in ways of their own."""


def start() -> Verb:
    def read(k: Keys, at_s: float | None) -> Steps:
        names = k.need("node", k.reader.machines)
        version: str = k.get("kafka_version", lambda n: read_version(k.reader, n), "")
        settings: dict[str, object] = k.get("settings", k.reader.restart_settings, {})
        changed = [name for name in names or () if name in brokers(k)]
        if (version or settings) and (target := next(filter(target_in, names or ()), None)):
            needs = "a start with kafka_version or settings needs a broker's name"
            k.reader.problem(k.node, f"{shown_target(target)}: {needs}")
            return []
        if (version or settings) and names and not changed:
            k.reader.problem(k.node, f"{names[0]} is no broker: it has no version and no settings of its own")

        def of(name: str) -> m.Start:
            # Of an AZ's machines those that are brokers are meant.
            return m.Start(node=name, version=version, settings=settings) if name in changed else m.Start(node=name)

        return _to_each(names, of, at_s)

    def brokers(k: Keys) -> set[str]:
        return {node.name for node in k.reader.topology.nodes if {"broker", "controller"} & set(node.roles)}

    keys = ("node", "kafka_version", "settings")
    return Verb(does=_does(m.Start), read=read, keys=keys, required=("node",), short="node")


def machine(step: type[m.MachineStep]) -> Verb:
    """Its keys are its fields: `directory`, one log directory of each node; else a number."""
    fields = {field.encode_name: field for field in step.own_fields()}
    required = tuple(key for key, field in fields.items() if field.required)

    def read(k: Keys, at_s: float | None) -> Steps:
        with_logs = step.OF_BROKERS or "directory" in k
        of_brokers = k.reader.node_with_log if step.OF_QUORUM else k.reader.broker_node
        one = of_brokers if step.OF_BROKERS else k.reader.node if with_logs else None
        names = k.need("node", lambda n: k.reader.machines(n, one, with_logs))

        def directory_of_all(n: Node) -> str | None:
            found = [k.reader.log_directory(n, name) for name in _possible(k, names)]
            return found[0] if found and all(found) else None

        def amount(key: str, field: FieldInfo) -> float:
            kind = msgspec.inspect.type_info(field.type)
            assert isinstance(kind, msgspec.inspect.FloatType), f"{key}: a bounded number"
            low, high = kind.ge or 0.0, kind.le
            read = partial(k.reader.number, what=key, low=low, high=high)
            number = k.need(key, read) if field.required else k.get(key, read, field.default)
            return number if k.failed else float(number)

        given: dict[str, Any] = {
            field.name: k.get(key, directory_of_all, "") if key == "directory" else amount(key, field)
            for key, field in fields.items()
        }
        return _to_each(names, lambda name: step(node=name, **given), at_s)

    return Verb(does=_does(step), read=read, keys=("node", *fields), required=("node", *required), short="node")


def _possible(k: Keys, names: Iterable[str] | None) -> Iterator[str]:
    """The names, and all that a target among them can mean."""
    for name in names or ():
        target = target_in(name)
        yield from [name] if target is None else (one.name for one in candidates(k.reader.topology, target))


def _does(step: type[m.Step]) -> str:
    """Its docstring, in one line."""
    return " ".join((step.__doc__ or "").split())


def _to_each(names: tuple[str, ...], make: Callable[[str], m.MachineStep], at_s: float | None) -> Steps:
    """One step, or one for all machines at once. `names` None: unusable (`k.failed`)."""
    steps = tuple(map(make, names or ()))
    if len(steps) == 1:
        return [msgspec.structs.replace(steps[0], at_s=at_s)]
    return [m.Together(steps=steps, at_s=at_s)]


def power_loss(k: Keys, at_s: float | None) -> Steps:
    kept = k.whole("batches_kept", "batches_kept") if "batches_kept" in k else None
    names, partition = k.need("node", k.reader.machines), k.partition()

    def of(name: str) -> m.PowerLoss:
        if len(names) > 1 and target_in(name) is None and "broker" not in k.reader.topology.node(name).roles:
            return m.PowerLoss(node=name)  # of an AZ's machines those that hold logs are meant
        return m.PowerLoss(node=name, batches_kept=kept, partition=partition)

    return _to_each(names, of, at_s)


def lose_unsynced(k: Keys, at_s: float | None) -> Steps:
    kept = k.whole("batches_kept", "batches_kept")
    node = k.need("node", k.reader.machine)
    return [m.LoseUnsynced(node=node, batches_kept=kept, partition=k.partition(), at_s=at_s)]


def _links(k: Keys) -> m.Links:
    """None, and `k.failed`, if they cannot be used."""
    return cast(m.Links, k.reader.links_of(k, k.node))


def link(fault: type[m.LinkFault]) -> Verb:
    """Its keys beside those of all are its amounts."""
    fields = {field.encode_name: field for field in fault.own_fields()}

    def read(k: Keys, at_s: float | None) -> Steps:
        only: tuple[str, ...] = k.get("only", k.reader.only, ())
        purposes, apis = picked(only)
        given: dict[str, Any] = {
            "links": _links(k),
            "purposes": purposes,
            "apis": apis,
            "expects_traffic": k.get("expects_traffic", lambda n: k.reader.truth(n, "expects_traffic"), True),
        }
        for key, field in fields.items():
            amount = partial(k.reader.number, what=key)
            given[field.name] = k.need(key, amount) if field.required else k.get(key, amount, field.default)
        if k.failed:
            return []
        step = fault(**given, at_s=at_s)
        try:
            _check_rule(k, step)
        except RuleError as error:
            amounts = [name for name in fields if name in k]
            k.reader.problem(k.nodes[amounts[0]] if amounts and "side" not in str(error) else k.node, str(error))
        return [step]

    required = tuple(name for name, field in fields.items() if field.required)
    keys = (*LINK_KEYS, "only", "expects_traffic", *fields)
    return Verb(does=_does(fault), read=read, keys=keys, required=required, short="" if required else "az")


def _check_rule(k: Keys, step: m.LinkFault) -> None:
    """Raises RuleError; of links with targets where no node that they can mean makes a rule."""
    targets = list(dict.fromkeys(target for end in ends_of(step.links) if (target := target_in(end))))
    errors: list[RuleError] = []
    for nodes in product(*(candidates(k.reader.topology, target) for target in targets)):
        meant = {target: node.name for target, node in zip(targets, nodes, strict=True)}
        links = with_ends(step.links, lambda end, meant=meant: meant.get(target_in(end) or "", end))  # type: ignore[misc]
        try:
            rule_of(k.reader.topology, step.VERB, msgspec.structs.replace(step, links=links))
            return
        except RuleError as error:
            errors.append(error)
    raise errors[0]


def heal(k: Keys, at_s: float | None) -> Steps:
    kind: HealedKind = k.get("kind", lambda n: k.reader.word(n, "kind of fault on links", KINDS), "")
    links = _links(k) if any(key in k for key in LINK_KEYS) else None
    return [m.Heal(links=links, kind=kind, at_s=at_s)]
