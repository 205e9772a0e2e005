"""Findings of events in any order. No Spark: the fold is pure."""

from __future__ import annotations

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from audit.following import followed_commits, followed_logs, windows
from audit.following.event import Event
from audit.following.followed import FORGOTTEN_MS, Followed
from emulator.judging.standstills import Ensemble, Watch
from emulator.machines.session.sessions import SessionLimits
from protocol import events as e
from tests.audit.following.folding import by_node, events_in, folded, kinds, remembered
from tests.audit.trace import Trace, dual_leader, healthy


def test_a_healthy_run_has_no_findings() -> None:
    followed, lines = folded(healthy())
    assert lines == []
    assert followed.unavailable_ms(100.0) == {"az-0": 0.0, "az-1": None, "az-2": None}


def test_a_process_that_stood_still_is_reported_once_and_named() -> None:
    """A live cluster's reports of lateness; the first report is of a punctual process."""
    followed = Followed(Watch(Ensemble(4_000.0, SessionLimits(1_000))))
    trace = healthy()
    for longest_ms in (1_900.0, 20_000.0, 30_000.0):
        trace.later(5_000).emit("broker-0", e.TimerLateness(250, 1.0, longest_ms, longest_ms, "1:250"))
    events = [event for of_node in by_node(trace).values() for event in of_node]
    [line] = [*followed.step(events, 0.0), *followed.finish()]
    assert (line.finding, line.state, line.violation, line.who) == ("stood-still", "told", False, ("broker-0",))
    assert line.text.startswith("broker-0, incarnation 1, stood still for 20000 ms")
    assert followed.stood_still == [line.text]
    assert folded(trace)[1] == [], "of a run with a scenario nothing is said"


def test_a_stale_leader_that_takes_records_is_reported_with_the_lost_ones() -> None:
    _, lines = folded(dual_leader())
    change, window, *lost = lines
    assert (change.finding, change.state, change.who, change.violation) == (
        "leader-change", "told", ("broker-1",), False,
    )  # fmt: skip
    assert (window.finding, window.state, window.violation, window.partition) == ("dual-leader", "ended", True, "t-0")
    assert (window.details["batches"], window.details["acknowledged"]) == (3, 3)
    assert window.events == ("broker-0.1/2", "broker-1.1/6", "broker-0.1/8")
    assert [(one.finding, one.details["offset"], one.details["acks"]) for one in lost] == [
        ("lost-acknowledged", 2, 1), ("lost-acknowledged", 3, 1), ("lost-acknowledged", 4, 1),
    ]  # fmt: skip
    assert lost[0].text == (
        "'c' of client-0.1:3 was acknowledged (acks=1) at offset 2; the leader, broker-1 (epoch 1), does not have it"
    )


