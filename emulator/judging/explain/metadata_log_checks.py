"""Promises of a KRaft cluster's metadata log.

They are judged from the disks and controllers of a finished simulated run. A replay at the end shows each state that
the cluster was in, from the earliest snapshot on if no node has the whole log.
"""

from collections.abc import Iterator, Mapping

import msgspec

from controller.kraft.metadata_image import BrokerRegistration, MetadataImage, PartitionRegistration
from emulator.faults.machine_fault_kinds import LoseDisk
from emulator.judging.explain.broken_promises import Broken
from emulator.judging.explain.kraft_settled import controller_parts, members_of
from emulator.machines.node.quorum_member import QuorumMember
from emulator.topology import KRAFT
from emulator.worlds.simulated.world import SimulatedWorld
from protocol.events import MachineFault
from protocol.gates import gates_for
from protocol.ids import BrokerId, Offset, TopicPartition
from protocol.records.metadata_records import (
    MetadataBatch,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
)


def metadata_log_broken(world: SimulatedWorld, version: str) -> Iterator[Broken]:
    """Broken promises; none of a cluster with ZooKeeper."""
    if world.topology.metadata != KRAFT:
        return
    gates = gates_for(version, metadata=KRAFT)
    logs: dict[str, list[MetadataBatch]] = {}
    for name, member in members_of(world).items():
        with world.nodes[name].files.unwatched():
            logs[name] = list(member.committed_batches())
    if not logs:
        return
    yield from _different(logs)
    yield from _images(world, logs)
    longest = max(logs.values(), key=lambda batches: (not batches[:1] or not batches[0].is_snapshot, len(batches)))
    yield from broken_states(
        longest,
        elects_fenced=gates.elects_fenced_last_known_leader,
        shrinks_at_restart=gates.new_incarnation_leaves_isrs,
    )
    yield from _terms(members_of(world))


LOST_VOTE = "kraft-quorum 1: a voter without its disk has forgotten its vote, and what it had committed"
LOST_METADATA = "kraft-quorum 1: a majority of the voters lost their disks, and the metadata with them"
OF_QUORUM = frozenset({"metadata-log", "quorum-leader", "exit", "dead"})


def lost_disks_rule(world: SimulatedWorld, what: str) -> str:
    """The rule by which lost disks of voters allow a broken promise; "": none."""
    topology = world.topology
    voters = set(topology.initial_controllers or topology.voters.values()) if topology.metadata == KRAFT else set()
    faults = (entry[5] for entry in world.trace.entries if isinstance(entry[5], MachineFault))
    lost = {fault.target for fault in faults if fault.what == LoseDisk.VERB} & voters
    if 2 * len(lost) > len(voters):
        return LOST_METADATA
    return LOST_VOTE if lost and what in OF_QUORUM else ""


def _different(logs: Mapping[str, list[MetadataBatch]]) -> Iterator[Broken]:
    """Committed batches that differ between two nodes."""
    longest = max(logs, key=lambda name: len(logs[name]))
    for name, batches in logs.items():
        others = {batch.base_offset: batch for batch in logs[longest]}
        for mine in batches:
            other = others.get(mine.base_offset)
            if mine.is_snapshot or other is None or other.is_snapshot:
                continue  # records that one of them has in a snapshot alone
            if mine != other:
                text = f"{name} has committed {mine} to the metadata log, {longest} {other}"
                yield Broken("metadata-log", text, offset=mine.base_offset)
                break


def _images(world: SimulatedWorld, logs: Mapping[str, list[MetadataBatch]]) -> Iterator[Broken]:
    """Controllers whose committed state is not that of their log.

    Uncommitted records have remained in it.
    """
    for name, part in controller_parts(world).items():
        if name not in logs:
            continue
        replayed = MetadataImage()
        for batch in logs[name]:
            replayed.apply_batch(batch)
        for what in ("brokers", "topics", "configs", "features", "topic_names"):
            mine, other = getattr(part.image, what), getattr(replayed, what)
            if what == "brokers":  # of a snapshot, which nodes load at other offsets, records have no offsets
                mine, other = _without_offsets(mine), _without_offsets(other)
            if mine != other:
                yield Broken("metadata-image", f"{name}: its {what} are {mine}, its log has {other}")


def _without_offsets(brokers: Mapping[BrokerId, BrokerRegistration]) -> dict[BrokerId, BrokerRegistration]:
    return {broker: msgspec.structs.replace(known, registered_at=Offset(0)) for broker, known in brokers.items()}


