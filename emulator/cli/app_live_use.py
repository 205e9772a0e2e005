"""Commands that use a running cluster: topics, records, preferred leaders, workloads."""

from collections.abc import Sequence
from typing import Annotated

from cyclopts import App, Parameter

from emulator.cli.app_live import LIVE
from emulator.cli.cluster_options import DEFAULTS, WAITING, ClusterOptions, Waiting
from emulator.cli.play_options import Files, Setting

app = App(name="use")
topic_app = App(name="topic", help="Topics of a running cluster.", group=LIVE)
broker_app = App(name="broker", help="Brokers of a running cluster.", group=LIVE)
workload_app = App(name="workload", help="Producers and consumers that run in the background.", group=LIVE)

Listed = Annotated[list[str] | None, Parameter(negative=())]


def _no_option(_: object, values: Sequence[str]) -> None:
    """Reject a value that looks like a misspelt option.

    A value may begin with a hyphen, and - is standard input.
    """
    for value in values:
        if value.startswith("--"):
            raise ValueError(f"there is no option {value}; a value that begins with -- comes from standard input (-)")


Values = Annotated[list[str], Parameter(negative=(), allow_leading_hyphen=True, validator=_no_option)]


def add_to(main: App) -> None:
    """Mount every command of this module beside those of `main`."""
    main.command(topic_app)
    main.command(broker_app)
    main.command(workload_app)
    for name in ("produce", "consume", "elect-preferred", "reassign"):
        app[name].group = LIVE
        main.command(app[name], name=name)


@topic_app.command(name="create")
def topic_create(
    name: str,
    /,
    *,
    assignment: Listed = None,
    partitions: int = 0,
    replicas: int = 0,
    set_: Setting = None,
    settings: Files = None,
    options: Waiting = WAITING,
) -> int:
    """Create a topic; returns when every partition has a leader.

    Parameters
    ----------
    name
        The topic's name.
    assignment
        Brokers of one partition, the preferred leader first: 0,1,2; repeat it for each partition.
    partitions
        Number of partitions, placed as Kafka's admin tool places them (instead of --assignment).
    replicas
        With --partitions: number of replicas of each partition.
    set_
        A topic-level setting, `key=value`; repeatable.
    settings
        A .properties file with topic-level settings; repeatable.
    """
    from emulator.cli.commands.live_clients import create_topic_command

    call = options.call("topic create")
    return create_topic_command(call, name, assignment or (), partitions, replicas, set_ or (), settings or ())


@topic_app.command(name="describe")
def topic_describe(name: str = "", /, *, options: ClusterOptions = DEFAULTS) -> int:
    """Show leader, epoch, replicas and in-sync replicas, and brokers with another view.

    Parameters
    ----------
    name
        The topic's name; by default all topics.
    """
    from emulator.cli.commands.live_clients import describe_topic_command

    return describe_topic_command(options.call("topic describe"), name)


@topic_app.command(name="list")
def topic_list(*, options: ClusterOptions = DEFAULTS) -> int:
    """List every topic with its numbers of partitions, replicas and partitions with a leader."""
    from emulator.cli.commands.live_topics import list_topics_command

    return list_topics_command(options.call("topic list"))


@topic_app.command(name="offsets")
def topic_offsets(name: str, /, *, options: Waiting = WAITING) -> int:
    """Show the offset range of a topic's partitions: for consumers, and of each replica.

    Parameters
    ----------
    name
        The topic's name.
    """
    from emulator.cli.commands.live_topics import topic_offsets_command

    return topic_offsets_command(options.call("topic offsets"), name)


@topic_app.command(name="delete")
def topic_delete(name: str, /, *, options: Waiting = WAITING) -> int:
    """Delete a topic and its records; returns when every replica is deleted.

    A replica on a stopped broker delays the deletion until the broker returns.

    Parameters
    ----------
    name
        The topic's name.
    """
    from emulator.cli.commands.live_topics import delete_topic_command

    return delete_topic_command(options.call("topic delete"), name)


@topic_app.command(name="alter")
def topic_alter(
    name: str,
    /,
    *,
    set_: Setting = None,
    remove: Listed = None,
    options: Waiting = WAITING,
) -> int:
    """Alter a topic's settings; returns when the brokers are notified.

    Parameters
    ----------
    name
        The topic's name.
    set_
        A topic-level setting, `key=value`; repeatable.
    remove
        Remove a topic-level override; repeatable.
    """
    from emulator.cli.commands.live_topics import alter_topic_command

    return alter_topic_command(options.call("topic alter"), name, set_ or (), remove or ())


@broker_app.command(name="alter")
def broker_alter(
    broker: str,
    /,
    *,
    set_: Setting = None,
    remove: Listed = None,
    options: Waiting = WAITING,
) -> int:
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

    return alter_broker_command(options.call("broker alter"), broker, set_ or (), remove or ())


@topic_app.command(name="add-partitions")
def topic_add_partitions(
    name: str,
    partitions: int,
    /,
    *,
    assignment: Listed = None,
    options: Waiting = WAITING,
) -> int:
    """Add partitions to a topic; returns when each new one has a leader.

    Parameters
    ----------
    name
        The topic's name.
    partitions
        The new total number of partitions.
    assignment
        Brokers of one new partition: 0,1,2; repeat it for each. By default placed as Kafka's admin tool places them.
    """
    from emulator.cli.commands.live_topics import add_partitions_command

    call = options.call("topic add-partitions")
    return add_partitions_command(call, name, partitions, assignment or ())


