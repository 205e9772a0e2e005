"""Commands that use a running cluster: topics, records, preferred leaders, workloads."""

from typing import Final

from cyclopts import App

from emulator.cli.app_live import LIVE
from emulator.cli.root_app import app

CLIENTS: Final = "emulator.cli.commands.live_clients"
PROTOCOL_FAULTS: Final = "emulator.cli.commands.live_protocol_faults_command"
TOPICS: Final = "emulator.cli.commands.live_topics"

topic_app = App(name="topic", help="Topics of a running cluster.", group=LIVE)
broker_app = App(name="broker", help="Brokers of a running cluster.", group=LIVE)
workload_app = App(name="workload", help="Producers and consumers that run in the background.", group=LIVE)
protocol_fault_app = App(name="protocol-fault", help="Faults of the brokers' Kafka listeners.", group=LIVE)
for _app in (topic_app, broker_app, workload_app, protocol_fault_app):
    app.command(_app)

topic_app.command(
    f"{CLIENTS}:create_topic_command",
    name="create",
    help="Create a topic; returns when every partition has a leader.",
)
topic_app.command(
    f"{CLIENTS}:describe_topic_command",
    name="describe",
    help="Show leader, epoch, replicas and in-sync replicas, and brokers with another view.",
)
topic_app.command(
    f"{TOPICS}:list_topics_command",
    name="list",
    help="List every topic with its numbers of partitions, replicas and partitions with a leader.",
)
topic_app.command(
    f"{TOPICS}:topic_offsets_command",
    name="offsets",
    help="Show the offset range of a topic's partitions: for consumers, and of each replica.",
)
topic_app.command(
    f"{TOPICS}:delete_topic_command",
    name="delete",
    help="""Delete a topic and its records; returns when every replica is deleted.

    A replica on a stopped broker delays the deletion until the broker returns.""",
)
topic_app.command(
    f"{TOPICS}:alter_topic_command",
    name="alter",
    help="Alter a topic's settings; returns when the brokers are notified.",
)
broker_app.command(
    f"{TOPICS}:alter_broker_command",
    name="alter",
    help="Alter a running broker's settings (Kafka 1.1 or later); returns when brokers are notified.",
)
topic_app.command(
    f"{TOPICS}:add_partitions_command",
    name="add-partitions",
    help="Add partitions to a topic; returns when each new one has a leader.",
)
app.command(
    f"{TOPICS}:reassign_command",
    name="reassign",
    help="Move partitions to other brokers; returns when the controller has moved all.",
    group=LIVE,
)
app.command(
    f"{CLIENTS}:produce_command",
    name="produce",
    help="Write values and show every attempt. Exit code 1 when a value was not acknowledged.",
    group=LIVE,
)
app.command(
    f"{CLIENTS}:consume_command",
    name="consume",
    help="Read records up to the high watermark. Exit code 1 when the broker returns an error.",
    group=LIVE,
)
app.command(
    f"{CLIENTS}:elect_preferred_command",
    name="elect-preferred",
    help="Elect the preferred leaders of partitions.",
    group=LIVE,
)
app.command(
    f"{CLIENTS}:add_controller_command",
    name="add-controller",
    help="""Make a running controller of KRaft a voter (KIP-853); returns when that is committed.

    The cluster needs voters in the metadata log: `up --initial-controllers`.""",
    group=LIVE,
)
app.command(
    f"{CLIENTS}:remove_controller_command",
    name="remove-controller",
    help="Take a controller of KRaft from the voters (KIP-853); returns when that is committed.",
    group=LIVE,
)
workload_app.command(
    f"{CLIENTS}:start_workload_command",
    name="start",
    help="Start producers and consumers in each AZ, until `workload stop`; records every operation.",
)
workload_app.command(
    f"{CLIENTS}:stop_workload_command",
    name="stop",
    help="Stop workloads; returns when every operation in flight has ended.",
)
workload_app.command(
    f"{CLIENTS}:workload_status_command",
    name="status",
    help="Show counts of sent, acknowledged, refused, unknown and read records, by client.",
)
protocol_fault_app.command(
    f"{PROTOCOL_FAULTS}:add_command",
    name="add",
    help="Break requests of Kafka clients: an error, a delay, a dropped response, a closed connection.",
)
protocol_fault_app.command(
    f"{PROTOCOL_FAULTS}:list_command",
    name="list",
    help="List the protocol faults in force and the number of requests that they hit.",
)
protocol_fault_app.command(
    f"{PROTOCOL_FAULTS}:remove_command",
    name="remove",
    help="Remove protocol faults; by default all.",
)
