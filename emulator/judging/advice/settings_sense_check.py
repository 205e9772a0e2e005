"""Rejects settings without any topic or without any successful write. Pure.

Kafka starts with such settings, and refuses topics or writes later; advice reports them at once, with file and line.
"""

from collections.abc import Iterator, Mapping
from operator import attrgetter

from emulator.judging.advice.advice_cluster import common_settings
from emulator.settings.accounting import Everything
from emulator.settings.applied import Given
from emulator.settings.setting import PRODUCER, TOPIC
from emulator.settings.setting_registry import UnusableSetting

FACTOR = "default.replication.factor"
LEAST = "min.insync.replicas"


def check_sense(everything: Everything, brokers: int, replicas: int) -> None:
    """Check all rules. `replicas`: default count.

    Raises UnusableSetting, a line for each broken rule.
    """
    if problems := list(_problems(everything, brokers, replicas)):
        raise UnusableSetting("\n".join(problems))


def _problems(everything: Everything, brokers: int, replicas: int) -> Iterator[str]:
    of_each = {broker: everything.of_broker(broker) for broker in everything.brokers}
    (of_brokers, _), producer = common_settings(of_each, attrgetter("value")), everything.of(PRODUCER)
    factor = of_brokers.get(FACTOR)
    many = int(str(factor.value)) if factor is not None else replicas
    if factor is not None and many > brokers:
        yield f"{_at(factor)}{FACTOR}={many} must not be more than the brokers, {brokers}: no topic could be created"
        return
    least = everything.of(TOPIC).get(LEAST) or of_brokers.get(LEAST)
    if least is not None and int(str(least.value)) > many and _waits_for_all(producer):
        limit = f"{FACTOR}={many}" if factor is not None else f"the replicas, {many}"
        why = "with acks=all nothing would ever be written"
        yield f"{_at(least, factor)}{LEAST}={least.value} must not be more than {limit}: {why}"


def _waits_for_all(producer: Mapping[str, Given]) -> bool:
    acks, safe = producer.get("acks"), producer.get("enable.idempotence")
    return (acks is not None and str(acks.value) in ("all", "-1")) or (safe is not None and safe.value is True)


def _at(*given: Given | None) -> str:
    places = dict.fromkeys(one.where for one in given if one is not None and one.where)
    return f"{' and '.join(places)}: " if places else ""
