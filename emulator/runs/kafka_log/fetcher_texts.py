"""Log lines of a follower's fetchers in server.log (semantics 9).

Names and versions as in `log_texts`.
"""

from emulator.runs.kafka_log.pattern import ERROR, INFO, WARN, Pattern, pattern

_FETCHER = "kafka.server.ReplicaFetcherThread"
_FETCHER_PREFIX = (
    ("0.8.2", "[ReplicaFetcherThread-0-{source}], "),
    ("0.11", "[ReplicaFetcherThread-0-{source}]: "),
    ("1.0", "[ReplicaFetcher replicaId={broker}, leaderId={source}, fetcherId=0] "),
)
_FETCHERS = "kafka.server.ReplicaFetcherManager"
_FETCHERS_PREFIX = "[ReplicaFetcherManager on broker {broker}] "
_INITIAL = "Added fetcher to broker {source} for partitions {map}({tp} -> InitialFetchState(Some({topic_id}),"
_RESET = "reset its fetch offset from {log_end} to current leader {source}'s"
_RESET_CUT = "Replica {broker} for partition {old_tp} reset its fetch offset from {to} to current leader {source}'s"
_UNKNOWN_OFFSET = "leader replied with an unknown offset in {tp}. "
_BY_LEADERS_OFFSET = "The leader's offset {offset} will be used for truncation in {tp}."
_NO_EPOCHS = "is on protocol version where leader epoch is not considered in the OffsetsForLeaderEpoch response. "
_BELOW = "The leader's offset only {offset} will be used for truncation."
_ASK_AGAIN = "Will truncate to {to} and send another leader epoch request to the leader."