@settings(max_examples=40, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(st.data())
def test_nothing_that_stands_depends_on_whose_lines_were_read_first(data: st.DataObject) -> None:
    """Nodes' lines in pieces of any size, one node long before another, and a wrong watermark."""
    whole, _ = folded(dual_leader())
    left = by_node(dual_leader())
    followed, read_to_ms = Followed(), 0.0
    while left:
        node = data.draw(st.sampled_from(sorted(left)))
        count = data.draw(st.integers(1, 12))
        piece, left[node] = left[node][:count], left[node][count:]
        if not left[node]:
            del left[node]
        read_to_ms = data.draw(st.floats(read_to_ms, 80.0))
        list(followed.step(piece, read_to_ms))
    list(followed.finish())
    assert facts(followed) == facts(whole)
    assert +followed.findings.violations == {"dual-leader": 1, "lost-acknowledged": 3}


def facts(followed: Followed) -> set[tuple[object, ...]]:
    """Of a lost record: which. Who led when that was noticed, depends on when it was."""
    return {
        (one.finding, one.violation, one.details["operation"])
        if one.finding == "lost-acknowledged"
        else (one.finding, one.violation, one.text, one.at_ms, one.to_ms)
        for one in followed.findings.standing
    }


def test_a_finding_that_a_late_line_refutes_is_withdrawn() -> None:
    """broker-0 had resigned in time; the line that says so was read after broker-1's."""
    trace = Trace().cluster().leader(0, epoch=0, followers=(1, 2))
    trace.role(0, "follower", epoch=1, leader=1, at_ms=50.0)
    trace.role(1, "leader", epoch=1, leader=1, at_ms=51.0)
    nodes = by_node(trace)
    resigned = nodes["broker-0"].pop()
    followed = Followed()
    first = list(followed.step([event for node in nodes.values() for event in node], 2_000.0))
    assert [(one.finding, one.state) for one in first] == [("leader-change", "told"), ("dual-leader", "begun")]
    [second] = followed.step([resigned], 2_100.0)
    assert (second.state, second.number) == ("withdrawn", first[1].number)
    assert followed.late == 1
    assert followed.findings.withdrawn == 1
    assert followed.findings.counts["dual-leader"] == 0


def test_a_window_is_reported_at_its_begin_use_and_end() -> None:
    trace = Trace().cluster().leader(0, epoch=0, followers=(1, 2)).produce("a", at=0)
    trace.leader(1, epoch=1, followers=(2,))
    followed = Followed()

    def after(read_to_ms: float) -> list[tuple[str, str, bool]]:
        events = [event for node in by_node(trace).values() for event in node]
        fresh = [event for event in events if event.name not in taken]
        taken.update(event.name for event in fresh)
        return [(one.finding, one.state, one.violation) for one in followed.step(fresh, read_to_ms)]

    taken: set[str] = set()
    assert after(trace.at_ms + 10) == [("leader-change", "told", False)]  # an ordinary transfer takes so long
    assert after(trace.at_ms + windows.IDLE_REPORTED_MS) == [("dual-leader", "begun", False)]
    trace.at_ms += 1_000
    trace.produce("c", at=1, leader=0, followers=(), acks=1)
    assert after(trace.at_ms) == [("dual-leader", "changed", True), ("lost-acknowledged", "told", True)]
    trace.produce("d", at=2, leader=0, followers=(), acks=1)
    assert after(trace.at_ms) == [("lost-acknowledged", "told", True)]  # the window is told already
    trace.role(0, "follower", epoch=1, leader=1)
    assert after(trace.at_ms) == [("dual-leader", "ended", True)]
    [window] = [one for one in followed.findings.standing if one.finding == "dual-leader"]
    assert (window.details["batches"], window.details["acknowledged"]) == (2, 2)


@pytest.mark.parametrize("what", ["kill", "power-loss", "node_stopped", "its next life"])
def test_a_death_ends_an_office(what: str) -> None:
    trace = Trace().cluster().leader(0, epoch=0)
    match what:
        case "node_stopped":
            trace.stop("broker-0")
        case "its next life":
            trace.start("broker-0")
        case _:
            trace.kill("broker-0", what)
    trace.role(1, "leader", epoch=1, leader=1, at_ms=2_000.0)
    trace.emit("client-0", e.NodeStopped(0, ""), at_ms=4_000.0)
    _, lines = folded(trace)
    assert [one.finding for one in lines] == ["leader-change"]


def test_a_pause_ends_none() -> None:
    trace = Trace().cluster().leader(0, epoch=0).kill("broker-0", "pause")
    trace.role(1, "leader", epoch=1, leader=1, at_ms=2_000.0)
    trace.emit("client-0", e.NodeStopped(0, ""), at_ms=4_000.0)
    _, lines = folded(trace)
    assert [(one.finding, one.state) for one in lines] == [("leader-change", "told"), ("dual-leader", "begun")]


def test_two_controllers_are_reported_after_a_while_and_are_no_violation_yet() -> None:
    """An ordinary change of controllers has a window, too."""
    trace = Trace().cluster().controller("broker-0", epoch=2)
    _, short = folded(trace.controller("broker-2", epoch=1, active=False))
    assert short == []
    trace = Trace().cluster().controller("broker-0", epoch=2).later(windows.IDLE_REPORTED_MS)
    _, [line] = folded(trace.controller("broker-2", epoch=1, active=False))
    assert (line.finding, line.state, line.violation, line.who) == (
        "dual-controller", "ended", False, ("broker-2", "broker-0"),
    )  # fmt: skip
    assert "broker-2 (controller epoch 1) took itself for the controller after broker-0 (epoch 2)" in line.text


def test_two_controllers_in_one_epoch_are_a_violation() -> None:
    same = Trace().cluster().controller("broker-2", epoch=1, active=False).controller("broker-0", epoch=1)
    _, [line] = folded(same)
    assert (line.finding, line.violation) == ("dual-controller", True)
    assert line.text == "broker-0 and broker-2 were controller in the same controller epoch 1"


def late_states() -> Trace:
    """The controller of epoch 1 decides two elections when epoch 2 has been committed.

    A leader's ISR is no decision of a controller.
    """
    trace = Trace().cluster().controller_epoch(1).state(leader=0, epoch=0, isr=(0, 1, 2))
    trace.controller_epoch(2).controller("broker-0", epoch=2)
    trace.state(leader=0, epoch=0, isr=(0, 1))
    trace.state(leader=1, epoch=1, isr=(1, 2)).state(leader=2, epoch=2, isr=(2,))
    return trace.state(leader=1, epoch=3, isr=(1,), controller_epoch=2)


def test_a_controller_that_writes_when_its_successor_has_begun_is_a_violation() -> None:
    _, [line] = folded(late_states().controller("broker-2", epoch=1, active=False))
    assert (line.finding, line.state, line.violation, line.who) == ("dual-controller", "told", True, ("broker-2",))
    assert line.text == (
        "broker-2 (controller epoch 1) wrote states of partitions (2) after controller epoch 2 was committed"
    )
    assert line.details == {"controller_epoch": 1, "reached": 2, "states": 2}


@settings(max_examples=60, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(st.data())
def test_late_writes_do_not_depend_on_the_first_reporter(data: st.DataObject) -> None:
    """Servers report the same transactions, each in order, one of them late.

    Old ones are forgotten meanwhile.
    """
    reported = [event for event in by_node(late_states())["session-0"] if event.event == "znode_changed"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(followed_commits, "CHANGES_MAX", data.draw(st.integers(6, 8)))
        known, left = followed_commits.Committed(), [list(reported), list(reported)]
        while left := [events for events in left if events]:
            known.changed(data.draw(st.sampled_from(left)).pop(0))
            known.written_late()
    [late] = known.written_late().values()
    assert (late.controller_epoch, late.reached, late.states) == (1, 2, 2)
    assert late.name == reported[4].name


def test_a_record_is_lost_when_the_new_leader_does_not_have_it() -> None:
    """A clean log at the time of the acknowledgement, and a leader that was behind."""
    trace = Trace().cluster().leader(0, epoch=0, followers=(1, 2)).produce("a", at=0)
    trace.produce("b", at=1, followers=(2,), acks=1)
    _, before = folded(trace)
    assert before == []
    trace.kill("broker-0").role(1, "leader", epoch=1, leader=1)
    _, lines = folded(trace)
    assert kinds(lines) == [("leader-change", False), ("lost-acknowledged", True)]
    assert "'b' of client-0.1:2" in lines[1].text
    assert lines[1].events == ("client-0.1/9", "broker-1.1/5")


def test_an_unreported_log_makes_losses_unknown() -> None:
    trace = Trace().cluster().leader(0, epoch=0).produce("a", at=0, followers=())
    trace.append(0, "c", at=2, epoch=0, as_leader=True).ended("b", at=1)
    followed, [line] = folded(trace)
    assert (line.finding, line.state, line.violation) == ("not-judged", "begun", False)
    assert "broker-0, its leader, do not have all of its log" in line.text
    assert not +followed.findings.violations


def test_a_client_whose_produces_fail_is_unavailable_until_one_is_acknowledged() -> None:
    trace = Trace().cluster().leader(0, epoch=0, followers=(1, 2)).produce("a", at=0)
    trace.ended("b", at=-1, outcome="unknown", error=-2)
    since_ms = trace.at_ms
    trace.at_ms += 700
    trace.ended("c", at=-1, outcome="failed", error=6)
    followed, [line] = folded(trace)
    assert (line.finding, line.state, line.text) == ("unavailable", "begun", "az-0: what client-0 produces fails")
    trace.at_ms += 300
    trace.append(0, "d", at=1, epoch=0, as_leader=True).ended("d", at=1)
    followed, [line] = folded(trace)
    assert (line.state, line.at_ms, line.to_ms) == ("ended", since_ms, trace.at_ms)
    assert followed.unavailable_ms(trace.at_ms)["az-0"] == round(trace.at_ms - since_ms, 3)


def test_a_client_without_answers_is_unavailable_though_no_operation_has_failed_yet() -> None:
    trace = Trace().cluster().leader(0, epoch=0, followers=(1, 2)).produce("a", at=0)
    trace.emit("client-0", e.OperationInvoked("client-0.1:9", "produce", "t", 0, -1, "x", 0, -1))
    followed = Followed()
    events = [event for node in by_node(trace).values() for event in node]
    assert list(followed.step(events, trace.at_ms + 2_000)) == []
    [line] = followed.step((), trace.at_ms + 2_500)
    assert (line.finding, line.state, line.text) == (
        "unavailable", "begun", "az-0: what client-0 produces is not answered",
    )  # fmt: skip
    assert (line.at_ms, line.violation) == (trace.at_ms, False)


def test_a_number_that_was_used_before_is_taken_once() -> None:
    events = [event for node in by_node(healthy()).values() for event in node]
    followed = Followed()
    list(followed.step([*events, *events], 0.0))
    assert followed.repeated == len(events)


def long(seconds: int) -> list[Event]:
    """Two records a millisecond, a new leader every second.

    One acknowledged record without a copy.
    """
    trace = Trace().cluster().leader(0, epoch=0, followers=(1, 2))
    events: list[Event] = []
    for second in range(seconds):
        for number in range(40):
            at = second * 40 + number
            trace.produce(f"{at}", at=at, epoch=second, leader=second % 3, followers=((second + 1) % 3,))
            trace.append((second + 2) % 3, f"{at}", at=at, epoch=second)
        trace.at_ms += 1_000
        trace.role(second % 3, "follower", epoch=second + 1, leader=(second + 1) % 3)
        trace.role((second + 1) % 3, "leader", epoch=second + 1, leader=(second + 1) % 3)
        trace.at_ms += FORGOTTEN_MS / 10
        events += [event for lines in trace.files.values() for event in events_in(lines)]
        trace.files.clear()
    return events


def test_what_is_remembered_does_not_grow_with_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed_logs, "BATCHES_MAX", 300)
    monkeypatch.setattr(followed_logs, "RECORDS_MAX", 100)
    followed, sizes = Followed(), []
    events = sorted(long(60), key=lambda event: event.at_ms)
    for begin in range(0, len(events), 200):
        piece = events[begin : begin + 200]
        lines = list(followed.step(piece, piece[-1].at_ms))
        assert {line.finding for line in lines} <= {"leader-change"}
        sizes.append(remembered(followed))
    half = len(sizes) // 2
    assert max(sizes[half:]) <= 1.1 * max(sizes[:half]), sizes
    assert followed.findings.counts["leader-change"] == 60


def test_a_cut_below_the_remembered_entries_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed_logs, "BATCHES_MAX", 5)
    trace = Trace().cluster().leader(0, epoch=0)
    for at in range(20):
        trace.produce(f"{at}", at=at, followers=())
    trace.kill("broker-0", "power-loss").start("broker-0").loaded(0, 3).leader(0, epoch=1)
    _, lines = folded(trace)
    assert ("not-judged", False) in kinds(lines)
    assert "was cut to 3, below the records in memory" in next(
        one.text for one in lines if one.finding == "not-judged"
    )


@pytest.mark.parametrize(("below", "lost"), [(4, []), (2, [2, 3])])
def test_records_deleted_on_request_are_not_reported_as_lost(below: int, lost: list[int]) -> None:
    """Of a leader that begins where the deleted records end; what lies above the offset is lost."""
    trace = Trace().cluster().leader(0, epoch=0, followers=(1, 2))
    for offset in range(4):
        trace.produce(f"v{offset}", at=offset, followers=(1, 2))
    trace.records_deleted(0, below).truncate(1, 4, log_end=4, reason="full")
    trace.leader(1, epoch=1, followers=(0, 2))
    _, lines = folded(trace)
    assert [one.details["offset"] for one in lines if one.finding == "lost-acknowledged"] == lost
