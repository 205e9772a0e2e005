"""Elections that a client requests or a task runs: preferred ones and unclean ones.

Source: ReplicationControlManager.electLeaders, maybeBalancePartitionLeaders, maybeElectUncleanLeaders;
kraft-semantics 6.9.
"""

from typing import Final

from controller.kraft.cluster_view import ClusterView
from controller.kraft.metadata_image import PartitionRegistration
from controller.kraft.partition_changes import Election, TargetState
from protocol.errors import ErrorCode
from protocol.ids import NO_LEADER
from protocol.messages.placement import UNCLEAN, ElectLeadersRequest, ElectLeadersResponse, PartitionResult
from protocol.records.metadata_records import MetadataRecord

ELECTIONS_MAX: Final = 1_000
"""Maximum elections of one run of a task: QuorumController.MAX_ELECTIONS_PER_IMBALANCE."""


def elect_leaders(view: ClusterView, request: ElectLeadersRequest) -> tuple[list[MetadataRecord], ElectLeadersResponse]:
    """Elect the leaders of named partitions, or of all.

    Of all, the results leave out those that need no election.
    """
    election: Election = "unclean" if request.election == UNCLEAN else "preferred"
    if request.partitions is None:
        named = [(topic.topic, number) for topic, number, _ in view.image.partitions()]
    else:
        named = [(one.topic, one.partition) for one in request.partitions]
    records: list[MetadataRecord] = []
    results = []
    for topic, number in named:
        error = _elect(view, topic, number, election, records)
        if request.partitions is not None or error != ErrorCode.ELECTION_NOT_NEEDED:
            results.append(PartitionResult(topic, number, error))
    return records, ElectLeadersResponse(results)


def _elect(view: ClusterView, name: str, number: int, election: Election, records: list[MetadataRecord]) -> ErrorCode:
    topic = view.image.topics.get(name)
    partition = topic.partitions.get(number) if topic is not None else None
    if topic is None or partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if has_preferred_leader(partition) if election == "preferred" else partition.leader != NO_LEADER:
        return ErrorCode.ELECTION_NOT_NEEDED
    change = view.change(topic, number, partition, TargetState(election=election))
    if change is not None:
        records.append(change)
        return ErrorCode.NONE
    preferred = election == "preferred"
    return ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE if preferred else ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE


def has_preferred_leader(partition: PartitionRegistration) -> bool:
    return bool(partition.replicas) and partition.leader == partition.replicas[0]


def balance_leaders(view: ClusterView) -> tuple[list[MetadataRecord], bool]:
    """Elect preferred leaders. Returns whether the run reached its limit."""
    records: list[MetadataRecord] = []
    for topic, number, partition in view.image.partitions():
        if not has_preferred_leader(partition):
            change = view.change(topic, number, partition, TargetState(election="preferred"))
            if change is not None:
                records.append(change)
            if len(records) >= ELECTIONS_MAX:
                return records, True
    return records, False


def elect_unclean_leaders(view: ClusterView) -> tuple[list[MetadataRecord], bool]:
    """Elect leaders of leaderless partitions whose topics allow unclean elections.

    Returns as `balance_leaders`.
    """
    records: list[MetadataRecord] = []
    for topic, number, partition in view.image.partitions():
        if partition.leader == NO_LEADER and view.unclean_elections(topic.topic):
            _elect(view, topic.topic, number, "unclean", records)
            if len(records) >= ELECTIONS_MAX:
                return records, True
    return records, False