FETCHER: dict[str, Pattern] = {
    "offset-out-of-range": pattern(
        _FETCHER,
        (
            ("0.8.2", "Current offset {log_end} for partition {old_tp} out of range; reset offset to {to}"),
            ("1.0", "Current offset {log_end} for partition {tp} out of range; reset offset to {to}"),
            (
                "1.1",
                "Current offset {log_end} for partition {tp} is out of range, which typically implies a leader change. "
                "Reset fetch offset to {to}",
            ),
        ),
        prefix=_FETCHER_PREFIX,
        level=(("0.8.2", ERROR), ("1.1", INFO)),
    ),
    "reset-to-latest": pattern(
        _FETCHER,
        (
            ("0.10.2", "Replica {broker} for partition {tp} " + _RESET + " latest offset {offset}"),
            ("1.0", "Reset fetch offset for partition {tp} from {log_end} to current leader's latest offset {offset}"),
        ),
        prefix=_FETCHER_PREFIX,
        level=WARN,
    ),
    # 0.8.2 truncates first, and so logs the new log end as the old one.
    "has-reset-to-latest": pattern(
        _FETCHER, (("0.8.2", _RESET_CUT + " latest offset {to}"), ("0.10.2", "")), prefix=_FETCHER_PREFIX, level=WARN
    ),
    "reset-to-start": pattern(
        _FETCHER,
        (
            ("0.8.2", "Replica {broker} for partition {old_tp} " + _RESET + " start offset {offset}"),
            ("0.10.2", "Replica {broker} for partition {tp} " + _RESET + " start offset {offset}"),
            ("1.0", "Reset fetch offset for partition {tp} from {log_end} to current leader's start offset {offset}"),
        ),
        prefix=_FETCHER_PREFIX,
        level=WARN,
    ),
    "truncation-not-allowed": pattern(
        _FETCHER,
        (
            (
                "0.8.2",
                "Halting because log truncation is not allowed for topic {topic}, Current leader {source}'s latest "
                "offset {offset} is less than replica {broker}'s latest offset {log_end}",
            ),
            (
                "0.10.2",
                "Exiting because log truncation is not allowed for partition {tp}, Current leader {source}'s latest "
                "offset {offset} is less than replica {broker}'s latest offset {log_end}",
            ),
            (
                "0.11",
                "Exiting because log truncation is not allowed for partition {tp}, current leader {source}'s latest "
                "offset {offset} is less than replica {broker}'s latest offset {log_end}",
            ),
            (
                "1.0",
                "Exiting because log truncation is not allowed for partition {tp}, current leader's latest offset "
                "{offset} is less than replica's latest offset {log_end}",
            ),
            ("2.0.1", ""),
        ),
        prefix=_FETCHER_PREFIX,
        level=(("0.8.2", "FATAL"), ("1.1", ERROR)),
    ),
    # Outcomes of a leader's response to OffsetsForLeaderEpoch, which from 2.7 comes with the fetch.
    "answer-undefined": pattern(
        _FETCHER,
        (
            (
                "0.11",
                "Based on follower's leader epoch, "
                + _UNKNOWN_OFFSET
                + "High watermark {to} will be used for truncation.",
            ),
            (
                "1.1",
                "Based on follower's leader epoch, "
                + _UNKNOWN_OFFSET
                + "The initial fetch offset {to} will be used for truncation.",
            ),
            (
                "2.1",
                "Based on replica's leader epoch, "
                + _UNKNOWN_OFFSET
                + "The initial fetch offset {to} will be used for truncation.",
            ),
        ),
        prefix=_FETCHER_PREFIX,
        level=WARN,
    ),
    "answer-without-epoch": pattern(
        _FETCHER,
        (
            ("2.0.0", "Leader or follower " + _NO_EPOCHS + _BY_LEADERS_OFFSET),
            ("2.1", "Leader or replica " + _NO_EPOCHS + _BY_LEADERS_OFFSET),
        ),
        prefix=_FETCHER_PREFIX,
        level=WARN,
    ),
    "answer-beyond-end": pattern(
        _FETCHER,
        (
            (
                "0.11",
                "Based on follower's leader epoch, leader replied with an offset {offset} >= the follower's log end "
                "offset {log_end} in {tp}. No truncation needed.",
            ),
            ("2.0.0", ""),
        ),
        prefix=_FETCHER_PREFIX,
    ),
    "answer-below-epochs": pattern(
        _FETCHER,
        (
            (
                "2.0.0",
                "Based on follower's leader epoch, leader replied with epoch {leader_epoch} below any follower's "
                "tracked epochs for {tp}. " + _BELOW,
            ),
            (
                "2.1",
                "Based on replica's leader epoch, leader replied with epoch {leader_epoch} below any replica's "
                "tracked epochs for {tp}. " + _BELOW,
            ),
        ),
        prefix=_FETCHER_PREFIX,
        level=WARN,
    ),
    "answer-epoch-unknown": pattern(
        _FETCHER,
        (
            (
                "2.0.0",
                "Based on follower's leader epoch, leader replied with epoch {leader_epoch} unknown to the follower "
                "for {tp}. " + _ASK_AGAIN,
            ),
            (
                "2.1",
                "Based on replica's leader epoch, leader replied with epoch {leader_epoch} unknown to the replica for "
                "{tp}. " + _ASK_AGAIN,
            ),
        ),
        prefix=_FETCHER_PREFIX,
    ),
    # An own log without epochs: 2.0 sends the request all the same and gets no offset.
    "to-local-high-watermark": pattern(
        _FETCHER,
        (
            (
                "2.0.0",
                "Based on follower's leader epoch, "
                + _UNKNOWN_OFFSET
                + "The initial fetch offset {to} will be used for truncation.",
            ),
            ("2.1", "Truncating partition {tp} to local high watermark {to}"),
            (
                "3.1",
                "Truncating partition {tp} with TruncationState(offset={to}, completed=true) due to local high "
                "watermark {to}",
            ),
        ),
        prefix=_FETCHER_PREFIX,
        level=(("0.8.2", WARN), ("2.1", INFO)),
    ),
    # 2.0 warns before it truncates, 2.1 to 2.3 after it. From 2.4 the truncation has lowered the high watermark before
    # the comparison, which finds nothing to warn of.
    "below-high-watermark": pattern(
        _FETCHER,
        (("2.0.0", "Truncating {tp} to offset {to} below high watermark {high_watermark}"), ("2.1", "")),
        prefix=_FETCHER_PREFIX,
        level=WARN,
    ),
    "was-below-high-watermark": pattern(
        _FETCHER,
        (("2.1", "Truncating {tp} to offset {to} below high watermark {high_watermark}"), ("2.4", "")),
        prefix=_FETCHER_PREFIX,
        level=WARN,
    ),
    "fenced": pattern(
        _FETCHER,
        (
            (
                "2.1",
                "Partition {tp} has an older epoch ({leader_epoch}) than the current leader. Will await the new "
                "LeaderAndIsr state before resuming fetching.",
            ),
        ),
        prefix=_FETCHER_PREFIX,
    ),
    # Kafka's line goes on with the request.
    "fetch-failed": pattern(
        _FETCHER,
        (
            ("0.8.2", "Error in fetch kafka.server.ReplicaFetcherThread$FetchRequest"),
            ("0.11", "Error in fetch to broker {source}, request (type=FetchRequest, replicaId={broker})"),
            ("1.1", "Error in response for fetch request (type=FetchRequest, replicaId={broker})"),
        ),
        prefix=_FETCHER_PREFIX,
        level=WARN,
    ),
    "failed": pattern(_FETCHER, (("2.3", "Partition {tp} marked as failed"),), prefix=_FETCHER_PREFIX, level=WARN),
    # `{host}`: the node's name; `{map}`: HashMap in KRaft mode, else Map.
    "fetcher-added": pattern(
        _FETCHERS,
        (
            (
                "0.8.2",
                "Added fetcher for partitions List([{old_tp}, initOffset {offset} to broker "
                "id:{source},host:{host},port:9092] )",
            ),
            (
                "0.10.2",
                "Added fetcher for partitions List([{tp}, initOffset {offset} to broker "
                "BrokerEndPoint({source},{host},9092)] )",
            ),
            (
                "2.1",
                "Added fetcher to broker BrokerEndPoint(id={source}, host={host}:9092) for partitions "
                "Map({tp} -> (offset={offset}, leaderEpoch={leader_epoch}))",
            ),
            (
                "2.5",
                "Added fetcher to broker {source} for partitions "
                "Map({tp} -> (offset={offset}, leaderEpoch={leader_epoch}))",
            ),
            (
                "2.8",
                "Added fetcher to broker {source} for partitions Map({tp} -> "
                "InitialFetchState(BrokerEndPoint(id={source}, host={host}:9092),{leader_epoch},{offset}))",
            ),
            ("3.1", _INITIAL + "BrokerEndPoint(id={source}, host={host}:9092),{leader_epoch},{offset}))"),
            ("4.4", _INITIAL + "BrokerEndPoint[id={source}, host={host}, port=9092],{leader_epoch},{offset}))"),
        ),
        prefix=_FETCHERS_PREFIX,
    ),
    "fetcher-removed": pattern(
        _FETCHERS,
        (
            ("0.8.2", "Removed fetcher for partitions {old_tp}"),
            ("0.10.2", "Removed fetcher for partitions {tp}"),
            ("2.1", "Removed fetcher for partitions Set({tp})"),
        ),
        prefix=_FETCHERS_PREFIX,
    ),
}
