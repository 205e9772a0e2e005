"""The verbs of single requests about transactions (`transaction_steps`)."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import msgspec
from ruamel.yaml.nodes import Node

from emulator.scenario import scenario_model as m
from emulator.scenario.step_reader import Keys, Steps, Verb
from protocol.ids import OFFSET_MAX

EPOCHS_MAX: Final = 32_767
PRODUCERS_MAX: Final = 1_000
TIMEOUT_MS_MAX: Final = 2**31 - 1

DOES: Final[dict[type[m.TransactionStep], str]] = {
    m.InitProducerId: "Requests the producer id of a transactional id.",
    m.FindCoordinator: "Requests the coordinator of the transactional id `key`.",
    m.AddPartitionsToTxn: "Adds partitions to a transaction.",
    m.AddOffsetsToTxn: "Adds the offsets of a group to a transaction.",
    m.TxnOffsetCommit: "Commits an offset of a group as part of a transaction.",
    m.EndTxn: "Commits or aborts a transaction.",
    m.ProduceBatch: "Writes one batch with a producer's id, epoch and sequence.",
    m.FetchBatches: "A consumer's fetch at an isolation level, with its batches and aborted transactions.",
    m.OffsetFetch: "Requests a group's committed offset, with `stable` not one of an open transaction.",
    m.DescribeProducers: "Requests the producers of a partition, with their open transactions.",
    m.DescribeTransaction: "Requests the state of a transactional id from its coordinator.",
}


def _integer(what: str, low: int, high: int) -> Callable[[Keys, Node], Any]:
    return lambda k, node: k.reader.integer(node, what, low, high)


def _text_or_none(k: Keys, node: Node) -> Any:
    return k.reader.label(node)


FIELDS: Final[dict[str, Callable[[Keys, Node], Any]]] = {
    "broker": lambda k, node: k.reader.broker(node),
    "socket_timeout_s": lambda k, node: k.reader.number(node, "socket_timeout_s", 0, 3_600),
    "transactional_id": _text_or_none,
    "timeout_ms": _integer("timeout_ms", -1, TIMEOUT_MS_MAX),
    "repeat": lambda k, node: k.reader.truth(node, "repeat"),
    "key": lambda k, node: k.reader.label(node),
    "producer": _integer("a producer's number", -1, PRODUCERS_MAX),
    "epoch": _integer("epoch", -1, EPOCHS_MAX),
    "partitions": lambda k, node: k.reader.each(node, "partitions", k.reader.partition, single=True),
    "partition": lambda k, node: k.reader.partition(node),
    "group": lambda k, node: k.reader.group(node),
    "offset": _integer("offset", 0, OFFSET_MAX),
    "version": _integer("version", 0, 5),
    "commits": lambda k, node: k.reader.truth(node, "commits"),
    "v5": lambda k, node: k.reader.truth(node, "v5"),
    "values": lambda k, node: k.reader.values(node),
    "sequence": _integer("sequence", -1, 2**31 - 1),
    "v12": lambda k, node: k.reader.truth(node, "v12"),
    "txn_batch": lambda k, node: k.reader.truth(node, "txn_batch"),
    "committed": lambda k, node: k.reader.truth(node, "committed"),
    "stable": lambda k, node: k.reader.truth(node, "stable"),
}
"""{field: its reader}"""


def internal_topics(k: Keys, at_s: float | None) -> Steps:
    """Topics and their replicas; each has one partition."""

    def read(node: Node) -> tuple[tuple[str, tuple[Any, ...]], ...]:
        found = []
        for topic, _, value in k.reader.pairs(node, "assignments"):
            found.append((topic, k.reader.each(value, "brokers", k.reader.broker)))
            k.reader.partitions.add(f"{topic}-0")
        return tuple(found)

    return [m.InternalTopics(assignments=k.need("assignments", read), at_s=at_s)]


def transaction_verb(kind: type[m.TransactionStep]) -> Verb:
    """The verb of one step; its keys are the step's fields."""
    fields = [field for field in msgspec.structs.fields(kind) if field.name != "at_s"]
    names = tuple(field.name for field in fields)

    def read(k: Keys, at_s: float | None) -> Steps:
        given: dict[str, Any] = {name: k.need(name, partial(FIELDS[name], k)) for name in names if name in k}
        if kind is m.ProduceBatch:
            given.setdefault("transactional_id", None)
        return [] if k.failed else [kind(**given, at_s=at_s)]

    may_miss = {"transactional_id"} if kind is m.ProduceBatch else set()
    required = tuple(field.name for field in fields if field.required and field.name not in may_miss)
    return Verb(does=DOES[kind], read=read, keys=names, required=required)


TRANSACTION_VERBS: Final[dict[str, Verb]] = {
    "internal-topics": Verb(
        does="Creates the internal topics and another topic with these replicas, and waits for their coordinators.",
        read=internal_topics, keys=("assignments",), required=("assignments",), short="assignments",
    ),
    **{step.VERB: transaction_verb(step) for step in m.TRANSACTION_STEPS},
}  # fmt: skip
