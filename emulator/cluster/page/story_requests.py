"""Steps of a scenario as requests to a running cluster, each with its command. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from emulator.cluster import control_requests as r
from emulator.faults.link_fault_kinds import LinkFault, ends_of
from emulator.faults.link_words import words_of
from emulator.scenario import scenario_model as m
from emulator.scenario.quorum_steps import controller_node
from emulator.topology import Topology
from protocol.ids import BrokerId, topic_partition_of

Request = tuple[list[str], r.ControlRequest]
"""(words of the command behind `faultline`, the request)"""
_OF_REQUEST: Final = ("batches_kept", "directory", "version", "settings")
"""Fields of a fault of machines that the request has, too; the others are `given`."""
_ACKS: Final = {-1: "all"}


def request_of(step: m.AnyStep, topology: Topology, first: str) -> Request | None:
    """The request of a step; None: no command does it. `first`: the partition without a name."""
    match step:
        case LinkFault():
            return words_of(step), r.LinkFault(step)  # type: ignore[arg-type]  # every subclass is one of them
        case m.Heal(links=links, kind=kind):
            places = list(ends_of(links)) if links is not None else []
            return ["heal", *places, *(["--kind", kind] if kind else [])], r.Heal(places, kind)
        case m.MachineStep():
            return _machines([step])
        case m.Together(steps=steps):
            return _machines(steps)
        case m.Produce():
            return _produce(step, topology, first)
        case m.Fetch():
            return _consume(step, topology, first)
        case m.Workload():
            return _workload(step, first)
        case m.StopWorkload(name=name):
            return ["workload", "stop", *([name] if name else [])], r.StopWorkload(name)
        case m.AddController(controller=number):
            name = controller_node(topology, number)
            return [step.VERB, name], r.AddController(name)
        case m.RemoveController(controller=number):
            name = controller_node(topology, number)
            return [step.VERB, name], r.RemoveController(name)
        case m.AdminStep():
            return _admin(step)
        case _:
            return None


def _machines(steps: Iterable[m.MachineStep]) -> Request | None:
    """The same fault on one or several nodes."""
    step, *others = steps
    fields = {one.name: getattr(step, one.name) for one in step.own_fields()}
    given = {one.name: fields[one.name] for one in step.own_fields() if one.required or fields[one.name] != one.default}
    given = {name: value for name, value in given.items() if value not in (None, {}, "")}
    if not step.LIVE or "partition" in given:
        return None
    nodes = [step.node, *(one.node for one in others)]
    own = {name: given.pop(name) for name in _OF_REQUEST if name in given}
    words = [step.VERB, *nodes]
    for name, value in own.items():
        if name == "settings":
            words += [word for key, one in value.items() for word in _setting(key, one)]
        else:
            words += [f"--{'kafka-version' if name == 'version' else name.replace('_', '-')}", str(value)]
    words += [word for name, value in given.items() for word in (f"--{name.replace('_', '-')}", f"{value:g}")]
    return words, r.Machine(step.VERB, nodes, **own, given=given)


def _setting(name: str, value: Any) -> list[str]:
    return ["--remove", name] if value is None else ["--set", f"{name}={_text(value)}"]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _place(partition: str | None, first: str) -> tuple[str, int]:
    topic, number = topic_partition_of(partition or first) or (first, 0)
    return topic, number


def _az(client: str, topology: Topology) -> str:
    return topology.node(client).az if client else ""


def _options(**given: Any) -> list[str]:
    """Options that are given; of a flag the name alone."""
    words: list[str] = []
    for name, value in given.items():
        if value is True:
            words.append(f"--{name.replace('_', '-')}")
        elif value is not None and value is not False and value != "":
            words += [f"--{name.replace('_', '-')}", str(value)]
    return words


def _produce(step: m.Produce, topology: Topology, first: str) -> Request | None:
    if step.transactional_id or step.settings or step.partition == m.ANY_PARTITION or step.partitions:
        return None
    topic, partition = _place(step.partition or (f"{step.topic}-0" if step.topic else None), first)
    acks: Any = -1 if step.acks == m.ACKS_AS_SET else step.acks
    broker = BrokerId(step.broker) if isinstance(step.broker, int) else None
    idempotent, az = bool(step.idempotent), _az(step.client, topology)
    words = ["produce", topic, *step.values, *_options(
        partition=partition or None, acks=_ACKS.get(acks, str(acks)), broker=broker,
        retries=step.retries or None, timeout_ms=step.timeout_ms, idempotent=idempotent,
        client_version=step.client_version, az=az,
    )]  # fmt: skip
    ask = r.Produce(
        topic, list(step.values), partition, acks, broker, step.retries, step.timeout_ms, idempotent,
        step.client_version, az=az,
    )  # fmt: skip
    return None if step.keys else (words, ask)


def _consume(step: m.Fetch, topology: Topology, first: str) -> Request:
    topic, partition = _place(step.partition, first)
    broker = BrokerId(step.broker) if isinstance(step.broker, int) else None
    az, isolation = _az(step.client, topology), "read_committed" if step.committed else "read_uncommitted"
    words = ["consume", topic, *_options(
        partition=partition or None, offset=step.offset or None, broker=broker, az=az,
        isolation=isolation if step.committed else None,
    )]  # fmt: skip
    return words, r.Consume(topic, partition, step.offset, broker=broker, az=az, isolation=isolation)  # type: ignore[arg-type]


def _workload(step: m.Workload, first: str) -> Request | None:
    if step.group or step.output or not step.producers or step.consumer_settings or step.settings:
        return None
    topic = step.topic or _place(None, first)[0]
    acks: Any = None if step.acks == m.ACKS_AS_SET else step.acks
    of_transactions = bool(step.transactional_id)
    words = ["workload", "start", topic, *_options(
        name=step.name, rate=f"{step.rate_per_s:g}", acks=None if acks is None else _ACKS.get(acks, str(acks)),
        retries=step.retries, client_version=step.client_version,
        value_bytes=step.value_bytes or None, keys=step.keys or None, transactional_id=step.transactional_id,
        records_per_transaction=step.records_per_transaction if of_transactions else None,
        abort_ratio=step.abort_ratio or None,
    )]  # fmt: skip
    if step.idempotent is not None:
        words.append("--idempotent" if step.idempotent else "--no-idempotent")
    words += [] if step.consumers else ["--no-consumers"]
    words += [word for az in step.azs for word in ("--az", az)]
    ask = r.StartWorkload(
        step.name, topic, step.rate_per_s, acks, step.retries, step.idempotent, step.client_version, step.value_bytes,
        step.keys, consumers=step.consumers, azs=list(step.azs), transactional_id=step.transactional_id,
        records_per_transaction=step.records_per_transaction, abort_ratio=step.abort_ratio,
    )  # fmt: skip
    return words, ask


def _admin(step: m.AdminStep) -> Request | None:
    match step:
        case m.CreateTopic(topic=topic, assignment=assignment, configs=configs):
            placed = [word for one in assignment for word in ("--assignment", _joined(one))]
            counts = _options(partitions=step.partitions or None, replicas=step.replicas or None)
            brokers = [list(one) for one in assignment]
            ask = r.CreateTopic(topic, brokers, step.partitions, step.replicas, _texts(configs))
            return ["topic", "create", topic, *placed, *counts, *_altered(configs, ())], ask
        case m.DeleteTopic(topic=topic):
            return ["topic", "delete", topic], r.DeleteTopic(topic)
        case m.AddPartitions(topic=topic, partitions=count, assignment=assignment):
            placed = [word for one in assignment for word in ("--assignment", _joined(one))]
            ask_more = r.AddPartitions(topic, count, [list(one) for one in assignment])
            return ["topic", "add-partitions", topic, str(count), *placed], ask_more
        case m.Reassign(targets=targets):
            moves = [f"{partition}={_joined(replicas)}" for partition, replicas in targets]
            return ["reassign", *moves], r.Reassign({partition: list(replicas) for partition, replicas in targets})
        case m.AlterTopic(topic=topic, configs=configs, remove=remove):
            altered = r.AlterTopic(topic, _texts(configs), list(remove))
            return ["topic", "alter", topic, *_altered(configs, remove)], altered
        case m.AlterBroker(broker=broker, configs=configs, remove=remove):
            name = "all" if broker is None else broker if isinstance(broker, str) else f"broker-{broker}"
            altered_there = r.AlterBroker(broker, _texts(configs), list(remove))
            return ["broker", "alter", name, *_altered(configs, remove)], altered_there
        case m.ElectPreferred(partitions=partitions):
            return ["elect-preferred", *partitions], r.ElectPreferred(list(partitions))
        case _:
            return None


def _altered(configs: Mapping[str, Any], remove: Iterable[str]) -> list[str]:
    given = [word for name, value in configs.items() for word in _setting(name, value)]
    return given + [word for name in remove for word in _setting(name, None)]


def _texts(configs: Mapping[str, Any]) -> dict[str, r.SettingValue]:
    """Settings as a command gives them."""
    return {name: _text(value) for name, value in configs.items()}


def _joined(brokers: Iterable[BrokerId]) -> str:
    return ",".join(map(str, brokers))
