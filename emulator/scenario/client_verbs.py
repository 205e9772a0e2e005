"""Verbs of clients: produce, fetch, metadata, list-offsets; see `group_verbs` for groups."""

from typing import cast, get_args

from ruamel.yaml.nodes import Node

from emulator.machines.client.client_settings import LIBRDKAFKA_NAMES, UnusableSetting, librdkafka_settings
from emulator.scenario import scenario_model as m
from emulator.scenario.document import WHOLE_MAX, kind, nearest, plain, shown
from emulator.scenario.step_reader import ATTEMPTS_MAX, RETRIES_MAX, Keys, Steps
from emulator.settings.setting import PRODUCER
from emulator.settings.setting_registry import BY_SCOPE, usable_value
from emulator.settings.setting_registry import UnusableSetting as UnusableValue
from protocol.ids import OFFSET_MAX, BrokerId, Offset
from protocol.messages.workload_messages import TransactionEnd

LIBRARIES = ("librdkafka",)


def _values(k: Keys) -> tuple[str, ...]:
    return k.need("values", k.reader.values)


def produce(k: Keys, at_s: float | None) -> Steps:
    values, acks = _values(k), k.need("acks", k.reader.acks_to_send)
    by_library = "client" in k and "broker" not in k
    if by_library and "partition" in k and kind(k.nodes["partition"]) == repr(m.ANY_PARTITION):
        partition: str | None = m.ANY_PARTITION
    else:
        partition = k.partition()
    keys: tuple[str, ...] = k.get("keys", lambda n: k.reader.each(n, "keys", k.reader.value, single=True), ())
    if keys and not by_library:
        k.reader.problem(k.nodes["keys"], "keys need a 'client' that finds the leader; leave out 'broker'")
    elif keys and len(keys) != len(values or ()):
        k.reader.problem(k.nodes["keys"], f"{len(keys)} keys for {len(values or ())} values")
    if keys and "partition" not in k:
        partition = m.ANY_PARTITION
    if "batch" in k or "compression" in k:
        return _message_set(k, values, acks, partition, at_s)
    if "broker" not in k and "client" not in k:
        k.reader.problem(k.node, "produce needs 'broker' or 'client' (whose metadata then has the leader)")
    for key in ("settings", "every_s", "client_version"):
        if key in k and ("broker" in k or "client" not in k):
            k.reader.problem(k.nodes[key], f"{key} is for a client's own producer: with 'client', without 'broker'")
    retries = k.whole("retries", "retries", 0, high=RETRIES_MAX if "broker" in k else WHOLE_MAX)
    if "broker" in k and values and retries and (retries + 1) * len(values) > ATTEMPTS_MAX:
        attempts = f"{len(values)} values with {retries} retries each are more than {ATTEMPTS_MAX} attempts"
        k.reader.problem(k.nodes["retries"], f"{attempts}; give fewer retries")
    none: dict[str, object] = {}
    step = m.Produce(
        broker=k.broker() if "broker" in k else None,
        values=values,
        acks=acks,
        retries=retries,
        timeout_ms=k.whole("timeout_ms", "timeout_ms", 1500),
        socket_timeout_s=k.seconds("socket_timeout_s", 10),
        idempotent=k.get("idempotent", lambda n: k.reader.truth(n, "idempotent"), None),
        client_version=k.get("client_version", k.reader.client_version, ""),
        settings=k.get("settings", lambda n: _settings(k, n), none),
        every_s=k.seconds("every_s", 0),
        client=k.get("client", k.reader.client, ""),
        keys=keys,
        partition=partition,
        transactional_id=k.get("transactional_id", k.reader.transactional_id, ""),
        records_per_transaction=k.whole("records_per_transaction", "records_per_transaction", 0),
        partitions=k.get("partitions", lambda n: k.reader.each(n, "partitions", k.reader.partition, single=True), ()),
        ends=k.get("ends", lambda n: k.reader.each(n, "ends", lambda one: _end(k, one), single=True), ()),
        at_s=at_s,
    )
    _check_transactions(k, step)
    return [step]


def _end(k: Keys, node: Node) -> TransactionEnd | None:
    word = k.reader.word(node, "end of a transaction", get_args(TransactionEnd))
    return None if word is None else cast(TransactionEnd, word)


