"""The one table of mutants: what is wrong, and the runs in which each judge detects it.

Each check that right machines hold has at least one mutant.
"""

from functools import partial
from pathlib import Path

from verification.mutants import observation_patches, quorum_patches, replication_patches, transaction_patches
from verification.mutants.mutant import Mutant

KRAFT = str(Path(__file__).parents[1] / "kraft_plays" / "kraft-topics.yaml")
NO_CRASHES = "crash testing plays clusters with ZooKeeper"
IN_PEACE = str(Path(__file__).parents[1] / "left_in_peace.yaml")
TRANSACTIONS = str(Path(__file__).parents[1] / "transactions_in_peace.yaml")
CIRCLES = str(Path(__file__).parents[1] / "transactions_in_a_circle.yaml")
NO_TRANSACTIONS = "crash testing plays no transactions"

OLD, EPOCHS, ALTER_ISR = ("0.10.2",), ("2.1", "2.3", "2.6"), ("2.7", "2.8")

ALONE = ("az-isolated-leader", "az-isolated-leader-acks-all", "az-isolated-leader-and-controller", "cap-choice")
"""A leader with only its clients."""
PARTED = ("acks-1-loss", "incident-unclean-restart", "unclean-election")
"""A leader is back behind another, with records that this one never had."""

PAST = ("kafka-6880",)
"""A follower fetches in a leader epoch of the past."""

