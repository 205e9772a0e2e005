"""The verbs of groups: consume, commit, committed."""

from ruamel.yaml.nodes import Node

from emulator.scenario import scenario_model as m
from emulator.scenario.step_reader import Keys, Steps
from emulator.settings.setting import CONSUMER
from protocol.ids import EPOCH_UNKNOWN, OFFSET_MAX, LeaderEpoch, Offset


def _settings(k: Keys) -> dict[str, object]:
    def read(node: Node) -> dict[str, object]:
        return k.reader.settings_of(CONSUMER, node, "the consumer's settings")

    none: dict[str, object] = {}
    return k.get("settings", read, none)


def _old(k: Keys) -> bool:
    return k.get("old", lambda n: k.reader.truth(n, "old"), False)


def consume(k: Keys, at_s: float | None) -> Steps:
    def partitions(node: Node) -> tuple[str, ...]:
        return k.reader.each(node, "partitions", k.reader.partition, single=True)

    step = m.Consume(
        group=k.need("group", k.reader.group),
        partitions=k.get("partitions", partitions, ()),
        old=_old(k),
        settings=_settings(k),
        at_least_s=k.seconds("at_least_s", 0),
        limit_s=k.seconds("limit_s", 30),
        client=k.get("client", k.reader.client, ""),
        at_s=at_s,
    )
    return [step]


def commit(k: Keys, at_s: float | None) -> Steps:
    step = m.Commit(
        group=k.need("group", k.reader.group),
        offset=Offset(k.whole("offset", "offset", high=OFFSET_MAX)),
        leader_epoch=LeaderEpoch(k.whole("leader_epoch", "leader_epoch", EPOCH_UNKNOWN, low=-1)),
        old=_old(k),
        settings=_settings(k),
        limit_s=k.seconds("limit_s", 60),
        client=k.get("client", k.reader.client, ""),
        partition=k.partition(),
        at_s=at_s,
    )
    return [step]


def committed(k: Keys, at_s: float | None) -> Steps:
    step = m.LookCommitted(
        group=k.need("group", k.reader.group),
        old=_old(k),
        settings=_settings(k),
        limit_s=k.seconds("limit_s", 60),
        client=k.get("client", k.reader.client, ""),
        partition=k.partition(),
        at_s=at_s,
    )
    return [step]
