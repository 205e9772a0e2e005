"""As `test_checks`: what must come right by itself, once a run is left in peace."""

from __future__ import annotations

import pytest

from protocol import events as e
from tests.audit.conftest import Audit
from tests.audit.trace import Trace, healthy

pytestmark = pytest.mark.spark
TOGETHER = True
LONG_MS = 60_000.0


def _left(trace: Trace, ms: float = LONG_MS) -> Trace:
    """In peace, until the run is over."""
    trace.later(ms)
    for node in ("broker-0", "broker-1", "broker-2", "client-0", "session-0"):
        trace.stop(node)
    return trace


def _leaderless() -> Trace:
    """The leader dies and is back, and the controller elects no leader."""
    trace = healthy().assigned(0, 1, 2).kill("broker-0").state(leader=-1, epoch=1, isr=(1, 2))
    return trace.emit("injector", e.MachineFault("start", "broker-0", life=2)).start("broker-0")


def _lagging(version: str = "2.6", settings: str = "") -> Trace:
    return healthy(version, settings).assigned(0, 1, 2).state(leader=0, epoch=0, isr=(0, 2))


def test_a_partition_without_a_leader_though_all_replicas_are_there(audit: Audit) -> None:
    check = audit(_left(_leaderless())).checks["no-leader"]
    # 2.6: a session of 18 s if nobody gave another.
    assert [(one["partition"], one["bound_ms"], one["lasted_ms"] >= LONG_MS) for one in check.evidence] == [
        ("t-0", 36_000, True)
    ]


def test_a_leader_that_comes_in_time(audit: Audit) -> None:
    trace = _leaderless().later(30_000).state(leader=1, epoch=2, isr=(1, 2))
    assert audit(_left(trace)).checks["no-leader"].verdict == "held"


def test_a_replica_that_stays_out_of_the_isr_though_all_are_there(audit: Audit) -> None:
    check = audit(_left(_lagging())).checks["under-replicated"]
    assert [(one["isr"], one["replicas"], one["bound_ms"]) for one in check.evidence] == [([0, 2], [0, 1, 2], 48_000)]


def test_a_replica_that_is_back_in_time(audit: Audit) -> None:
    trace = _lagging().later(40_000).state(leader=0, epoch=0, isr=(0, 2, 1))
    assert audit(_left(trace)).checks["under-replicated"].verdict == "held"


@pytest.mark.parametrize(
    ("version", "cut", "bound_ms"), [("2.6", False, 48_000), ("2.7", False, 78_000), ("2.6", True, 78_000)]
)
def test_a_requested_isr_may_stall_for_a_request_and_after_a_cut_for_a_connection(
    audit: Audit, version: str, cut: bool, bound_ms: int
) -> None:
    trace = _lagging(version)
    if cut:
        _in_force(trace).emit("broker-0", e.FaultHealed("1", "cut az-0", 0))
    check = audit(_left(trace, 90_000)).checks["under-replicated"]
    assert [one["bound_ms"] for one in check.evidence] == [bound_ms]


@pytest.mark.parametrize(
    ("name", "given_ms", "cut", "verdict"),
    [
        ("request.timeout.ms", 1_000, False, "violated"),
        ("request.timeout.ms", 40_000, False, "skipped"),
        ("request.timeout.ms", 1_000, True, "skipped"),
        ("replica.socket.timeout.ms", 1_000, False, "skipped"),
    ],
)
def test_it_stalls_for_as_long_as_brokers_wait(audit: Audit, name: str, given_ms: int, cut: bool, verdict: str) -> None:
    trace = _lagging("2.8", f"log.dirs=d {name}={given_ms}")
    if cut:
        _in_force(trace).emit("broker-0", e.FaultHealed("1", "cut az-0", 0))
    assert audit(_left(trace)).checks["under-replicated"].verdict == verdict


def _in_force(trace: Trace) -> Trace:
    return trace.emit("injector", e.FaultAsked("1", "cut az-0", False)).emit(
        "broker-0", e.FaultInForce("1", "cut az-0")
    )


@pytest.mark.parametrize("why", ["short", "a fault lasts", "a broker is dead", "a broker died by itself", "paused"])
def test_what_was_not_left_in_peace_for_long_enough_is_not_judged(audit: Audit, why: str) -> None:
    trace = _leaderless()
    match why:
        case "short":
            trace.later(-LONG_MS + 5_000)
        case "a fault lasts":
            _in_force(trace)
        case "a broker is dead":
            trace.kill("broker-1")
        case "a broker died by itself":
            trace.stop("broker-1", code=1, reason="it could not go on")
        case "paused":
            trace.kill("broker-1", "pause")
    checks = audit(_left(trace)).checks
    assert {checks[name].verdict for name in ("no-leader", "under-replicated")} <= {"skipped", "unknown"}


