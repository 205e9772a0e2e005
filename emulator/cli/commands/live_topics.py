"""Commands on topics and brokers of a running cluster: `topic list`, `reassign` and others."""

from typing import Any

from rich.console import Console

from emulator.cli.cluster_options import CLUSTER, WAIT, ClusterOptions, Topic, WaitOptions
from emulator.cli.commands.command_errors import CommandFailed, reports_errors
from emulator.cli.commands.control_calls import ask_cluster
from emulator.cli.commands.live_clients import MARKED, brokers_of, error_text, settings_given, show_notes, show_topics
from emulator.cli.play_options import Listed, Setting
from emulator.cluster.control_requests import (
    AddPartitions,
    AlterBroker,
    AlterTopic,
    DeleteTopic,
    DescribeTopic,
    Reassign,
    TopicOffsets,
)
from emulator.exit_codes import BROKEN, HELD
from emulator.faults.targets import target_in
from protocol.ids import BrokerId
from protocol.numbers import number_in


@reports_errors("topic list")
def list_topics_command(*, options: ClusterOptions = CLUSTER) -> int:
    return ask_cluster(options, DescribeTopic(), _show_list)


@reports_errors("topic offsets")
def topic_offsets_command(name: Topic, /, *, options: WaitOptions = WAIT) -> int:
    return ask_cluster(options, TopicOffsets(name), _show_offsets, _all_listed)


@reports_errors("topic delete")
def delete_topic_command(name: Topic, /, *, options: WaitOptions = WAIT) -> int:
    return ask_cluster(options, DeleteTopic(name), _show_deleted)


@reports_errors("topic alter")
def alter_topic_command(name: Topic, /, *, set_: Setting = (), remove: Listed = (), options: WaitOptions = WAIT) -> int:
    """Alter a topic's settings.

    Parameters
    ----------
    set_
        A topic-level setting, `key=value`; repeatable.
    remove
        Remove a topic-level override; repeatable.
    """
    return ask_cluster(options, AlterTopic(name, settings_given(set_), list(remove)), _show_altered)


@reports_errors("broker alter")
def alter_broker_command(
    broker: str, /, *, set_: Setting = (), remove: Listed = (), options: WaitOptions = WAIT
) -> int:
    """Alter a broker's settings.

    Parameters
    ----------
    broker
        A broker such as broker-0, a role such as leader:t-0, or all.
    set_
        A setting, `key=value`; repeatable. docs/settings.md lists the settings that can be altered.
    remove
        Remove a dynamic override, so that the broker's file applies again; repeatable.
    """
    number, target = number_in(broker.removeprefix("broker-")), target_in(broker)
    given = settings_given(set_)
    if broker != "all" and number is None and target is None:
        raise CommandFailed(f"{broker!r}: no broker; write broker-0, a role such as leader:t-0, or all")
    ask = AlterBroker(target if number is None else BrokerId(number), given, list(remove))
    return ask_cluster(options, ask, _show_altered)


@reports_errors("topic add-partitions")
def add_partitions_command(
    name: Topic, partitions: int, /, *, assignment: Listed = (), options: WaitOptions = WAIT
) -> int:
    """Add partitions.

    Parameters
    ----------
    partitions
        The new total number of partitions.
    assignment
        Brokers of one new partition: 0,1,2; repeat it for each. By default placed as Kafka's admin tool places them.
    """
    return ask_cluster(options, AddPartitions(name, partitions, list(map(brokers_of, assignment))), show_topics)


@reports_errors("reassign")
def reassign_command(*moves: str, options: WaitOptions = WAIT) -> int:
    """Move partitions.

    Parameters
    ----------
    moves
        A partition and its new replicas, the preferred leader first: t-0=2,3; repeatable.
    """
    targets: dict[str, list[BrokerId]] = {}
    for move in moves:
        partition, equals, replicas = move.partition("=")
        if not equals or partition in targets:
            why = "is named twice" if equals else "a partition and its replicas, such as t-0=2,3"
            raise CommandFailed(f"{move!r}: {why}")
        targets[partition] = brokers_of(replicas)
    if not targets:
        raise CommandFailed("no partitions; give moves such as t-0=2,3")
    return ask_cluster(options, Reassign(targets), _show_moved)


# --- as text --------------------------------------------------------------------------------------------------------


def _show_list(out: Console, result: dict[str, Any]) -> None:
    for topic, partitions in result["topics"].items():
        replicas = sorted({len(one["replicas"]) for one in partitions})
        led = sum((one["leader"] or 0) >= 0 and one["leader"] is not None for one in partitions)
        count = f"{len(partitions)} partition{'' if len(partitions) == 1 else 's'}"
        marked = f", {MARKED}" if topic in result["marked_for_deletion"] else ""
        out.print(f"{topic}: {count}, {led} led, replicas {'-'.join(map(str, replicas))}{marked}", markup=False)
    if not result["topics"]:
        out.print("there are no topics")


def _show_altered(out: Console, result: dict[str, Any]) -> None:
    """Print altered settings of a topic, of a broker, or of all brokers."""
    if "set" not in result:
        return
    if "topic" in result:
        subject, before = result["topic"], "the cluster has"
    elif result["broker"] is None:
        subject, before = "all brokers", "their files have"
    else:
        subject, before = f"broker-{result['broker']}", "its file has"
    for name, value in result["set"].items():
        out.print(f"{subject}: {name}={value}", markup=False)
    for name in result["removed"]:
        out.print(f"{subject}: {name} as {before} it", markup=False)
    show_notes(out, result)


def _all_listed(result: dict[str, Any]) -> int:
    return HELD if all(one["error"] == 0 for one in result["partitions"]) else BROKEN


def _show_offsets(out: Console, result: dict[str, Any]) -> None:
    for one in result.get("partitions", ()):
        if one["error"] == 0:
            extent = f"{one['earliest']} to {one['latest']}, by its leader, broker-{one['leader']}"
        elif one["leader"] is None:
            extent = "unknown: no leader"
        else:
            extent = f"its leader, broker-{one['leader']}, returned {error_text(one['error'])}"
        out.print(f"{result['topic']}-{one['partition']}: {extent}", markup=False)
        for replica in one["replicas"]:
            out.print(f"  broker-{replica['broker']}: {_held(replica)}", markup=False)


def _held(replica: dict[str, Any]) -> str:
    if "why" in replica:
        return str(replica["why"])
    epoch = "" if replica["leader_epoch"] is None else f", epoch {replica['leader_epoch']}"
    leads = ", leads" if replica["is_leader"] else ""
    log = f"log {replica['log_start']} to {replica['log_end']}"
    return f"{log}, high watermark {replica['high_watermark']}{epoch}{leads}"


def _show_deleted(out: Console, result: dict[str, Any]) -> None:
    if result.get("deleted"):
        out.print(f"{result['topic']}: deleted", markup=False)


def _show_moved(out: Console, result: dict[str, Any]) -> None:
    for name, replicas in result.get("moved", {}).items():
        out.print(f"{name}: moved to {','.join(map(str, replicas))}", markup=False)
