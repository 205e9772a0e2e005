"""Controller metrics under Kafka's names.

Source: kafka.controller.KafkaController, ControllerStats. A meter's figure is its Count.
"""

from controller.controller_context import ControllerContext
from controller.state import PartitionPosition


def controller_metrics(context: ControllerContext) -> dict[str, int]:
    """Figures by name; all but the meters are 0 while not controller, as in Kafka."""
    state = context.state
    staying = [
        topic_partition for topic_partition in state.all_partitions() if not state.is_being_deleted(topic_partition[0])
    ]
    offline = [
        topic_partition
        for topic_partition in staying
        if state.partitions.get(topic_partition) is PartitionPosition.OFFLINE
    ]
    led = [topic_partition for topic_partition in staying if topic_partition in state.states]
    not_preferred = [
        topic_partition
        for topic_partition in led
        if state.states[topic_partition].leader != state.replicas_of(topic_partition)[0]
    ]
    gauges = {
        "OfflinePartitionsCount": len(offline),
        "PreferredReplicaImbalanceCount": len(not_preferred),
        "GlobalTopicCount": len(state.topics),
        "GlobalPartitionCount": len(state.assignments),
    }
    return {
        "ActiveControllerCount": int(context.active),
        **{name: value if context.active else 0 for name, value in gauges.items()},
        "UncleanLeaderElectionsPerSec.Count": context.unclean_elections,
    }
