"""The picture of a run has the quorum of a KRaft cluster, and what it commits."""

from __future__ import annotations

import msgspec

from audit.report.report_input import timeline_of
from audit.report.report_timeline import Timeline
from protocol import events as e
from tests.audit.trace import Trace


def timeline(trace: Trace) -> Timeline:
    lines = [msgspec.json.decode(line) for text in trace.files.values() for line in text]
    return timeline_of(sorted(lines, key=lambda line: line["at_ms"]), complete=True)


def quorum() -> Trace:
    trace = Trace(version="3.9").start("controller-0", "controller").start("controller-1", "controller")
    return trace.start("broker-0", "broker")


def test_a_controller_has_its_states_in_the_quorum() -> None:
    trace = quorum()
    for state, epoch, leader in (("candidate", 1, -1), ("leader", 1, 1000), ("leader", 1, 1000), ("follower", 2, 1001)):
        trace.emit("controller-0", e.QuorumStateChanged(state, epoch, leader, 0))
    trace.emit("broker-0", e.QuorumStateChanged("observer", 2, 1001, 0))
    nodes = timeline(trace).nodes
    spans = [(span.text, span.epoch) for span in nodes["controller-0"].ensemble]
    assert spans == [("candidate", 1), ("leading", 1), ("following", 2)]
    assert nodes["broker-0"].ensemble == []


def test_what_several_controllers_read_is_drawn_once() -> None:
    trace = quorum()
    for name in ("controller-0", "controller-1"):
        trace.emit(name, e.PartitionStateCommitted("t", 0, 0, 0, "0,1", 0, "0,1", 4, 1))
        trace.emit(name, e.PartitionStateCommitted("t", 0, 0, 0, "0", 1, "0,1", 6, 1))
        trace.emit(name, e.BrokerRegistrationCommitted(0, "registered", 1, 1, 1))
        trace.emit(name, e.BrokerRegistrationCommitted(0, "fenced", 1, 7, 1))
    found = timeline(trace)
    assert [span.text.partition("|")[0] for span in found.isr["t", 0]] == ["0,1", "0"]
    assert [mark.text for mark in found.nodes["broker-0"].marks] == ["fenced, broker epoch 1"]
