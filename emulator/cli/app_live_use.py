"""Commands that use a running cluster: topics, records, preferred leaders, workloads."""

from collections.abc import Sequence
from typing import Annotated

from cyclopts import App, Parameter

from emulator.cli.app_live import LIVE
from emulator.cli.cluster_options import (
    CLUSTER,
    CONSUME,
    PRODUCE,
    TOPIC,
    WAIT,
    WORKLOAD,
    ClusterOptions,
    ConsumeOptions,
    ProduceOptions,
    TopicOptions,
    WaitOptions,
    WorkloadOptions,
)
from emulator.cli.play_options import Flag, Listed, Setting

app = App(name="use")
topic_app = App(name="topic", help="Topics of a running cluster.", group=LIVE)
broker_app = App(name="broker", help="Brokers of a running cluster.", group=LIVE)
workload_app = App(name="workload", help="Producers and consumers that run in the background.", group=LIVE)
for _app in (topic_app, broker_app, workload_app):
    app.command(_app)

Topic = Annotated[str, Parameter(help="The topic's name.")]


def _no_option(_: object, values: Sequence[str]) -> None:
    """Reject a value that looks like a misspelt option.

    A value may begin with a hyphen, and - is standard input.
    """
    for value in values:
        if value.startswith("--"):
            raise ValueError(f"there is no option {value}; a value that begins with -- comes from standard input (-)")


Values = Annotated[list[str], Parameter(negative=(), allow_leading_hyphen=True, validator=_no_option)]


@topic_app.command(name="create")
def topic_create(name: Topic, /, *, new: TopicOptions = TOPIC, options: WaitOptions = WAIT) -> int:
    """Create a topic; returns when every partition has a leader."""
    from emulator.cli.commands.live_clients import create_topic_command

    return create_topic_command(options, name, new)


@topic_app.command(name="describe")
def topic_describe(name: str = "", /, *, options: ClusterOptions = CLUSTER) -> int:
    """Show leader, epoch, replicas and in-sync replicas, and brokers with another view.

    Parameters
    ----------
    name
        The topic's name; by default all topics.
    """
    from emulator.cli.commands.live_clients import describe_topic_command

    return describe_topic_command(options, name)


@topic_app.command(name="list")
def topic_list(*, options: ClusterOptions = CLUSTER) -> int:
    """List every topic with its numbers of partitions, replicas and partitions with a leader."""
    from emulator.cli.commands.live_topics import list_topics_command

    return list_topics_command(options)


@topic_app.command(name="offsets")
def topic_offsets(name: Topic, /, *, options: WaitOptions = WAIT) -> int:
    """Show the offset range of a topic's partitions: for consumers, and of each replica."""
    from emulator.cli.commands.live_topics import topic_offsets_command

    return topic_offsets_command(options, name)


@topic_app.command(name="delete")
def topic_delete(name: Topic, /, *, options: WaitOptions = WAIT) -> int:
    """Delete a topic and its records; returns when every replica is deleted.

    A replica on a stopped broker delays the deletion until the broker returns.
    """
    from emulator.cli.commands.live_topics import delete_topic_command

    return delete_topic_command(options, name)


@topic_app.command(name="alter")
def topic_alter(name: Topic, /, *, set_: Setting = (), remove: Listed = (), options: WaitOptions = WAIT) -> int:
    """Alter a topic's settings; returns when the brokers are notified.

    Parameters
    ----------
    set_
        A topic-level setting, `key=value`; repeatable.
    remove
        Remove a topic-level override; repeatable.
    """
    from emulator.cli.commands.live_topics import alter_topic_command

    return alter_topic_command(options, name, set_, remove)


@broker_app.command(name="alter")
def broker_alter(broker: str, /, *, set_: Setting = (), remove: Listed = (), options: WaitOptions = WAIT) -> int:
    """Alter a running broker's settings (Kafka 1.1 or later); returns when brokers are notified.

    Parameters
    ----------
    broker
        A broker such as broker-0, a role such as leader:t-0, or all.
    set_
        A setting, `key=value`; repeatable. docs/settings.md lists the settings that can be altered.
    remove
        Remove a dynamic override, so that the broker's file applies again; repeatable.
    """
    from emulator.cli.commands.live_topics import alter_broker_command

    return alter_broker_command(options, broker, set_, remove)


@topic_app.command(name="add-partitions")
def topic_add_partitions(
    name: Topic,
    partitions: int,
    /,
    *,
    assignment: Listed = (),
    options: WaitOptions = WAIT,
) -> int:
    """Add partitions to a topic; returns when each new one has a leader.

    Parameters
    ----------
    partitions
        The new total number of partitions.
    assignment
        Brokers of one new partition: 0,1,2; repeat it for each. By default placed as Kafka's admin tool places them.
    """
    from emulator.cli.commands.live_topics import add_partitions_command

    return add_partitions_command(options, name, partitions, assignment)


@app.command(group=LIVE)
def reassign(*moves: str, options: WaitOptions = WAIT) -> int:
    """Move partitions to other brokers; returns when the controller has moved all.

    Parameters
    ----------
    moves
        A partition and its new replicas, the preferred leader first: t-0=2,3; repeatable.
    """
    from emulator.cli.commands.live_topics import reassign_command

    return reassign_command(options, moves)


@app.command(group=LIVE)
def produce(topic: Topic, values: Values, /, *, producer: ProduceOptions = PRODUCE, options: WaitOptions = WAIT) -> int:
    """Write values and show every attempt. Exit code 1 when a value was not acknowledged.

    Parameters
    ----------
    values
        Values, one record each, in order; - for the lines of standard input.
    """
    from emulator.cli.commands.live_clients import produce_command

    return produce_command(options, topic, values, producer)


@app.command(group=LIVE)
def consume(topic: Topic, /, *, records: ConsumeOptions = CONSUME, options: WaitOptions = WAIT) -> int:
    """Read records up to the high watermark. Exit code 1 when the broker returns an error."""
    from emulator.cli.commands.live_clients import consume_command

    return consume_command(options, topic, records)


@app.command(group=LIVE)
def elect_preferred(*partitions: str, options: WaitOptions = WAIT) -> int:
    """Elect the preferred leaders of partitions.

    Parameters
    ----------
    partitions
        Partitions such as t-0; by default all.
    """
    from emulator.cli.commands.live_clients import elect_preferred_command

    return elect_preferred_command(options, partitions)


@workload_app.command(name="start")
def workload_start(topic: Topic, /, *, workload: WorkloadOptions = WORKLOAD, options: ClusterOptions = CLUSTER) -> int:
    """Start producers and consumers in each AZ, until `workload stop`; records every operation."""
    from emulator.cli.commands.live_clients import start_workload_command

    return start_workload_command(options, topic, workload)


@workload_app.command(name="stop")
def workload_stop(
    name: str = "",
    /,
    *,
    at_once: Flag = False,
    options: WaitOptions = WAIT,
) -> int:
    """Stop workloads; returns when every operation in flight has ended.

    Parameters
    ----------
    name
        The workload's name; by default all workloads.
    at_once
        Do not wait for operations in flight; their outcome is unknown.
    """
    from emulator.cli.commands.live_clients import stop_workload_command

    return stop_workload_command(options, name, at_once)


@workload_app.command(name="status")
def workload_status(*, options: ClusterOptions = CLUSTER) -> int:
    """Show counts of sent, acknowledged, refused, unknown and read records, by client."""
    from emulator.cli.commands.live_clients import workload_status_command

    return workload_status_command(options)
