"""The oracle's verdicts: counts, unreadable logs and unknown states."""

from emulator.judging.oracle.anomalies import ANOMALIES
from emulator.judging.oracle.judge import judge_truth, unknown_outcomes
from emulator.judging.oracle.truth import Truth
from tests.emulator.judging.oracle.truths import PLACE, given, healthy, write

OF_CLIENTS = ("lost-commit", "unrequested-commit", "torn-commit", "circular-dependency", "duplicate-commit")
OF_TRANSFORMS = ("output-without-offsets", "offsets-without-output")
OF_TRANSACTIONS = (*OF_CLIENTS, *OF_TRANSFORMS, "zombie-write", "hanging-transaction")
OF_A_QUORUM = ("dual-quorum-leader", "metadata-divergence", "quorum-high-watermark")


def test_a_healthy_run_holds_every_check() -> None:
    """Those of a quorum and of transactions are skipped."""
    judged = judge_truth(healthy())
    skipped = dict.fromkeys((*OF_A_QUORUM, *OF_TRANSACTIONS), ("skipped", 0))
    reported = {name: (check["verdict"], check["count"]) for name, check in judged.items()}
    assert reported == dict.fromkeys(ANOMALIES, ("held", 0)) | skipped


def test_a_verdict_has_the_number_of_subjects() -> None:
    judged = judge_truth(healthy())
    assert {name: (check["judged"], check["subject"]) for name, check in judged.items()} == {
        "dual-quorum-leader": (0, "states of the quorum's nodes"),
        "metadata-divergence": (0, "committed batches of the metadata log"),
        "quorum-high-watermark": (0, "states of the quorum's nodes"),
        "lost-acknowledged": (3, "acknowledged records"),
        "duplicate": (9, "batches in the logs"),
        "reordered": (3, "acknowledged records"),
        "failed-but-stored": (9, "batches in the logs"),
        "acknowledged-below-min-insync": (3, "records acknowledged with acks=all"),
        "read-then-lost": (3, "batches read"),
        "phantom-read": (3, "batches read"),
        "read-above-high-watermark": (3, "batches read"),
        "read-gap": (3, "batches read"),
        "non-monotonic-read": (3, "batches read"),
        "skipped-read": (3, "batches read"),
        "unseen": (3, "batches read"),
        "inconsistent-offsets": (3, "batches read"),
        "offset-out-of-range": (3, "batches read and positions left"),
        "group-ahead-of-log": (1, "offsets committed"),
        "committed-offset-regression": (1, "reads of committed offsets"),
        "replica-divergence": (9, "batches in the logs"),
        "log-matching": (9, "batches in the logs"),
        "dual-leader": (3, "replicas with a role"),
        "dual-controller": (1, "terms as controller"),
        "high-watermark-regression": (12, "batches in the logs and reads"),
        "high-watermark-above-log-end": (3, "replicas with a role"),
        "leader-epoch-monotonicity": (3, "replicas with a role"),
        "partition-state": (1, "committed states of partitions"),
        "fenced-leader-change": (1, "committed states of partitions"),
        "committed-truncated": (9, "batches in the logs"),
        "epoch-cache": (9, "batches in the logs"),
        "checkpoint-ahead": (1, "logs found at starts"),
        "no-leader": (1, "partitions in a long enough quiescent period"),
        "under-replicated": (1, "partitions in a long enough quiescent period"),
        "unanswered-request": (1, "requests in a long enough quiescent period"),
        "too-few-copies": (3, "records acknowledged with acks=all before a long enough quiescent period"),
        **dict.fromkeys(("aborted-read", "dirty-read"), (3, "batches read")),
        **dict.fromkeys(("zombie-write", "hanging-transaction"), (0, "transactional batches and markers appended")),
        **dict.fromkeys((*OF_CLIENTS, *OF_TRANSFORMS), (0, "changes of clients' transactions")),
    }


def test_a_run_without_anything_skips_every_check() -> None:
    assert {check["verdict"] for check in judge_truth(Truth()).values()} == {"skipped"}


def test_a_log_that_cannot_be_read_leaves_its_checks_unknown() -> None:
    truth = healthy()
    truth.damaged = {PLACE: {"broker-0": "t-0/0.log: damaged"}}
    del truth.logs[PLACE]["broker-0"]
    judged = judge_truth(truth)
    unknown = {name for name, check in judged.items() if check["verdict"] == "unknown"}
    assert unknown == {
        *("lost-acknowledged", "duplicate", "reordered", "failed-but-stored", "read-then-lost"),
        *("replica-divergence", "leader-epoch-monotonicity", "epoch-cache", "unseen", "group-ahead-of-log"),
        "too-few-copies",
    }
    assert judged["duplicate"]["reason"] == "t-0/0.log: damaged"


def test_a_final_leader_that_cannot_be_read_has_lost_nothing_that_is_known() -> None:
    truth = healthy()
    truth.reads.append(given("x", 3))
    del truth.logs[PLACE]["broker-0"]
    truth.damaged = {PLACE: {"broker-0": "t-0/0.log: damaged"}}
    assert judge_truth(truth)["read-then-lost"]["verdict"] == "unknown"


def test_states_that_are_not_known_leave_the_check_unknown() -> None:
    truth = healthy()
    truth.states_missing = "what session-0 has committed does not follow on transaction 0x7"
    check = judge_truth(truth)["partition-state"]
    assert (check["verdict"], check["reason"]) == ("unknown", truth.states_missing)


def test_fates_of_writes_with_unknown_outcome() -> None:
    truth = healthy()
    truth.writes += [write("c", -1, outcome="unknown"), write("x", -1, outcome="unknown")]
    truth.unended = 1
    assert unknown_outcomes(truth) == {"in_log": 1, "not_in_log": 1, "open": 1}
    truth.leaders = []
    assert unknown_outcomes(truth) == {"in_log": 0, "not_in_log": 0, "open": 3}
