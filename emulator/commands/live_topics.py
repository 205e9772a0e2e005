"""Live changes of topics: `topic list`, `topic alter`, `topic add-partitions`, `reassign`."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console

from emulator.commands.live_asking import Asking, ask_cluster, refused
from emulator.commands.live_clients import brokers_of, settings_given, show_topics
from emulator.live.requests import AddPartitions, AlterTopic, DescribeTopic, Reassign


def list_topics_command(asking: Asking) -> int:
    return ask_cluster(asking, DescribeTopic(), _show_list)


def alter_topic_command(asking: Asking, topic: str, settings: Sequence[str], removed: Sequence[str]) -> int:
    try:
        given = settings_given(settings)
    except ValueError as error:
        return refused(asking.command, error)
    return ask_cluster(asking, AlterTopic(topic, given, list(removed)), _show_altered)


def add_partitions_command(asking: Asking, topic: str, partitions: int, assignment: Sequence[str]) -> int:
    """`assignment`: one text such as `0,1,2` per new partition."""
    try:
        brokers = [brokers_of(text) for text in assignment]
    except ValueError as error:
        return refused(asking.command, error)
    return ask_cluster(asking, AddPartitions(topic, partitions, brokers), show_topics)


def reassign_command(asking: Asking, moves: Sequence[str]) -> int:
    """`moves`: texts such as `t-0=2,3`."""
    targets: dict[str, list[int]] = {}
    for move in moves:
        partition, equals, replicas = move.partition("=")
        if not equals or partition in targets:
            why = "is named twice" if equals else "a partition and its replicas, such as t-0=2,3"
            return refused(asking.command, f"{move!r}: {why}")
        try:
            targets[partition] = brokers_of(replicas)
        except ValueError as error:
            return refused(asking.command, error)
    if not targets:
        return refused(asking.command, "which partitions, to where? such as t-0=2,3")
    return ask_cluster(asking, Reassign(targets), _show_moved)


# --- as text --------------------------------------------------------------------------------------------------------


def _show_list(out: Console, result: dict[str, Any]) -> None:
    for topic, partitions in result["topics"].items():
        replicas = sorted({len(one["replicas"]) for one in partitions})
        led = sum((one["leader"] or 0) >= 0 and one["leader"] is not None for one in partitions)
        count = f"{len(partitions)} partition{'' if len(partitions) == 1 else 's'}"
        out.print(f"{topic}: {count}, {led} led, replicas {'-'.join(map(str, replicas))}", markup=False)
    if not result["topics"]:
        out.print("there are no topics")


def _show_altered(out: Console, result: dict[str, Any]) -> None:
    if "topic" not in result:
        return
    for name, value in result["set"].items():
        out.print(f"{result['topic']}: {name}={value}", markup=False)
    for name in result["removed"]:
        out.print(f"{result['topic']}: {name} as the cluster has it", markup=False)


def _show_moved(out: Console, result: dict[str, Any]) -> None:
    for name, replicas in result.get("moved", {}).items():
        out.print(f"{name}: moved to {','.join(map(str, replicas))}", markup=False)
