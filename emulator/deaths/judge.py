"""A run with a death, judged: what nothing allows, and what a rule does."""

import msgspec

from emulator.deaths.attendant import Recovery
from emulator.deaths.history import history_of
from emulator.deaths.play import Died
from emulator.deaths.promises import Broken, broken_promises, broken_recoveries
from emulator.deaths.rules import LostTail, Rules
from emulator.deaths.sanity import insane
from emulator.deaths.settled import Unsettled, assignments, brokers_of, ensemble_state, partition_of, state_of
from emulator.oracle.truth import truth_of
from emulator.topology import Topology, broker_name
from protocol.ids import TopicPartition
from protocol.versions import Gates

OUT_OF_RANGE = "log truncation is not allowed"
ORDINARY_EXITS = ("earlier session has not expired", "the session expired while registering")
"""A broker that is started before its old session has expired exits (11.10)."""


class Judged(msgspec.Struct):
    """`failed`: what nothing allows. `allowed`: {rule: how often it was needed}."""

    failed: list[Broken]
    allowed: dict[str, int]


def judge_death(died: Died) -> Judged:
    """By the true state of the world."""
    history = history_of(died.world.trace.entries)
    truth = truth_of(died.world, died.operations, died.probe)
    tails = lost_tails(died.attendant.recoveries, died.world.topology)
    rules = Rules(died.resolved, history, power=bool(died.attendant.power_lost), tails=tails)
    judged = Judged([], {})
    found = (*broken_promises(truth, history), *broken_recoveries(died.attendant.recoveries))
    for broken in (*found, *insane(died.world, truth, rules.gates)):
        put(judged, broken, rules.allowing(broken))
    for at_ms, name, reason in ((one.at_ms, one.node, one.reason) for one in died.attendant.exits):
        put(judged, Broken("exit", f"{name} ended at {at_ms:.0f} ms: {reason}"), exit_rule(rules.gates, reason))
    for one in died.unsettled:
        rule = unsettled_rule(died, rules.gates, one)
        put(judged, Broken("settled", one.text, one.place), rule)
    return judged


def lost_tails(recoveries: list[Recovery], topology: Topology) -> list[LostTail]:
    """What power losses took from logs, and lost disks."""
    return [
        LostTail(
            one.at_ms,
            topology.node(one.node).number,
            one.place,
            one.held[len(one.recovered)].first,
            one.held[-1].last,
            one.disk,
        )
        for one in recoveries
        if (one.power or one.disk) and len(one.recovered) < len(one.held)
    ]


def put(judged: Judged, broken: Broken, rule: str) -> None:
    """Among what a rule allows, or what nothing does."""
    if rule:
        judged.allowed[rule] = judged.allowed.get(rule, 0) + 1
    else:
        judged.failed.append(broken)


def exit_rule(gates: Gates, reason: str) -> str:
    """Which rule lets a process end by itself."""
    if any(text in reason for text in ORDINARY_EXITS):
        return "11.10: a broker that finds its old registration exits"
    if OUT_OF_RANGE in reason and gates.out_of_range_exits:
        return "2.3 (KAFKA-3410): a follower ahead of its leader exits"
    return ""


def unsettled_rule(died: Died, gates: Gates, one: Unsettled) -> str:
    """Why Kafka would not settle there either; "" if it would."""
    absent = _absent(died, gates)
    if one.broker in absent:
        return absent[one.broker]
    if one.place[1] < 0:
        return ""
    tree, _ = ensemble_state(died.world)
    if tree is None:
        return ""
    assigned = assignments(tree).get(one.place, ())
    for broker in assigned:
        if broker in absent:
            return absent[broker]
    return _stuck(died, gates, one.place, assigned)


def _absent(died: Died, gates: Gates) -> dict[int, str]:
    """Brokers that cannot be there, by a rule."""
    found: dict[int, str] = {}
    for one in died.unsettled:
        if one.what == "dead" and one.broker >= 0:
            # Between two exits for the same reason it finds its old registration, as everybody who is back too early.
            reasons = [end.reason for end in died.attendant.exits if end.node == broker_name(one.broker)]
            told = [reason for reason in reasons if not any(text in reason for text in ORDINARY_EXITS)]
            found[one.broker] = exit_rule(gates, told[-1]) if told else ""
        if one.what == "unregistered" and not gates.registration_retries_node_exists:
            found[one.broker] = "8 (KAFKA-7165): a broker finds its old registration in a new session, and lives on"
    return {broker: rule for broker, rule in found.items() if rule}


def _stuck(died: Died, gates: Gates, place: TopicPartition, assigned: tuple[int, ...]) -> str:
    """Its leader cannot change the ISR, or a follower has stopped fetching."""
    tree, _ = ensemble_state(died.world)
    assert tree is not None
    state, brokers = state_of(tree, place), brokers_of(died.world)
    if not gates.broker_epochs and any(
        partition_of(brokers[number], place) is None and died.world.nodes[broker_name(number)].incarnation > 1
        for number in assigned
        if number in brokers
    ):
        return "8 (KAFKA-7235): orders are for a broker, not for a life of it"
    leader = brokers.get(state.leader) if state is not None else None
    partition = partition_of(leader, place) if leader is not None else None
    if state is None or leader is None or partition is None:
        return ""
    if partition.leads and partition.leader_epoch == state.leader_epoch:
        if gates.alter_isr and leader.broker.isr_changes.given_up(partition):
            return "1.6: an ISR change that was refused stays pending until a newer leader epoch"
        if not gates.alter_isr and partition.zk_version != state.zk_version:
            return "1.6 (KAFKA-2729): a leader whose version is outdated tries its ISR write for ever"
    for number in assigned:
        follower = brokers.get(number)
        if number != state.leader and follower is not None and follower.broker.fetchers.failed(place):
            return "2.4: batches that do not continue the log stop the fetcher"
    return ""
