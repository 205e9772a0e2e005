"""Settings with which there would be nothing to ask: no topic, or nothing that is ever written. Pure.

Kafka starts with them, and refuses topics or writes later; whoever asks for advice is told at once, with file and line.
"""

from collections.abc import Iterator, Mapping

from emulator.settings.accounting import Everything
from emulator.settings.applied import Given
from emulator.settings.registry import UnusableSetting
from emulator.settings.setting import PRODUCER, TOPIC

FACTOR = "default.replication.factor"
LEAST = "min.insync.replicas"


def check_sense(everything: Everything, brokers: int, replicas: int) -> None:
    """`replicas`: where nobody says so many. Raises UnusableSetting, one line for each rule that is broken."""
    if told := list(_told(everything, brokers, replicas)):
        raise UnusableSetting("\n".join(told))


def _told(everything: Everything, brokers: int, replicas: int) -> Iterator[str]:
    of_brokers, producer = _said_by_all(everything), everything.of(PRODUCER)
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


def _said_by_all(everything: Everything) -> dict[str, Given]:
    """To all of them at once, or to each in a file of its own."""
    first, *others = map(everything.of_broker, everything.brokers)
    return {
        name: one for name, one in first.items() if all(name in own and own[name].value == one.value for own in others)
    }


def _waits_for_all(producer: Mapping[str, Given]) -> bool:
    acks, safe = producer.get("acks"), producer.get("enable.idempotence")
    return (acks is not None and str(acks.value) in ("all", "-1")) or (safe is not None and safe.value is True)


def _at(*given: Given | None) -> str:
    places = dict.fromkeys(one.where for one in given if one is not None and one.where)
    return f"{' and '.join(places)}: " if places else ""
