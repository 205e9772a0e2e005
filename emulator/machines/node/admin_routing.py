"""Routing of admin clients' requests to the parts of a broker's node."""

from collections.abc import Callable, Mapping

from controller.controller import Controller
from controller.session_calls import Procedures
from emulator.machines.broker.broker import Broker
from emulator.machines.broker.request_channel import Request
from emulator.machines.node.leader_administration import LeaderAdministration
from emulator.machines.node.partition_administration import PartitionAdministration
from emulator.machines.node.setting_administration import SettingAdministration
from emulator.machines.node.topic_administration import TopicAdministration
from emulator.settings.setting import Value
from protocol.chance import Chance
from protocol.messages import administration, configuration, placement
from protocol.messages.message_base import Message

Takes = Callable[[Request], None]


def administration_of(
    broker: Broker,
    controller: Controller,
    placing: Callable[[], Chance],
    file: Mapping[str, Value],
    procedures: Procedures,
) -> Takes:
    """Return the handler of a broker's admin requests.

    `placing`: the chance that places replicas. `file`: the broker's server.properties.
    """
    context, metadata = broker.context, broker.metadata
    partitions = PartitionAdministration(
        context, metadata, lambda: controller.active, controller.is_being_deleted, procedures
    )
    leaders = LeaderAdministration(context, metadata, controller, procedures)
    settings = SettingAdministration(context, metadata, broker.dynamic, file, procedures)
    topics = TopicAdministration(
        context, metadata, lambda: controller.active, placing, settings.of_new_topic, procedures
    )
    takes: dict[type[Message], Takes] = {
        administration.CreateTopicsRequest: topics.takes,
        administration.DeleteTopicsRequest: topics.takes,
        administration.CreatePartitionsRequest: partitions.takes,
        configuration.DescribeConfigsRequest: settings.describe,
        configuration.AlterConfigsRequest: settings.alter,
        configuration.IncrementalAlterConfigsRequest: settings.alter,
        placement.ElectLeadersRequest: leaders.elect,
        placement.AlterPartitionReassignmentsRequest: leaders.reassign,
        placement.ListPartitionReassignmentsRequest: leaders.list_moving,
    }
    return lambda request: takes[type(request.message)](request)