def test_peace_begins_with_the_heal(audit: Audit) -> None:
    trace = _in_force(_leaderless()).later(LONG_MS).emit("broker-0", e.FaultHealed("1", "cut az-0", 0))
    assert audit(_left(trace, 30_000)).checks["no-leader"].verdict != "violated"


@pytest.mark.parametrize(
    ("word", "takes_ms", "verdict"),
    [("slow-disk", 0.0, "violated"), ("slow-disk", 1.0, "skipped"), ("clock-jump", 0.0, "violated")],
)
def test_a_disk_that_is_slow_is_no_peace_and_one_that_is_as_fast_as_before_is(
    audit: Audit, word: str, takes_ms: float, verdict: str
) -> None:
    trace = _leaderless().kill("broker-1", "slow-disk").emit("injector", e.HardwareChanged("broker-1", 5.0, 0.0, 0.0))
    trace.kill("broker-1", "slow-disk").emit("injector", e.HardwareChanged("broker-1", takes_ms, 0.0, 0.0))
    if word == "clock-jump":
        trace.kill("broker-2", word).emit("injector", e.HardwareChanged("broker-2", 0.0, 0.0, -5000.0))
    assert audit(_left(trace)).checks["no-leader"].verdict == verdict


@pytest.mark.parametrize(("peace_ms", "verdict"), [(20_000, "held"), (LONG_MS, "violated")])
def test_replicas_are_looked_for_from_when_they_were_assigned(audit: Audit, peace_ms: float, verdict: str) -> None:
    trace = healthy().assigned(0, 2).state(leader=0, epoch=0, isr=(0, 2)).later(LONG_MS).assigned(0, 1, 2)
    assert audit(_left(trace, peace_ms)).checks["under-replicated"].verdict == verdict


# --- unanswered-request ---

BOUND_MS = 78_000
"""Of 2.6: twice a lag of 30 s and a session of 18 s."""


def _requested(timeout_ms: int = 300_000) -> Trace:
    return healthy().ask(2, timeout_ms=timeout_ms).answer(6).ask(1, timeout_ms=timeout_ms, attempt=2)


@pytest.mark.parametrize("answered", [False, True])
def test_a_request_without_an_answer_though_all_nodes_are_there(audit: Audit, answered: bool) -> None:
    trace = _requested().later(BOUND_MS + 1_000)
    operation = f"client-0.1:{trace.operations}"
    check = audit(_left(trace.answer(attempt=2) if answered else trace)).checks["unanswered-request"]
    assert (check.verdict, check.count) == ("violated", 1)
    [one] = check.evidence
    reported = {"operation": operation, "attempt": 2, "client": "client-0", "broker": 1, "bound_ms": BOUND_MS}
    assert {name: one[name] for name in reported} == reported


@pytest.mark.parametrize("error", [0, 7, -2])
def test_a_request_that_is_answered_refused_or_given_up_in_time(audit: Audit, error: int) -> None:
    trace = _requested().later(BOUND_MS - 1_000).answer(error, attempt=2)
    assert audit(_left(trace)).checks["unanswered-request"].verdict == "held"


@pytest.mark.parametrize(
    ("timeout_ms", "verdict"), [(0, "violated"), (100_000, "violated"), (115_000, "held"), (300_000, "held")]
)
def test_after_a_cut_a_request_is_waited_for_as_long_as_its_client_does(
    audit: Audit, timeout_ms: int, verdict: str
) -> None:
    trace = _in_force(_requested(timeout_ms)).emit("broker-0", e.FaultHealed("1", "cut az-0", 0))
    # Connections may be dead for 30 s more.
    assert audit(_left(trace, 115_500)).checks["unanswered-request"].verdict == verdict


def test_requests_to_zookeeper_are_not_judged_here(audit: Audit) -> None:
    trace = _requested().answer(attempt=2).ask(-1)
    assert audit(_left(trace, BOUND_MS + 20_000)).checks["unanswered-request"].verdict == "held"


@pytest.mark.parametrize("why", ["short", "another life"])
def test_requests_that_need_no_answer(audit: Audit, why: str) -> None:
    trace, ms = _requested(), BOUND_MS + 20_000.0
    match why:
        case "short":
            ms = BOUND_MS - 1_000
        case "another life":
            trace.kill("client-0").emit("injector", e.MachineFault("start", "client-0", life=2))
            trace.start("client-0", "client")
    assert audit(_left(trace, ms)).checks["unanswered-request"].verdict in ("skipped", "unknown")


@pytest.mark.parametrize("wanting", ["client-0", "broker-2"])
def test_an_unreported_answer_leaves_it_unknown(audit: Audit, wanting: str) -> None:
    """Any missing answer leaves it unknown: its content is not known."""
    trace = _requested()
    trace.seqs[wanting] += 1
    verdict = audit(_left(trace, BOUND_MS + 1_000))
    check = verdict.checks["unanswered-request"]
    assert (verdict.valid, check.verdict, check.count) == ("unknown", "unknown", 1)
    assert check.reason == f"{verdict.unknown_because[0]}, and with it this might be no violation"
    assert f"1 events of {wanting}, incarnation 1, are missing" in check.reason


