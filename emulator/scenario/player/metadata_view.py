"""The player's view of a cluster's metadata, whatever plane holds them.

The controller, registered brokers, topics with their assignments and partition states, settings, and each broker's own
metadata. In KRaft `states` have the partition epoch as `zk_version`, and the quorum's epoch as `controller_epoch`.
"""

from emulator.faults import targets
from emulator.scenario.conditions import PartitionView
from protocol.ids import BrokerId, topic_partition_text
from protocol.messages.leadership_messages import MetadataResponse
from protocol.znodes import Leadership


class MetadataView:
    """State of a cluster as the player sees it.

    `serving`: session servers with a quorum, or active controllers. `live`: registered brokers; in KRaft unfenced ones.
    """

    def __init__(self) -> None:
        self.serving: set[str] = set()
        self.states: dict[str, Leadership] = {}
        self.assignments: dict[str, tuple[BrokerId, ...]] = {}
        self.controller: BrokerId | None = None
        """Of the active controller, the id as `emulator.topology.identifier_of` has it."""
        self.controller_epoch = 0
        self.live: frozenset[BrokerId] = frozenset()
        self.racks: dict[BrokerId, str] = {}
        self.metadata: dict[int, MetadataResponse] = {}
        self.marked: set[str] = set()
        """Topics that are marked for deletion, if that is observed."""
        self.configs: dict[str, dict[str, str]] = {}
        """{path: settings} of topics and brokers that have their own, if that is observed."""

    @property
    def topics(self) -> frozenset[str]:
        """Those that exist, led or not."""
        return frozenset(name.rpartition("-")[0] for name in self.assignments)

    def shown_states(self) -> dict[str, Leadership]:
        """Partition states that conditions see: in KRaft, those that a broker's own metadata show."""
        return self.states

    def partition_views(self) -> dict[str, PartitionView]:
        return {
            name: PartitionView(seen.leader, seen.isr, seen.leader_epoch, self.assignments.get(name, ()))
            for name, seen in self.shown_states().items()
        }

    def node_of(self, target: str) -> str:
        """The node that a target means now. Raises NoTarget."""
        leaders = {name: state.leader for name, state in self.states.items()}
        return targets.resolved(target, leaders, self.controller)

    def broker_views(self) -> dict[int, dict[str, int]]:
        """{broker: {"t-0": leader}}"""
        return {
            broker: {topic_partition_text(p.topic, p.partition): p.leader for p in metadata.partitions}
            for broker, metadata in self.metadata.items()
        }

    def live_views(self) -> dict[int, frozenset[int]]:
        """{broker: the live brokers by its own metadata}"""
        return {
            broker: frozenset(endpoint.broker for endpoint in metadata.brokers)
            for broker, metadata in self.metadata.items()
        }
