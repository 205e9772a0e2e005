"""Judges a network run with a death by the same promises and rules as a simulated one."""

from collections.abc import Iterator
from pathlib import Path

from emulator.judging.crash_testing.crash_evidence import happened, recoveries_of, truth_left
from emulator.judging.crash_testing.crash_judge import Judged, put
from emulator.judging.crash_testing.crash_network import SETTLED, DiedOver
from emulator.judging.explain.broken_promises import Broken
from emulator.judging.explain.explanation import Evidence, Rule, explain
from emulator.judging.explain.history_builder import TimedEvent
from emulator.judging.explain.run_history import History
from emulator.judging.explain.stopped import still
from emulator.judging.explain.stuck import UNREGISTERED, exit_rule, first_state_unknown, session_timeout_ms
from emulator.judging.oracle.truth import Truth
from emulator.topology import broker_name
from protocol.events import IsrChangeEnded, NodeStopped
from protocol.gates import Gates
from protocol.ids import TopicPartition

PENDING_FOR_EVER = ("refused: FENCED_LEADER_EPOCH", "refused: INVALID_UPDATE_VERSION", "bad-version")


def judge_network_death(died: DiedOver, run_dir: Path) -> Judged:
    """Judge a run by its events and disks."""
    events = happened(run_dir)
    topology = died.resolved.spec.topology
    truth = truth_left(run_dir, topology, events)
    recoveries = recoveries_of(died.left, died.power_lost, died.disk_lost, events)
    run, judged = Evidence(died.resolved, events, truth, recoveries), Judged([], {})
    for broken in run.violations():
        put(judged, broken, explain(run, broken))
    judged.events = run.rules.events
    absent: dict[int, str] = {}
    reasons = {(node, incarnation): event for node, incarnation, *_, event in events if isinstance(event, NodeStopped)}
    for end in died.exits:
        if end.expected or (end.code < 0 and end.node == died.plan.victim):
            continue
        stopped = reasons.get((end.node, end.incarnation))
        reason = stopped.reason if stopped is not None else f"exited with code {end.code} and no output"
        rule = exit_rule(run.gates, stopped.kind, stopped.reason) if stopped is not None else ""
        put(judged, Broken("exit", f"{end.node} ended at {end.at_ms:.0f} ms: {reason}"), Rule(rule) if rule else None)
        if end.node not in died.alive and rule:
            absent[topology.node(end.node).number] = rule
    if not run.gates.registration_retries_node_exists:
        absent |= dict.fromkeys(_unregistered(died), UNREGISTERED)
    timeout_ms = session_timeout_ms(died.resolved, run.history)
    for broken in _unsettled(died, truth, run.history):
        rule = next(iter(absent.values()), "") or _stuck(
            run.gates, run.history, events, broken.topic_partition, timeout_ms
        )
        put(judged, broken, Rule(rule) if rule else None)
    return judged


def _unregistered(died: DiedOver) -> Iterator[int]:
    """Living brokers without a registration in ZooKeeper, as the player saw it last."""
    seen = died.player.timeline.live_brokers
    registered = seen[-1]["live"] if seen else ()
    for node in died.resolved.spec.topology.with_role("broker"):
        if node.name in died.alive and node.number not in registered:
            yield node.number


def _unsettled(died: DiedOver, truth: Truth, history: History) -> Iterator[Broken]:
    """Failures to settle, by the player's last wait, the states and the logs."""
    waits = [e for e in died.player.timeline.entries if e.get("until") == SETTLED and "saw" in e]
    if not waits or waits[-1]["saw"] != "reached":
        yield Broken("settled", "not every broker and every ISR was back within the limit")
    for node in died.resolved.spec.topology.nodes:
        if node.name not in died.alive and "observer" not in node.roles:
            yield Broken("settled", f"{node.name} is dead")
    for topic_partition, logs in truth.logs.items():
        last = history.states[topic_partition][-1].state if topic_partition in history.states else None
        if last is None or last.leader < 0:
            yield Broken("settled", f"{topic_partition[0]}-{topic_partition[1]} has no leader", topic_partition)
            continue
        ends = {name: log[-1].last + 1 if log else 0 for name, log in logs.items()}
        if len(set(ends.values())) > 1 or broker_name(last.leader) not in ends:
            yield Broken("settled", f"{topic_partition[0]}-{topic_partition[1]}: logs end at {ends}", topic_partition)


def _stuck(
    gates: Gates, history: History, events: list[TimedEvent], topic_partition: TopicPartition, timeout_ms: float
) -> str:
    """The rule that keeps a partition (without a topic: any) from settling, by its last events.

    `timeout_ms`: of the controller's session.
    """
    for where, states in history.states.items():
        if topic_partition[0] and where != topic_partition:
            continue
        leader = broker_name(states[-1].state.leader)
        changes = [
            event
            for node, *_, event in events
            if isinstance(event, IsrChangeEnded) and node == leader and (event.topic, event.partition) == where
        ]
        if changes and changes[-1].result in PENDING_FOR_EVER:
            kind = "1.6: an ISR change that was refused stays pending" if gates.alter_isr else "1.6 (KAFKA-2729)"
            return f"{kind} until a newer leader epoch"
        first_state_rule = first_state_unknown(history, where, states[-1].state, timeout_ms)
        stopped = [still(history, gates, where, broker) for partition, broker in history.stopped if partition == where]
        rule = first_state_rule or next((rule for rule in stopped if rule), "")
        if rule:
            return rule
    return ""
