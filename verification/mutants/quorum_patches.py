"""Patches that break a KRaft quorum: its votes, its metadata logs, its high watermarks."""

from google_crc32c import value as crc32c

from controller.quorum import request_handling
from controller.quorum.epoch_states import Candidate, EpochState, Follower
from controller.quorum.quorum_context import QuorumContext
from controller.quorum.response_handling import ResponseHandling
from controller.quorum.state_transitions import NEVER_MS, QuorumFault, QuorumState
from controller.quorum.vote_rules import grants_vote
from controller.quorum.voter_sets import ReplicaKey
from emulator.machines.node.metadata_log import MetadataLog
from protocol.ids import BrokerId, LeaderEpoch, Offset
from protocol.messages.quorum_messages import QuorumFetchResponse
from protocol.records.format import iter_headers
from verification.mutants.mutant import Patches

FIRST_EPOCH = 1
TOGETHER_MS = 3_000.0
"""Period at whose ends all voters campaign at once for the first epoch."""
CRC_AT, CRC_FROM = 17, 21
"""Places of a batch's CRC, and of the bytes that it covers."""
TIMESTAMP_AT = 42
"""The last byte of a batch's largest timestamp."""
PERIOD = 5


def candidates_vote_again() -> Patches:
    """In the first epoch, for others besides themselves."""
    ends_ms = QuorumState._election_ends_ms
    learn_leader = QuorumContext.learn_leader

    def grants(state: EpochState, candidate: ReplicaKey, log_is_up_to_date: bool) -> bool:
        again = isinstance(state, Candidate) and state.epoch == FIRST_EPOCH
        return again or grants_vote(state, candidate, log_is_up_to_date)

    def together_ms(quorum: QuorumState, now_ms: float) -> float:
        if quorum.state.epoch == 0 and quorum.state.ends_ms == NEVER_MS:
            return (now_ms // TOGETHER_MS + 1) * TOGETHER_MS
        return ends_ms(quorum, now_ms)

    def believes_itself(context: QuorumContext, now_ms: float, epoch: LeaderEpoch, leader: BrokerId) -> None:
        try:
            learn_leader(context, now_ms, epoch, leader)
        except QuorumFault:
            if epoch != FIRST_EPOCH:
                raise

    return [
        (request_handling, "grants_vote", grants),
        (QuorumState, "_election_ends_ms", together_ms),
        (QuorumContext, "learn_leader", believes_itself),
    ]


def followers_alter_batches() -> Patches:
    """Another timestamp, with the right CRC."""
    append = MetadataLog.append_from_leader

    def altered(log: MetadataLog, records: bytes) -> None:
        data = bytearray(records)
        for position, header in iter_headers(records):
            end = position + header.size_bytes
            data[position + TIMESTAMP_AT] ^= 1
            crc = crc32c(bytes(data[position + CRC_FROM : end]))
            data[position + CRC_AT : position + CRC_FROM] = crc.to_bytes(4, "big")
        append(log, bytes(data))

    return [(MetadataLog, "append_from_leader", altered)]


def high_watermarks_fall() -> Patches:
    """Of brokers: back by two, every few records."""
    raise_high_watermark = ResponseHandling._raise_high_watermark

    def lowered(handling: ResponseHandling, state: Follower, response: QuorumFetchResponse) -> None:
        if handling._context.quorum.is_voter:
            raise_high_watermark(handling, state, response)
            return
        log = handling._context.log
        known = min(log.end, response.high_watermark)
        state.high_watermark = Offset(known - 2) if known % PERIOD == 0 else known
        log.note_high_watermark(state.high_watermark)

    return [(ResponseHandling, "_raise_high_watermark", lowered)]
