"""The words of using a cluster that stays: topics, records, preferred leaders, workloads."""

from collections.abc import Sequence
from typing import Annotated

from cyclopts import App, Parameter

from emulator.cli.app_live import LIVE, Files, Setting
from emulator.cli.asked import ASKED, WAITING, Asked, Waiting

app = App(name="use")
topic_app = App(name="topic", help="Topics of a cluster that stays.", group=LIVE)
broker_app = App(name="broker", help="Brokers of a cluster that stays.", group=LIVE)
workload_app = App(name="workload", help="Producers and consumers that go on by themselves.", group=LIVE)

Listed = Annotated[list[str] | None, Parameter(negative=())]


def _no_option(_: object, values: Sequence[str]) -> None:
    """A value may begin with a hyphen, and - is standard input; what looks like an option is a slip of the pen."""
    for value in values:
        if value.startswith("--"):
            raise ValueError(f"there is no option {value}; a value that begins with -- comes from standard input (-)")


Values = Annotated[list[str], Parameter(negative=(), allow_leading_hyphen=True, validator=_no_option)]


def add_to(main: App) -> None:
    """Mounts every command here beside those of `main`."""
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
    asked: Waiting = WAITING,
) -> int:
    """Create a topic; done when every partition has a leader.

    Parameters
    ----------
    name
        The topic's name.
    assignment
        Brokers of one partition, the preferred leader first: 0,1,2; repeat it for each partition.
    partitions
        Instead of an assignment: how many, placed as Kafka's admin tool places them.
    replicas
        Of each of them.
    set_
        A setting of the topic, `key=value`; repeatable.
    settings
        A .properties file of them; repeatable.
    """
    from emulator.cli.commands.live_clients import create_topic_command

    asking = asked.asking("topic create")
    return create_topic_command(asking, name, assignment or (), partitions, replicas, set_ or (), settings or ())


@topic_app.command(name="describe")
def topic_describe(name: str = "", /, *, asked: Asked = ASKED) -> int:
    """Leader, epoch, replicas and in-sync replicas, and which brokers believe something else.

    Parameters
    ----------
    name
        The topic's name; all if none is given.
    """
    from emulator.cli.commands.live_clients import describe_topic_command

    return describe_topic_command(asked.asking("topic describe"), name)


@topic_app.command(name="list")
def topic_list(*, asked: Asked = ASKED) -> int:
    """Every topic, with how many partitions and replicas it has, and how many partitions are led."""
    from emulator.cli.commands.live_topics import list_topics_command

    return list_topics_command(asked.asking("topic list"))


@topic_app.command(name="offsets")
def topic_offsets(name: str, /, *, asked: Waiting = WAITING) -> int:
    """Where a topic's partitions begin and end: for consumers, by their leaders, and each replica's log.

    Parameters
    ----------
    name
        The topic's name.
    """
    from emulator.cli.commands.live_topics import topic_offsets_command

    return topic_offsets_command(asked.asking("topic offsets"), name)


@topic_app.command(name="delete")
def topic_delete(name: str, /, *, asked: Waiting = WAITING) -> int:
    """Delete a topic and all that is in it; done when every replica is deleted.

    A replica on a broker that does not run holds it up until the broker is back.

    Parameters
    ----------
    name
        The topic's name.
    """
    from emulator.cli.commands.live_topics import delete_topic_command

    return delete_topic_command(asked.asking("topic delete"), name)


@topic_app.command(name="alter")
def topic_alter(
    name: str,
    /,
    *,
    set_: Setting = None,
    remove: Listed = None,
    asked: Waiting = WAITING,
) -> int:
    """Alter a topic's settings while it is used; done when brokers are notified.

    Parameters
    ----------
    name
        The topic's name.
    set_
        A setting of the topic, `key=value`; repeatable.
    remove
        A setting that is to be as the cluster has it again; repeatable.
    """
    from emulator.cli.commands.live_topics import alter_topic_command

    return alter_topic_command(asked.asking("topic alter"), name, set_ or (), remove or ())


@broker_app.command(name="alter")
def broker_alter(
    broker: str,
    /,
    *,
    set_: Setting = None,
    remove: Listed = None,
    asked: Waiting = WAITING,
) -> int:
    """Give a broker settings while it runs (Kafka 1.1 on); done when brokers are notified.

    Parameters
    ----------
    broker
        broker-0, or all.
    set_
        A setting, `key=value`; repeatable. Which can be altered: docs/settings.md.
    remove
        A setting that is to be as the broker's file has it again; repeatable.
    """
    from emulator.cli.commands.live_topics import alter_broker_command

    return alter_broker_command(asked.asking("broker alter"), broker, set_ or (), remove or ())


