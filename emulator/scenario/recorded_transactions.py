"""Transaction steps of a recording, with numbers in the place of producer ids.

A recording has an entry for each distinct answer of a repeated request. Of the limit of a request it has only the time
that it took.
"""

from collections.abc import Mapping
from typing import Any, Final

from emulator.scenario import transaction_steps as t
from emulator.scenario.observations.producer_numbers import ProducerNumbers
from protocol.ids import Offset, topic_partition_text

TV2: Final = "-tv2"
"""End of the name of a recording whose client has transaction version 2."""
RETRIABLE: Final = frozenset((14, 15, 16, 51))
"""Errors after which a repeated request is sent again."""
_FIRST_OF_VERSION_2: Final = 5


def answer_errors(saw: Mapping[str, Any]) -> list[Any]:
    """Errors of an answer: of the request, or of each partition."""
    return list(saw["errors"].values()) if "errors" in saw else [saw.get("error")]


def is_retriable(saw: Mapping[str, Any]) -> bool:
    """Whether a repeated request is sent again after this answer.

    An exception's name is no code.
    """
    return any(error in RETRIABLE or isinstance(error, str) for error in answer_errors(saw))


def continues(before: Mapping[str, Any], saw: Mapping[str, Any], entry: Mapping[str, Any]) -> bool:
    """Whether `entry` is the same repeated request as `before`, whose answer was `saw`."""
    same = {**before, "t": 0} == {**entry, "t": 0}
    return bool(entry.get("repeat")) and same and is_retriable(saw)


def transaction_step(
    entry: Mapping[str, Any], saw: Mapping[str, Any] | None, numbers: ProducerNumbers, scenario: str
) -> t.TransactionStep:
    """The step of a `do`. `saw`: its answer.

    Raises KeyError, TypeError, ValueError, AttributeError.
    """
    e = entry
    common: dict[str, Any] = {"broker": e["broker"]}
    if saw is not None and saw.get("error") == "TimeoutError":
        common["socket_timeout_s"] = float(round(saw["took_s"]))
    if "part" in e:
        common["partition"] = topic_partition_text(e["topic"], e["part"])
    if "pid" in e:
        common |= {"producer": numbers.number(e["pid"]), "epoch": e["epoch"]}
    if "txn" in e:
        common["transactional_id"] = e["txn"]
    if "repeat" in e:
        common["repeat"] = e["repeat"]
    match e["do"]:
        case "init-producer-id":
            return t.InitProducerId(timeout_ms=e["timeout_ms"], **common)
        case "find-coordinator":
            return t.FindCoordinator(key=e["key"], **common)
        case "add-partitions-to-txn":
            partitions = tuple(topic_partition_text(*one) for one in e["tps"])
            return t.AddPartitionsToTxn(partitions=partitions, **common)
        case "add-offsets-to-txn":
            return t.AddOffsetsToTxn(group=e["group"], **common)
        case "txn-offset-commit":
            version = _FIRST_OF_VERSION_2 if scenario.endswith(TV2) else 3
            return t.TxnOffsetCommit(group=e["group"], offset=Offset(e["offset"]), version=version, **common)
        case "end-txn":
            answered_so = saw is not None and "epoch" in saw
            return t.EndTxn(commits=e["commit"], v5=e.get("v5", answered_so), **common)
        case "produce":
            timeout_ms = e.get("timeout_ms", t.PRODUCE_TIMEOUT_MS)
            return t.ProduceBatch(
                values=tuple(e["values"]), sequence=e["seq"], v12=e["v12"], txn_batch=e.get("txn_batch", True),
                timeout_ms=timeout_ms, **common,
            )  # fmt: skip
        case "fetch":
            return t.FetchBatches(offset=Offset(e["offset"]), committed=e["committed"], **common)
        case "offset-fetch":
            return t.OffsetFetch(group=e["group"], stable=e["stable"], **common)
        case "describe-producers":
            return t.DescribeProducers(**common)
        case _:
            return t.DescribeTransaction(**common)