# --- too-few-copies ---


def _acknowledged(
    followers: tuple[int, ...],
    *,
    least: int = 2,
    assigned: tuple[int, ...] = (0, 1, 2),
    acks: int = -1,
    settings: str = "",
) -> Trace:
    """a on all replicas, b on the leader and these."""
    trace = Trace("copies", settings=settings).cluster().assigned(*assigned).state(leader=0, epoch=0, isr=assigned)
    for broker in assigned:
        trace.role(broker, "follower" if broker else "leader", epoch=0, min_insync=least)
    trace.produce("a", at=0, followers=assigned[1:])
    return trace.produce("b", at=1, followers=followers, acks=acks)


def test_a_record_that_fewer_hold_than_must(audit: Audit) -> None:
    check = audit(_left(_acknowledged(()))).checks["too-few-copies"]
    assert (check.verdict, check.count, check.judged) == ("violated", 1, 2)
    [one] = check.evidence
    assert (one["value"], one["copies"], one["replicas"], one["min_insync_replicas"]) == ("b", 1, [0, 1, 2], 2)


def test_other_bytes_at_its_offset_are_no_copy(audit: Audit) -> None:
    trace = _acknowledged(()).append(1, "x", at=1, epoch=0).append(2, "b", at=1, epoch=0).truncate(2, 1, log_end=2)
    assert audit(_left(trace)).checks["too-few-copies"].count == 1


def test_a_copy_beside_the_assigned_replicas_does_not_count(audit: Audit) -> None:
    trace = _acknowledged((), assigned=(0, 1)).append(2, "a", at=0, epoch=0).append(2, "b", at=1, epoch=0)
    assert audit(_left(trace)).checks["too-few-copies"].count == 1


@pytest.mark.parametrize("why", ["enough", "one will do", "all there are", "one would do once", "lost", "acks=1"])
def test_as_many_as_must(audit: Audit, why: str) -> None:
    match why:
        case "enough":
            trace = _acknowledged((2,))
        case "one will do":
            trace = _acknowledged((), least=1)
        case "all there are":
            trace = _acknowledged((1,), least=3, assigned=(0, 1))
        case "one would do once":
            trace = _acknowledged(()).emit("broker-0", e.TopicConfigured("t", "min.insync.replicas=1"))
        case "lost":
            trace = _acknowledged(()).leader(1, epoch=1, followers=(2,)).state(leader=1, epoch=1, isr=(1, 2))
        case _:
            trace = _acknowledged((), acks=1)
    assert audit(_left(trace)).checks["too-few-copies"].verdict == "held"


@pytest.mark.parametrize(
    ("node", "event", "verdict"),
    [
        ("broker-0", e.TopicConfigured("u", "min.insync.replicas=1"), "violated"),
        ("broker-0", e.TopicConfigured("t", "flush.ms=7"), "violated"),
        ("broker-0", e.BrokerConfigured(-1, "log.cleaner.threads=2", True), "violated"),
        ("broker-0", e.BrokerConfigured(-1, "min.insync.replicas=1", True), "held"),
    ],
)
def test_only_who_alters_it_makes_it_less(audit: Audit, node: str, event: e.Event, verdict: str) -> None:
    trace = _acknowledged((), settings="min.insync.replicas=2").emit(node, event)
    assert audit(_left(trace)).checks["too-few-copies"].verdict == verdict


@pytest.mark.parametrize("why", ["short", "no leader", "no acks=all"])
def test_copies_are_not_counted_without_peace_a_leader_or_a_promise(audit: Audit, why: str) -> None:
    trace, ms = _acknowledged(()), LONG_MS
    match why:
        case "short":
            ms = 40_000
        case "no leader":
            trace.state(leader=-1, epoch=1, isr=(0,))
        case _:
            trace = Trace("copies").cluster().assigned(0, 1, 2).leader(0, epoch=0, followers=(1, 2))
            trace.produce("b", at=0, followers=(), acks=1)
    assert audit(_left(trace, ms)).checks["too-few-copies"].verdict == "skipped"


def test_copies_are_unknown_with_an_unreported_log(audit: Audit) -> None:
    check = audit(_left(_acknowledged(()).truncate(1, 2, log_end=2))).checks["too-few-copies"]
    assert (check.verdict, check.count) == ("unknown", 0)


def test_liveness_is_unknown_where_events_are_missing(audit: Audit) -> None:
    trace = healthy().assigned(0, 1, 2)
    trace.seqs["session-0"] += 1
    check = audit(_left(trace.state(leader=0, epoch=0, isr=(0, 1, 2)))).checks["no-leader"]
    assert check.verdict == "unknown"