@topic_app.command(name="add-partitions")
def topic_add_partitions(
    name: str,
    partitions: int,
    /,
    *,
    assignment: Listed = None,
    asked: Waiting = WAITING,
) -> int:
    """Let a topic have more partitions; done when each new one has a leader.

    Parameters
    ----------
    name
        The topic's name.
    partitions
        How many it has from then on.
    assignment
        Brokers of one new partition: 0,1,2; repeat it for each. Without it they are placed as Kafka's admin tool does.
    """
    from emulator.cli.commands.live_topics import add_partitions_command

    asking = asked.asking("topic add-partitions")
    return add_partitions_command(asking, name, partitions, assignment or ())


@app.command
def reassign(*moves: str, asked: Waiting = WAITING) -> int:
    """Move partitions to other brokers; done when the controller has moved them all.

    Parameters
    ----------
    moves
        A partition and its replicas, the preferred leader first: t-0=2,3.
    """
    from emulator.cli.commands.live_topics import reassign_command

    return reassign_command(asked.asking("reassign"), moves)


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
    asked: Waiting = WAITING,
) -> int:
    """Write values; every attempt is shown. Exit code 1 when one was not acknowledged.

    Parameters
    ----------
    topic
        The topic's name.
    values
        One record each, in order; - for the lines of standard input.
    partition
        Of the topic.
    acks
        0, 1 or all.
    broker
        Whom to ask, whoever leads.
    retries
        More attempts at each value.
    timeout_ms
        How long the broker may take.
    idempotent
        By an idempotent producer, which finds the leader by itself.
    client_version
        By a producer of that version of Kafka's Java client, e.g. 2.8 or 3.9: idempotent by default since 3.0, where
        acks and retries allow it.
    az
        By the client in that AZ, who asks whom that AZ's broker takes for the leader; else from outside every AZ.
    key_separator
        Each value is KEY, this, VALUE; by a client's own producer, whose partitioner goes by the key.
    """
    from emulator.cli.commands.live_clients import produce_command

    return produce_command(
        asked.asking("produce"),
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
    from_offset: int = 0,
    max_: Annotated[int, Parameter(name="--max")] = 100,
    broker: int | None = None,
    az: str = "",
    asked: Waiting = WAITING,
) -> int:
    """Read records up to the high watermark. Exit code 1 when the broker answers with an error.

    Parameters
    ----------
    topic
        The topic's name.
    partition
        Of the topic.
    from_offset
        Where to begin.
    max_
        So many records at most.
    broker
        Whom to ask, whoever leads.
    az
        By the client in that AZ, who asks whom that AZ's broker takes for the leader.
    """
    from emulator.cli.commands.live_clients import consume_command
    from emulator.cluster.requests import Consume
    from protocol.ids import BrokerId, Offset

    whom = None if broker is None else BrokerId(broker)
    ask = Consume(topic, partition, Offset(from_offset), max_, whom, az)
    return consume_command(asked.asking("consume"), ask)


@app.command
def elect_preferred(*partitions: str, asked: Waiting = WAITING) -> int:
    """Ask the controller for the preferred leaders.

    Parameters
    ----------
    partitions
        Such as t-0; all if none is given.
    """
    from emulator.cli.commands.live_clients import elect_preferred_command

    return elect_preferred_command(asked.asking("elect-preferred"), partitions)


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
    asked: Asked = ASKED,
) -> int:
    """Producers and consumers in each AZ, until `workload stop`; every operation is written down for the audit.

    Parameters
    ----------
    topic
        The topic's name.
    name
        What the workload is called.
    rate
        Records per second in each AZ.
    acks
        0, 1 or all; by default as the cluster's producers are set, else as the client's version has it.
    retries
        As the setting; else as the client's version has it.
    idempotent
        Whether producers are idempotent; by default as the client's version has it, where acks and retries allow it.
    client_version
        Version of Kafka's Java client, e.g. 2.8 or 3.9; by default the newest: idempotent, acks all.
    value_bytes
        At least so many bytes in each value.
    keys
        So many keys in turn, by which the partitioner chooses; without any the partitions take turns.
    set_
        A producer's setting, `key=value`; repeatable.
    settings
        A .properties file of them; repeatable.
    consumers
        Read everything, too.
    az
        Only there; repeatable.
    """
    from emulator.cli.commands.live_clients import start_workload_command

    return start_workload_command(
        asked.asking("workload start"),
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
    asked: Waiting = WAITING,
) -> int:
    """Begin nothing more; done when everything under way has ended.

    Parameters
    ----------
    name
        Of the workload; all if none is given.
    at_once
        What is under way ends as unknown.
    """
    from emulator.cli.commands.live_clients import stop_workload_command

    return stop_workload_command(asked.asking("workload stop"), name, at_once)


@workload_app.command(name="status")
def workload_status(*, asked: Asked = ASKED) -> int:
    """What was sent, acknowledged, refused, lost from sight and read, by client."""
    from emulator.cli.commands.live_clients import workload_status_command

    return workload_status_command(asked.asking("workload status"))