MUTANTS: dict[str, Mutant] = {
    "acks-all-as-1": Mutant(
        wrong="acks=all is answered by the leader alone",
        patches=replication_patches.answered_at_once,
        check="lost-acknowledged", scenario="az-isolated-leader-acks-all", version="2.8",
        versions=(*EPOCHS, *ALTER_ISR),
    ),
    "retries-are-stored": Mutant(
        wrong="idempotence is forgotten",
        patches=replication_patches.retries_are_stored,
        check="duplicate", scenario="retry-idempotent", version="2.8",
        versions=(*EPOCHS, *ALTER_ISR),
    ),
    "high-watermark-at-log-end": Mutant(
        wrong="waits for no follower",
        patches=replication_patches.at_the_log_end,
        check="read-then-lost", scenario="az-isolated-leader", version="2.6",
        versions=(*OLD, *EPOCHS, *ALTER_ISR),
        guard="LeaderIncHighWatermark: each follower in the ISR has the offset",
    ),
    "altered-on-the-way": Mutant(
        wrong="consumers are given other bytes than are stored",
        patches=observation_patches.altered_on_the_way,
        check="phantom-read", scenario="az-isolated-leader", version="2.8",
    ),
    "consumers-read-to-the-end": Mutant(
        wrong="consumers are given what is not committed",
        patches=observation_patches.fetches_as_follower,
        check="read-above-high-watermark", scenario="az-isolated-leader", version="2.6",
    ),
    "a-batch-left-out": Mutant(
        wrong="consumers are not given the second of several batches",
        patches=observation_patches.the_second_left_out,
        check="read-gap", scenario="incident-reverse-order", version="0.10.2",
    ),
    "a-step-back": Mutant(
        wrong="a consumer reads a record again from a new leader",
        patches=partial(observation_patches.elsewhere_at_a_new_leader, -1),
        check="non-monotonic-read", scenario="workload-az-cut", version="2.8",
    ),
    "a-step-ahead": Mutant(
        wrong="a consumer leaves a record out at a new leader",
        patches=partial(observation_patches.elsewhere_at_a_new_leader, 1),
        check="skipped-read", scenario="workload-az-cut", version="2.8",
    ),
    "a-step-ahead-of-a-record": Mutant(
        wrong="a consumer leaves a record out at a new leader",
        patches=partial(observation_patches.elsewhere_at_a_new_leader, 1),
        check="unseen", scenario="workload-az-cut", version="2.8",
    ),
    "min-insync-means-nothing": Mutant(
        wrong="a leader acknowledges acks=all whatever the ISR",
        patches=observation_patches.ignores_isr_size,
        check="acknowledged-below-min-insync", scenario="min-insync", version="2.8",
        scenarios=("min-insync",),
    ),
    "stores-what-it-refuses": Mutant(
        wrong="a leader stores records that it refuses",
        patches=observation_patches.stores_what_it_refuses,
        check="failed-but-stored", scenario="min-insync", version="2.8",
        scenarios=("min-insync",),
    ),
    "commits-one-more": Mutant(
        wrong="a group commits one more than it was given",
        patches=observation_patches.one_more_than_it_was_given,
        check="group-ahead-of-log", scenario="committed-offsets-az-cut", version="2.8",
        scenarios=("committed-offsets-az-cut",),
    ),
    "keeps-its-tail": Mutant(
        wrong="a follower cuts nothing",
        patches=replication_patches.keeps_its_tail,
        check="replica-divergence", scenario="acks-1-loss", version="0.10.2",
        versions=OLD, scenarios=PARTED,
        guard="BecomeFollowerAndTruncateTo: it cuts before it follows",
    ),
    "stores-another-record": Mutant(
        wrong="a follower stores another record than it is sent",
        patches=replication_patches.stores_another_record,
        check="log-matching", scenario="az-isolated-follower", version="2.6",
        versions=(*OLD, "1.1"),
    ),
    "never-follows": Mutant(
        wrong="a leader that was succeeded goes on leading",
        patches=observation_patches.never_follows,
        check="dual-leader", scenario="kafka-9307", version="2.8",
        guard="BecomeFollower: a request of a later leader epoch is obeyed",
    ),
    "controller-epoch-unchecked": Mutant(
        wrong="a controller's writes do not depend on its epoch",
        patches=observation_patches.epoch_unchecked,
        check="dual-controller", scenario="kafka-6082", version="2.1",
        versions=("2.1",), scenarios=("kafka-6082",),
    ),
    "epoch-of-the-one-before": Mutant(
        wrong="a controller takes the epoch of the one before",
        patches=observation_patches.epoch_of_the_one_before,
        check="dual-controller", scenario="brokers-altered", version="2.6",
    ),
    "high-watermark-falls": Mutant(
        wrong="a leader's high watermark falls",
        patches=observation_patches.backwards,
        check="high-watermark-regression", scenario="az-isolated-follower", version="2.8",
    ),
    "one-too-many": Mutant(
        wrong="a follower counts one record too many as committed",
        patches=observation_patches.one_too_many,
        check="high-watermark-above-log-end", scenario="az-isolated-follower", version="2.8",
    ),
    "every-second-of-epoch-0": Mutant(
        wrong="a leader stamps batches with an older epoch",
        patches=observation_patches.every_second_of_epoch_0,
        check="leader-epoch-monotonicity", scenario="az-isolated-leader", version="2.6",
    ),
    "isr-written-unversioned": Mutant(
        wrong="a leader writes its ISR over whatever is there",
        patches=observation_patches.whatever_the_version,
        check="fenced-leader-change", scenario="az-isolated-leader-direct-zk", version="2.6",
        guard="QuorumUpdateLeaderAndIsr: IsTrueLeader",
    ),
    "elected-out-of-sync": Mutant(
        wrong="an elected leader is not in sync",
        patches=observation_patches.elected_out_of_sync,
        check="partition-state", scenario="az-isolated-leader", version="2.8",
        guard="LeaderInIsr, an invariant",
    ),
    "cut-too-far": Mutant(
        wrong="a follower cuts one record too much",
        patches=replication_patches.cut_too_far,
        check="committed-truncated", scenario="az-isolated-leader", version="2.6",
        versions=EPOCHS,
    ),
    "epochs-not-cut": Mutant(
        wrong="epochs outlive what was written in them",
        patches=replication_patches.epochs_not_cut,
        check="epoch-cache", scenario="kafka-7164", version="2.6",
        versions=(*EPOCHS, *ALTER_ISR),
    ),
    "recovered-to-high-watermark": Mutant(
        wrong="a restart cuts to the checkpointed high watermark",
        patches=replication_patches.recovered_to_high_watermark,
        check="checkpoint-ahead", scenario="kip101-case1", version="2.6",
        versions=(*OLD, *EPOCHS, *ALTER_ISR),
    ),
    "elects-no-leader": Mutant(
        wrong="no leader is elected after the leader is gone",
        patches=observation_patches.elects_none,
        check="no-leader", scenario=IN_PEACE, version="2.6",
    ),
    "never-joins": Mutant(
        wrong="a follower that has caught up stays out of the ISR",
        patches=observation_patches.never_joins,
        check="under-replicated", scenario=IN_PEACE, version="2.6",
    ),
    "fetches-and-forgets": Mutant(
        wrong="a follower does not append what it fetches",
        patches=observation_patches.fetches_and_forgets,
        check="too-few-copies", scenario=IN_PEACE, version="2.8",
    ),
    "parked-and-forgotten": Mutant(
        wrong="a produce that is parked is forgotten",
        patches=observation_patches.parks_and_forgets,
        check="unanswered-request", scenario=IN_PEACE, version="2.8",
    ),
    "high-watermark-by-the-fastest": Mutant(
        wrong="waits for one follower",
        patches=replication_patches.by_the_fastest,
        check="lost-acknowledged", scenario="kafka-6880", version="2.6",
        versions=(*EPOCHS, *ALTER_ISR),
        guard="LeaderIncHighWatermark: each follower, not one",
    ),
    "high-watermark-without-the-isr": Mutant(
        wrong="waits for who is heard of",
        patches=replication_patches.without_the_isr,
        check="lost-acknowledged", scenario="az-isolated-leader-acks-all", version="2.6",
        versions=(*EPOCHS, *ALTER_ISR),
        guard="LeaderIncHighWatermark: of the ISR, not of those heard of",
    ),
    "taken-for-as-far-as-the-leader": Mutant(
        wrong="a new leader takes the ISR for as far as itself",
        patches=replication_patches.taken_for_as_far_as_the_leader,
        check="committed-truncated", scenario="kafka-6880", version="2.6",
        versions=(*EPOCHS, *ALTER_ISR), scenarios=PAST,
        guard="LeaderIncHighWatermark: ReplicaIsFollowing, in this leader epoch",
    ),
    "counted-when-sent": Mutant(
        wrong="a fetch counts what it is given",
        patches=replication_patches.counted_when_sent,
        check="lost-acknowledged", scenario="kafka-7128", version="2.1",
        versions=(*EPOCHS, *ALTER_ISR),
    ),
    "joins-behind": Mutant(
        wrong="every follower that fetches joins the ISR",
        patches=replication_patches.joins_behind,
        check="lost-acknowledged", scenario="kafka-7128", version="2.6",
        versions=(*EPOCHS, *ALTER_ISR),
        guard="LeaderExpandIsr: IsFollowerCaughtUp to the high watermark",
    ),
    "candidates-vote-again": Mutant(
        wrong="a candidate of the quorum votes for others, too, in the first epoch",
        patches=quorum_patches.candidates_vote_again,
        check="dual-quorum-leader", scenario=KRAFT, version="3.9",
        unseen=NO_CRASHES,
    ),
    "followers-alter-metadata": Mutant(
        wrong="a follower of the quorum writes batches of the metadata log with another timestamp",
        patches=quorum_patches.followers_alter_batches,
        check="metadata-divergence", scenario=KRAFT, version="3.9",
        unseen=NO_CRASHES,
    ),
    "quorum-high-watermarks-fall": Mutant(
        wrong="a broker's high watermark of the metadata log falls every few records",
        patches=quorum_patches.high_watermarks_fall,
        check="quorum-high-watermark", scenario=KRAFT, version="3.9",
        unseen=NO_CRASHES,
    ),
    "isr-before-it-is-recorded": Mutant(
        wrong="a shrunk ISR counts at once",
        patches=replication_patches.shrunk_before_it_is_recorded,
        check="read-then-lost", scenario="az-isolated-leader", version="2.8",
        versions=ALTER_ISR, scenarios=ALONE,
    ),
    "elects-any-replica": Mutant(
        wrong="elects from the assignment",
        patches=replication_patches.elects_any_replica,
        check="lost-acknowledged", scenario="kafka-7128", version="2.6",
        versions=(*EPOCHS, *ALTER_ISR),
        guard="ControllerElectLeader: the new leader is in the ISR",
    ),
    "cut-to-high-watermark": Mutant(
        wrong="a follower cuts to its high watermark",
        patches=replication_patches.cut_to_high_watermark,
        check="replica-divergence", scenario="kip101-case2", version="2.6",
        versions=EPOCHS,
        guard="BecomeFollowerTruncateKip101: LookupOffsetForEpoch",
    ),
    "new-leader-cuts": Mutant(
        wrong="a new leader cuts to its high watermark",
        patches=replication_patches.new_leader_cuts,
        check="lost-acknowledged", scenario="kip101-case1", version="2.6",
        versions=(*EPOCHS, *ALTER_ISR),
    ),
    "fences-no-epoch": Mutant(
        wrong="fetches of any epoch count",
        patches=replication_patches.fences_none,
        check="replica-divergence", scenario="kafka-6880", version="2.6",
        versions=(*EPOCHS, *ALTER_ISR), scenarios=PAST,
        guard="FencedFollowerFetch: IsFollowerCaughtUpToLeaderEpoch",
    ),
    "no-epoch-on-election": Mutant(
        wrong="an epoch begins with its first record",
        patches=replication_patches.no_epoch_on_election,
        check="lost-acknowledged", scenario="kafka-7415", version="2.6",
        versions=EPOCHS,
    ),
    "commits-are-aborts": Mutant(
        wrong="a coordinator aborts what it says it commits",
        patches=transaction_patches.commits_are_aborts,
        check="lost-commit", scenario=TRANSACTIONS, version="2.8", unseen=NO_TRANSACTIONS,
    ),
    "aborts-are-commits": Mutant(
        wrong="a coordinator commits what it says it aborts",
        patches=transaction_patches.aborts_are_commits,
        check="unrequested-commit", scenario=TRANSACTIONS, version="2.8", unseen=NO_TRANSACTIONS,
    ),
    "the-other-marker": Mutant(
        wrong="one broker writes the other marker",
        patches=transaction_patches.one_broker_writes_the_other_marker,
        check="torn-commit", scenario=TRANSACTIONS, version="2.8", unseen=NO_TRANSACTIONS,
    ),
    "aborted-index-lost": Mutant(
        wrong="a leader names no aborted transactions",
        patches=transaction_patches.aborted_index_is_lost,
        check="aborted-read", scenario=TRANSACTIONS, version="2.8", unseen=NO_TRANSACTIONS,
    ),
    "stable-at-the-high-watermark": Mutant(
        wrong="the last stable offset ignores open transactions",
        patches=transaction_patches.stable_at_the_high_watermark,
        check="dirty-read", scenario=TRANSACTIONS, version="2.8", unseen=NO_TRANSACTIONS,
    ),
    "stable-in-a-circle": Mutant(
        wrong="the last stable offset ignores open transactions, and a transform writes where it reads",
        patches=transaction_patches.stable_at_the_high_watermark,
        check="circular-dependency", scenario=CIRCLES, version="2.8", unseen=NO_TRANSACTIONS,
    ),
    "transactional-offsets-dropped": Mutant(
        wrong="a group forgets the offsets of committed transactions",
        patches=transaction_patches.offsets_of_transactions_are_dropped,
        check="duplicate-commit", scenario=TRANSACTIONS, version="2.8", unseen=NO_TRANSACTIONS,
    ),
    "sends-the-offsets-read": Mutant(
        wrong="a transform commits the offset of its last input, not the next one",
        patches=transaction_patches.sends_the_offsets_read,
        check="output-without-offsets", scenario=TRANSACTIONS, version="2.8", unseen=NO_TRANSACTIONS,
    ),
    "leaves-outputs-out": Mutant(
        wrong="a transform writes no output for some inputs",
        patches=transaction_patches.leaves_outputs_out,
        check="offsets-without-output", scenario=TRANSACTIONS, version="2.8", unseen=NO_TRANSACTIONS,
    ),
    "accepts-older-epochs": Mutant(
        wrong="a leader compares no producer epochs",
        patches=transaction_patches.accepts_older_epochs,
        check="zombie-write", scenario=TRANSACTIONS, version="2.8", unseen=NO_TRANSACTIONS,
    ),
    "writes-no-marker": Mutant(
        wrong="one broker writes no markers",
        patches=transaction_patches.one_broker_writes_no_marker,
        check="hanging-transaction", scenario=TRANSACTIONS, version="2.8", unseen=NO_TRANSACTIONS,
    ),
}  # fmt: skip