@app.command
def reassign(*moves: str, options: Waiting = WAITING) -> int:
    """Move partitions to other brokers; returns when the controller has moved all.

    Parameters
    ----------
    moves
        A partition and its new replicas, the preferred leader first: t-0=2,3; repeatable.
    """
    from emulator.cli.commands.live_topics import reassign_command

    return reassign_command(options.call("reassign"), moves)


@app.command
def produce(
    topic: str,
    values: Values,
    /,
    *,
    partition: int = 0,
    acks: str = "1",
    broker: int | None = None,
    retries: int = 0,
    timeout_ms: int = 1000,
    idempotent: bool = False,
    client_version: str = "",
    az: str = "",
    key_separator: str | None = None,
    options: Waiting = WAITING,
) -> int:
    """Write values and show every attempt. Exit code 1 when a value was not acknowledged.

    Parameters
    ----------
    topic
        The topic's name.
    values
        Values, one record each, in order; - for the lines of standard input.
    partition
        Number of the topic's partition.
    acks
        Acknowledgements that the leader waits for: 0, 1 or all.
    broker
        Send to this broker, even if it is not the leader.
    retries
        Number of retries of each value.
    timeout_ms
        Time limit of a request at the broker, in milliseconds.
    idempotent
        Use an idempotent producer, which looks up the leader.
    client_version
        Use a producer of this version of Kafka's Java client, e.g. 2.8 or 3.9. It is idempotent by default since 3.0,
        where acks and retries allow it.
    az
        Use the client in this AZ, which learns the leader from that AZ's broker; by default a client outside every AZ.
    key_separator
        Separator of key and value in each of the values; the producer's partitioner then chooses by the key.
    """
    from emulator.cli.commands.live_clients import produce_command

    return produce_command(
        options.call("produce"),
        acks,
        topic=topic,
        values=values,
        partition=partition,
        broker=broker,
        retries=retries,
        timeout_ms=timeout_ms,
        idempotent=idempotent,
        client_version=client_version,
        az=az,
        key_separator=key_separator,
    )


@app.command
def consume(
    topic: str,
    /,
    *,
    partition: int = 0,
    offset: int = 0,
    records_max: int = 100,
    broker: int | None = None,
    az: str = "",
    options: Waiting = WAITING,
) -> int:
    """Read records up to the high watermark. Exit code 1 when the broker returns an error.

    Parameters
    ----------
    topic
        The topic's name.
    partition
        Number of the topic's partition.
    offset
        First offset to read.
    records_max
        Maximum number of records.
    broker
        Fetch from this broker, even if it is not the leader.
    az
        Use the client in this AZ, which learns the leader from that AZ's broker; by default a client outside every AZ.
    """
    from emulator.cli.commands.live_clients import consume_command
    from emulator.cluster.control_requests import Consume
    from protocol.ids import BrokerId, Offset

    target = None if broker is None else BrokerId(broker)
    ask = Consume(topic, partition, Offset(offset), records_max, target, az)
    return consume_command(options.call("consume"), ask)


@app.command
def elect_preferred(*partitions: str, options: Waiting = WAITING) -> int:
    """Elect the preferred leaders of partitions.

    Parameters
    ----------
    partitions
        Partitions such as t-0; by default all.
    """
    from emulator.cli.commands.live_clients import elect_preferred_command

    return elect_preferred_command(options.call("elect-preferred"), partitions)


@workload_app.command(name="start")
def workload_start(
    topic: str,
    /,
    *,
    name: str = "load",
    rate: float = 10.0,
    acks: str | None = None,
    retries: int | None = None,
    idempotent: bool | None = None,
    client_version: str = "",
    value_bytes: int = 0,
    keys: int = 0,
    set_: Setting = None,
    settings: Files = None,
    consumers: bool = True,
    az: Listed = None,
    options: ClusterOptions = DEFAULTS,
) -> int:
    """Start producers and consumers in each AZ, until `workload stop`; records every operation.

    Parameters
    ----------
    topic
        The topic's name.
    name
        The workload's name.
    rate
        Records per second in each AZ.
    acks
        Acknowledgements: 0, 1 or all; by default the cluster's producer setting, else the client version's default.
    retries
        Number of retries; by default the cluster's producer setting, else the client version's default.
    idempotent
        Whether producers are idempotent; by default as in the client's version, where acks and retries allow it.
    client_version
        Version of Kafka's Java client, e.g. 2.8 or 3.9; by default the newest: idempotent, acks all.
    value_bytes
        Minimum size of each value, in bytes.
    keys
        Number of distinct keys, by which the partitioner chooses; 0: no keys, the partitions take turns.
    set_
        A producer setting, `key=value`; repeatable.
    settings
        A .properties file with producer settings; repeatable.
    consumers
        Also start consumers, which read every record.
    az
        Only in this AZ; repeatable.
    """
    from emulator.cli.commands.live_clients import start_workload_command

    return start_workload_command(
        options.call("workload start"),
        acks,
        set_ or (),
        settings or (),
        name=name,
        topic=topic,
        rate_per_s=rate,
        retries=retries,
        idempotent=idempotent,
        client_version=client_version,
        value_bytes=value_bytes,
        keys=keys,
        consumers=consumers,
        azs=list(az or ()),
    )


@workload_app.command(name="stop")
def workload_stop(
    name: str = "",
    /,
    *,
    at_once: Annotated[bool, Parameter(negative=())] = False,
    options: Waiting = WAITING,
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

    return stop_workload_command(options.call("workload stop"), name, at_once)


@workload_app.command(name="status")
def workload_status(*, options: ClusterOptions = DEFAULTS) -> int:
    """Show counts of sent, acknowledged, refused, unknown and read records, by client."""
    from emulator.cli.commands.live_clients import workload_status_command

    return workload_status_command(options.call("workload status"))