def broken_states(
    batches: list[MetadataBatch], *, elects_fenced: bool = False, shrinks_at_restart: bool = True
) -> Iterator[Broken]:
    """Broken rules of partitions' states and of registrations.

    `elects_fenced`: the release elects a fenced last known leader (KAFKA-19522). `shrinks_at_restart`: a new
    incarnation leaves the ISRs of the one before (KAFKA-18106).
    """
    image = MetadataImage()
    for batch in batches:
        registered = False
        for index, record in enumerate(batch.records):
            changed = isinstance(record, PartitionChangeRecord)  # one batch may have several decisions
            before = _partition_of(image, record) if changed else None
            known = image.brokers.get(record.broker) if isinstance(record, RegisterBrokerRecord) else None
            image.apply(record, Offset(batch.offset_of(index)))
            if isinstance(record, RegisterBrokerRecord):
                registered = True
                if known is not None and record.epoch < known.epoch:
                    text = f"broker-{record.broker}: after broker epoch {known.epoch} comes {record.epoch}"
                    yield Broken("broker-epoch", text)
            elif isinstance(record, PartitionChangeRecord | PartitionRecord):
                place = (image.topic_names[record.topic_id], record.partition)
                state = _partition_of(image, record)
                if state is not None:
                    yield from _state(place, before, state)
        image.apply_batch(MetadataBatch(batch.base_offset, batch.end, batch.epoch, ()))
        if batch.records and not (registered and not shrinks_at_restart):
            for topic, number, state in image.partitions():
                yield from _fenced(image, (topic.topic, number), state, batch, elects_fenced=elects_fenced)


def _partition_of(image: MetadataImage, record: MetadataRecord) -> PartitionRegistration | None:
    """The partition of a record about one."""
    if not isinstance(record, PartitionChangeRecord | PartitionRecord):
        return None
    return image.topics[image.topic_names[record.topic_id]].partitions.get(record.partition)


def _state(place: TopicPartition, was: PartitionRegistration | None, now: PartitionRegistration) -> Iterator[Broken]:
    """Rules of one state, and of its change by one record (kraft-semantics 4.7, 6, 7)."""
    name = f"{place[0]}-{place[1]}"
    if now.leader != -1 and now.leader not in now.isr:
        yield Broken("state", f"{name}: its leader {now.leader} is not in the ISR {list(now.isr)}", place)
    if not set(now.isr) <= set(now.replicas) or len(set(now.isr)) < len(now.isr):
        yield Broken("state", f"{name}: its ISR is {list(now.isr)} of {list(now.replicas)}", place)
    if set(now.elr) & set(now.isr):
        yield Broken("state", f"{name}: its ELR {list(now.elr)} and its ISR {list(now.isr)} share replicas", place)
    if was is None:
        return
    if now.leader_epoch < was.leader_epoch or now.partition_epoch <= was.partition_epoch:
        text = f"{name}: after epochs {was.leader_epoch}, {was.partition_epoch} come {now.leader_epoch}"
        yield Broken("state", f"{text}, {now.partition_epoch}", place)
    if now.leader != was.leader and now.leader_epoch == was.leader_epoch:
        text = f"{name}: in leader epoch {now.leader_epoch} the leader was {was.leader}, then {now.leader}"
        yield Broken("state", text, place)
    electable = {*was.isr, *was.elr, *was.last_known_elr}
    if (was.adding or was.removing) and not (now.adding or now.removing):
        electable |= set(now.isr)  # the ISR that ends a reassignment, and its leader, are one change
    if now.leader not in (-1, was.leader) and now.leader not in electable and not now.recovering:
        text = f"{name}: {now.leader} was elected; the ISR was {list(was.isr)}, the ELR {list(was.elr)}"
        yield Broken("election", text, place)


def _fenced(
    image: MetadataImage,
    place: TopicPartition,
    state: PartitionRegistration,
    batch: MetadataBatch,
    *,
    elects_fenced: bool,
) -> Iterator[Broken]:
    """Fenced leaders, and fenced members of an ISR that are not its last.

    Kraft-semantics 3.3, 3.4, 6.10.
    """
    name = f"{place[0]}-{place[1]} at {batch.base_offset}"
    out = [one for one in state.isr if one not in image.brokers or image.brokers[one].fenced]
    if state.leader in out and not elects_fenced:
        yield Broken("fenced-leader", f"{name}: its leader {state.leader} is fenced", place)
    if out and len(state.isr) > 1 and not elects_fenced:
        yield Broken("fenced-in-isr", f"{name}: {out} of the ISR {list(state.isr)} are fenced", place)


def _terms(members: Mapping[str, QuorumMember]) -> Iterator[Broken]:
    """Two leaders of one epoch."""
    leads: dict[int, str] = {}
    for name, member in members.items():
        if member.leads:
            if member.epoch in leads:
                yield Broken("quorum-leader", f"{name} and {leads[member.epoch]} lead in epoch {member.epoch}")
            leads[member.epoch] = name
