"""The verbs of load that goes on beside the steps: workload, stop-workload."""

from ruamel.yaml.nodes import Node

from emulator.scenario import scenario_model as m
from emulator.scenario.document import shown
from emulator.scenario.step_reader import Keys, Steps
from emulator.settings.setting import CONSUMER, PRODUCER
from protocol.messages.workload_messages import RATE_MAX, RECORDS_PER_TRANSACTION

KEYS_MAX = 1_000_000
VALUE_BYTES_MAX = 1_048_576
RECORDS_PER_TRANSACTION_MAX = 100_000
OF_PRODUCERS = ("rate", "acks", "retries", "idempotent", "client_version", "keys", "value_bytes", "settings")
OF_TRANSFORMS = ("client_version", "settings")
"""Also of the producers of a workload that transforms."""
OF_TRANSACTIONS = ("records_per_transaction", "abort_ratio", "output")


def workload(k: Keys, at_s: float | None) -> Steps:
    reader = k.reader
    name = k.need("name", reader.workload_name)
    if name in reader.workloads:
        reader.problem(k.nodes["name"], f"a workload {shown(name)} has begun already; stop-workload ends it")
    azs = sorted({client.az for client in reader.topology.with_role("client")})
    none: dict[str, object] = {}
    step = m.Workload(
        name=name,
        topic=k.get("topic", lambda n: reader.word(n, "topic", reader.topics), ""),
        rate_per_s=k.get("rate", lambda n: _rate(k, n), 10.0),
        acks=k.get("acks", reader.acks_to_send, m.ACKS_AS_SET),
        retries=k.whole("retries", "retries") if "retries" in k else None,
        idempotent=k.get("idempotent", lambda n: reader.truth(n, "idempotent"), None),
        client_version=k.get("client_version", reader.client_version, ""),
        keys=k.get("keys", lambda n: reader.integer(n, "keys", 0, KEYS_MAX), 0),
        value_bytes=k.get("value_bytes", lambda n: reader.integer(n, "value_bytes", 0, VALUE_BYTES_MAX), 0),
        settings=k.get("settings", lambda n: reader.settings_of(PRODUCER, n, "the producers' settings"), none),
        consumer_settings=k.get(
            "consumer_settings", lambda n: reader.settings_of(CONSUMER, n, "the consumers' settings"), none
        ),
        producers=k.get("producers", lambda n: reader.truth(n, "producers"), True),
        consumers=k.get("consumers", lambda n: reader.truth(n, "consumers"), True),
        group=k.get("group", reader.group, ""),
        transactional_id=k.get("transactional_id", reader.transactional_id, ""),
        records_per_transaction=k.get(
            "records_per_transaction",
            lambda n: reader.integer(n, "records_per_transaction", 1, RECORDS_PER_TRANSACTION_MAX),
            RECORDS_PER_TRANSACTION,
        ),
        abort_ratio=k.get("abort_ratio", lambda n: reader.number(n, "abort_ratio", 0, 1), 0.0),
        output=k.get("output", lambda n: reader.word(n, "topic", reader.topics), ""),
        group_metadata=k.get("group_metadata", lambda n: reader.truth(n, "group_metadata"), True),
        azs=k.get("azs", lambda n: reader.each(n, "AZs", lambda one: _az(k, one, azs), single=True), ()),
        at_s=at_s,
    )
    if step.group and not step.consumers:
        reader.problem(k.nodes["group"], "its consumers are members of a group, and there are none: consumers is false")
    for key in OF_PRODUCERS if not step.producers else ():
        if key in k and not (step.output and key in OF_TRANSFORMS):
            reader.problem(k.nodes[key], f"{key} is the producers', and there are none: producers is false")
    _check_transactions(k, step)
    if not step.producers and not step.consumers:
        reader.problem(k.node, "a workload without producers and consumers does nothing")
    if not reader.partitions:
        reader.problem(k.node, "a workload writes to a topic: create one first")
    reader.workloads.add(name)
    return [step]


def _check_transactions(k: Keys, step: m.Workload) -> None:
    reader, nodes = k.reader, k.nodes
    for key in OF_TRANSACTIONS if not (step.transactional_id or "transactional.id" in step.settings) else ():
        if key in k:
            reader.problem(nodes[key], f"{key} is of transactions; add transactional_id: NAME")
    if "group_metadata" in k and not step.output:
        reader.problem(nodes["group_metadata"], "group_metadata is of a workload that transforms; add output: TOPIC")
    if step.output:
        if not (step.group and step.consumers):
            reader.problem(nodes["output"], "a workload that transforms has consumers in a group; add group: NAME")
        if "abort_ratio" in k:
            reader.problem(nodes["abort_ratio"], "abort_ratio is of producers; one that transforms aborts after errors")


def stop_workload(k: Keys, at_s: float | None) -> Steps:
    reader = k.reader
    name = k.get("name", lambda n: reader.word(n, "workload", sorted(reader.workloads)), "")
    if name:
        reader.workloads.discard(name)
    else:
        reader.workloads.clear()
    return [m.StopWorkload(name=name or "", limit_s=k.seconds("limit_s", 30), at_s=at_s)]


def _rate(k: Keys, node: Node) -> float | None:
    rate = k.reader.number(node, "rate", 0, RATE_MAX)
    if rate == 0:
        k.reader.problem(node, "a rate is above 0 records per second")
    return rate or None


def _az(k: Keys, node: Node, with_client: list[str]) -> str | None:
    az = k.reader.az(node)
    if az is not None and az not in with_client:
        k.reader.problem(node, f"no client is in {az}; there is one in {', '.join(with_client) or 'none'}")
        return None
    return az