def _check_transactions(k: Keys, step: m.Produce) -> None:
    problem, nodes = k.reader.problem, k.nodes
    if not step.transactional_id:
        for key in ("records_per_transaction", "partitions", "ends"):
            if key in k:
                problem(nodes[key], f"{key} is of transactions; add transactional_id: NAME")
        return
    if "client" not in k or "broker" in k:
        problem(nodes["transactional_id"], "transactions need a client's own producer: 'client', no 'broker'")
    if step.acks != m.ALL_ACKS and "acks" in k:
        problem(nodes["acks"], "a transactional producer waits for all replicas; write acks: all")
    if step.idempotent is False:
        problem(nodes["idempotent"], "a transactional producer is idempotent; leave out idempotent: false")
    if "open" in step.ends[:-1]:
        problem(nodes["ends"], "an open transaction is the last one: no other can follow it")
    if len({topic_of(one) for one in step.partitions}) > 1:
        problem(nodes["partitions"], "partitions of several topics; name those of one topic")
    if step.partitions and (step.keys or "partition" in k):
        problem(nodes["partitions"], "partitions take the records in turn; leave out keys and partition")


def topic_of(partition: str) -> str:
    """Topic of t-0."""
    return partition.rpartition("-")[0]


def _settings(k: Keys, node: Node) -> dict[str, object]:
    return k.reader.settings_of(PRODUCER, node, "the producer's settings")


def _message_set(k: Keys, values: tuple[str, ...], acks: int, partition: str | None, at_s: float | None) -> Steps:
    k.get("batch", lambda n: k.reader.word(n, "batch", ("one message set",)), "")
    for key in ("retries", "socket_timeout_s", "idempotent", "client_version", "settings", "every_s", "client"):
        if key in k:
            k.reader.problem(k.nodes[key], f"{key} does not go with one message set: it is tried once")
    step = m.ProduceMessageSet(
        broker=k.broker(),
        values=values,
        compression=k.get("compression", lambda n: k.reader.word(n, "compression", ("none", "gzip")), "none"),
        acks=acks,
        timeout_ms=k.whole("timeout_ms", "timeout_ms", 8000),
        partition=partition,
        at_s=at_s,
    )
    return [step]


def library_produce(k: Keys, at_s: float | None) -> Steps:
    def broker(node: Node) -> BrokerId | str | None:
        return m.ANY_BROKER if kind(node) == repr(m.ANY_BROKER) else k.reader.broker(node)

    settings_none: dict[str, object] = {}
    any_broker: BrokerId | str = m.ANY_BROKER
    library = k.get("client", lambda n: k.reader.word(n, "client library", LIBRARIES), "librdkafka")
    step = m.LibraryProduce(
        library=library,
        broker=k.get("broker", broker, any_broker),
        values=_values(k),
        settings=k.get("settings", lambda n: _library_settings(k, n), settings_none),
        partition=k.partition(),
        at_s=at_s,
    )
    return [step]


def _library_settings(k: Keys, node: Node) -> dict[str, object]:
    """Settings by the library's own names; Kafka's rules validate their values."""
    read: dict[str, object] = {}
    for name, key, value in k.reader.pairs(node, "the library's settings"):
        given, setting = plain(value), BY_SCOPE[PRODUCER].get(LIBRDKAFKA_NAMES.get(name, ""))
        if name not in LIBRDKAFKA_NAMES:
            k.reader.problem(key, f"unknown setting {shown(name)}{nearest(name, LIBRDKAFKA_NAMES)}")
            continue
        try:
            librdkafka_settings({name: given if setting is None else usable_value(setting, given)})
            read[name] = given
        except (UnusableSetting, UnusableValue) as error:
            k.reader.problem(value, f"{name}: {str(error).removeprefix(f'{name}: ')}")
    return read


def fetch(k: Keys, at_s: float | None) -> Steps:
    broker, client = k.broker(), k.get("client", k.reader.client, "")
    offset = Offset(k.whole("offset", "offset", 0, high=OFFSET_MAX))
    committed = k.get("committed", lambda n: k.reader.truth(n, "committed"), False)
    step = m.Fetch(
        broker=broker, offset=offset, client=client, partition=k.partition(), committed=committed, at_s=at_s
    )
    return [step]


def list_offsets(k: Keys, at_s: float | None) -> Steps:
    return [m.ListOffsets(broker=k.broker(), partition=k.partition(), at_s=at_s)]


def metadata(k: Keys, at_s: float | None) -> Steps:
    return [m.AskMetadata(broker=k.broker(), partition=k.partition(), at_s=at_s)]
