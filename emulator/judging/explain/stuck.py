"""Finds the rule of docs/semantics.md by which Kafka would not have settled either.

Such rules let a node exit by itself, a partition lack a leader, a replica stand still. "" means no rule."""

from collections.abc import Sequence
from itertools import pairwise

from emulator.judging.explain.controller_errors import controller_error
from emulator.judging.explain.finished_run import FinishedRun
from emulator.judging.explain.promise_rules import BEHIND_ITS_SUCCESSOR, EMPTY_EPOCH
from emulator.judging.explain.run_history import History
from emulator.judging.explain.settled_partitions import Unsettled, partition_of
from emulator.judging.explain.settled_state import (
    assignments,
    brokers_of,
    controllers_of,
    ensemble_state,
    state_of,
)
from emulator.judging.explain.stopped import EARLIER_LIFE, HALF_WAY, OFFLINE, still, unknown_registration, unseen
from emulator.machines.broker.fetch_reads import FIRST_WITH_PROGRESS
from emulator.machines.node.broker_node import BrokerNode
from emulator.runs import run_limits
from emulator.runs.resolve import Resolved
from emulator.storage.log_directory import METADATA_LOG
from emulator.topology import broker_name, identifier_named
from protocol.gates import Gates
from protocol.ids import BrokerId, TopicPartition
from protocol.kinds import ExitKind
from protocol.znodes import Leadership

ORDINARY_EXITS = (ExitKind.STILL_REGISTERED, ExitKind.REGISTRATION_EXPIRED)
"""Exits of a broker that starts before its old session has expired (11.10)."""
UNREGISTERED = "8 (KAFKA-7165): a broker finds its old registration in a new session, and lives on"
LARGER_THAN_FETCH = "1.9 (KIP-74): up to FETCH 2 no follower gets past a record larger than replica.fetch.max.bytes"
UNTOLD_ISR = "1.6 (KAFKA-1367): the controller does not hear of an ISR that a leader has changed"
FORGETFUL = "7 (KAFKA-9254): a log that is told twice of its broker's settings has forgotten what its topic says"
LOOKED_AT_MS = 250.0
"""Time in which every broker has read the new controller: a thread's turn and a request."""
SAME_ANSWERS = 5
"""Count of equal responses in a row that show a loop."""
COMES_AND_GOES_MS = 10_000.0
"""Time within which an incarnation ends as its predecessor did."""


def exit_rule(gates: Gates, kind: str, reason: str = "") -> str:
    """The rule that lets a process exit by itself; "" if none does."""
    if kind == ExitKind.METADATA_LOG_FAILED and METADATA_LOG in reason:  # its disk; not a fault of the quorum
        return "1.4: a node of KRaft ends with the disk of its metadata log"
    if kind in ORDINARY_EXITS:
        return "11.10: a broker that finds its old registration exits"
    if kind == ExitKind.NO_SESSION_SERVICE:
        return "4.2: a broker that does not reach the session service when it starts exits"
    if kind == ExitKind.LOG_DIRECTORIES_FAILED:  # only injected disk errors occur here
        return "3 (KIP-112): a broker ends with its last log directory, before 1.0 with its first"
    if kind == ExitKind.AHEAD_OF_LEADER and gates.out_of_range_exits:
        return "2.3 (KAFKA-3410): a follower ahead of its leader exits"
    return ""


def unsettled_rule(died: FinishedRun, history: History, gates: Gates, one: Unsettled) -> str:
    """The rule by which Kafka would not settle either; "" if none does."""
    if one.what == "told-isr" and not gates.watches_isr_changes:
        return UNTOLD_ISR
    if one.what == "settings" and gates.topic_config_lost_on_reload:
        return FORGETFUL
    gone = absent(died, history, gates)
    if one.broker in gone:
        return gone[one.broker]
    if one.what == "controller":
        return deleted_unseen(history, gates)
    if one.topic_partition[1] < 0:
        return ""
    if one.what == "metadata" and not gates.broker_epochs and unseen(history, one.broker):
        return EARLIER_LIFE  # its metadata went to that incarnation
    if one.what == "metadata" and (rule := unknown_registration(history, gates, one.topic_partition, one.broker)):
        return rule
    tree, _ = ensemble_state(died.world)
    if tree is None:
        return ""
    assigned = assignments(tree).get(one.topic_partition, ())
    for broker in assigned:
        if broker in gone:
            return gone[broker]
    state = state_of(tree, one.topic_partition)
    if state is None:
        return controller_error(died.world, gates, one.topic_partition, assigned, ())
    return (
        controller_error(died.world, gates, one.topic_partition, assigned, state.isr)
        or first_state_unknown(history, one.topic_partition, state, session_timeout_ms(died.resolved, history))
        or _bounced(died, history, gates, one.topic_partition, assigned, state)
        or _behind_half_way(died, history, gates, one.topic_partition, assigned)
        or _leader_stuck(died, gates, one.topic_partition, state)
        or _replicas_still(history, gates, one, assigned, state)
        or _larger_than_fetch(died, gates, one, assigned, state)
        or repeats_epoch_request(history, gates, one, assigned, state)
        or decided_behind(history, gates, one.topic_partition)
    )


def deleted_unseen(history: History, gates: Gates) -> str:
    """The rule if `/controller` was deleted before its watchers had read it (semantics 4.2).

    They received its creation, read it, find none, and wait for the next change.
    """
    if not gates.session_wait_ends_at_expiry:
        return ""
    last = history.controller_znode[-2:]
    if [change for _, change in last] == ["created", "deleted"] and last[1][0] - last[0][0] < LOOKED_AT_MS:
        return "4.2: a controller that is deleted before others have looked is followed by none"
    return ""


def decided_behind(history: History, gates: Gates, topic_partition: TopicPartition) -> str:
    """The rule if a former controller decided last; the active one never reads that."""
    if gates.controller_epoch_multi:
        return ""
    decided = [
        after
        for before, after in pairwise(history.states.get(topic_partition, []))
        if after.state.leader_epoch > before.state.leader_epoch
    ]
    if not decided:
        return ""
    last = decided[-1]
    behind = any(term.epoch > last.state.controller_epoch and term.at_ms < last.at_ms for term in history.terms)
    return BEHIND_ITS_SUCCESSOR if behind else ""


def repeats_epoch_request(
    history: History, gates: Gates, one: Unsettled, assigned: Sequence[int], state: Leadership
) -> str:
    """The rule if a replica outside the ISR repeats its epoch request for ever; otherwise "".

    It has led and written nothing. It requests the end of an epoch that its leader does not know, truncates to its own
    log end, and requests again.
    """
    if gates.truncates_epochs_beyond_log_end or one.what not in ("isr", "log-end", "high-watermark"):
        return ""
    led = history.leaders.get(one.topic_partition, [])
    for broker in set(assigned) - set(state.isr):
        answers = [answer for answer in history.settled.get(one.topic_partition, []) if answer.broker == broker]
        latest = {(answer.leader, answer.to, answer.epoch) for answer in answers[-SAME_ANSWERS:]}
        if len(answers) < SAME_ANSWERS or len(latest) > 1:
            continue
        end = answers[-1].to
        if any(role.broker == broker and role.log_end == end and role.at_ms < answers[-1].at_ms for role in led):
            return EMPTY_EPOCH
    return ""


def absent(died: FinishedRun, history: History, gates: Gates) -> dict[int, str]:
    """{broker: rule} of brokers that a rule keeps away, or that come and go."""
    found: dict[int, str] = {}
    for number in brokers_of(died.world):
        lives = history.lives[broker_name(number)]
        if len(lives) > 1 and died.world.now_ms - lives[-1] < COMES_AND_GOES_MS:
            found[number] = _ended_by(died, gates, number)
    for one in died.unsettled:
        if one.what == "dead" and one.broker >= 0:
            found[one.broker] = _ended_by(died, gates, one.broker)
        if one.what == "unregistered" and not gates.registration_retries_node_exists:
            found[one.broker] = UNREGISTERED
    return {broker: rule for broker, rule in found.items() if rule}


def _ended_by(died: FinishedRun, gates: Gates, broker: int) -> str:
    """The rule by which the broker's incarnations ended.

    Between two exits for the same reason it finds its old registration, as every broker does that returns too early.
    """
    ends = [end for end in died.exits if end.node == broker_name(broker) and end.kind not in ORDINARY_EXITS]
    return exit_rule(gates, ends[-1].kind, ends[-1].reason) if ends else ""


def session_timeout_ms(resolved: Resolved, history: History) -> float:
    """Session timeout of the active controller; 0: there never was one."""
    if not history.terms:
        return 0.0
    return float(run_limits.session_timeout_ms(resolved.spec, history.terms[-1].node))


def first_state_unknown(history: History, topic_partition: TopicPartition, state: Leadership, timeout_ms: float) -> str:
    """The rule if the writer of a partition's first state missed the response; otherwise "".

    The controller lost its connection before the response; when it repeats the request, the state exists. `timeout_ms`:
    of its session; a silent connection is given up within it.
    """
    stated = history.states.get(topic_partition, [])
    if not history.terms or not stated or state.zk_version != 0:
        return ""
    term, epoch = history.terms[-1], state.controller_epoch
    known = (
        (topic_partition, epoch) in history.created
        or history.followers.get(topic_partition)
        or history.leaders.get(topic_partition)
    )
    if epoch != term.epoch or known:
        return ""
    written_ms, away = stated[0].at_ms, history.away.get(term.node, [])
    if any(lost <= written_ms + timeout_ms and written_ms <= back for lost, back in away):
        return "4.2: a first state whose writer got no response is announced by the next controller only"
    return ""


def _bounced(
    died: FinishedRun,
    history: History,
    gates: Gates,
    topic_partition: TopicPartition,
    assigned: tuple[int, ...],
    state: Leadership,
) -> str:
    """The rule if a broker's earlier incarnation counts for the present one (up to 2.1).

    The present one does not know its replica, or the controller still takes it for shutting down. So it is neither
    elected nor informed of the leader.
    """
    brokers = brokers_of(died.world)
    if gates.broker_epochs or not history.terms:
        return ""
    controller = controllers_of(died.world).get(identifier_named(history.terms[-1].node))
    for number in assigned:
        if number not in brokers or not unseen(history, number):
            continue
        leaving = controller is not None and controller.takes_for_leaving(BrokerId(number))
        partition = partition_of(brokers[number], topic_partition)
        passed_over = state.leader < 0 or (partition is not None and partition.leader_epoch < state.leader_epoch)
        if (leaving and passed_over) or _without_leader(brokers[number], topic_partition):
            return EARLIER_LIFE
    return ""


def _without_leader(node: BrokerNode, topic_partition: TopicPartition) -> bool:
    """Whether its broker received no leader, or only a leader that it did not know."""
    partition = partition_of(node, topic_partition)
    return partition is None or partition.leader_epoch < 0


def _behind_half_way(
    died: FinishedRun, history: History, gates: Gates, topic_partition: TopicPartition, assigned: tuple[int, ...]
) -> str:
    """The rule if a replica's broker never received the leader; otherwise "".

    The order ended before this replica, and the controller has not seen the broker go or come since; or the replica is
    offline in this incarnation (`lost_session_takes_partition_offline`).
    """
    brokers = brokers_of(died.world)
    if not gates.session_wait_ends_at_expiry or not history.terms:
        return ""
    term = history.terms[-1]
    for number in assigned:
        if number not in brokers or not _without_leader(brokers[number], topic_partition):
            continue
        ends = history.cut_short.get((topic_partition, number), [])
        offline = topic_partition in brokers[number].broker.replicas.offline
        if ends and offline and gates.lost_session_takes_partition_offline:
            return OFFLINE
        known = max(term.at_ms, *history.named.get((term.node, number), []), 0.0)
        if any(known < end for end in ends):
            return HALF_WAY
    return ""


def _leader_stuck(died: FinishedRun, gates: Gates, topic_partition: TopicPartition, state: Leadership) -> str:
    """The rule if its leader cannot change the ISR; otherwise ""."""
    leader = brokers_of(died.world).get(state.leader)
    partition = partition_of(leader, topic_partition) if leader is not None else None
    if leader is None or partition is None:
        return ""
    if partition.leads and partition.leader_epoch == state.leader_epoch:
        if gates.alter_isr and leader.broker.isr_changes.alter_isr.given_up(partition):
            return "1.6: an ISR change that was refused stays pending until a newer leader epoch"
        if not gates.alter_isr and partition.partition_epoch != state.zk_version:
            return "1.6 (KAFKA-2729): a leader whose version is outdated tries its ISR write for ever"
    return ""


def _replicas_still(
    history: History, gates: Gates, one: Unsettled, assigned: tuple[int, ...], state: Leadership
) -> str:
    """The rule if all followers concerned have stopped by a rule; otherwise ""."""
    followers = [broker for broker in assigned if broker != state.leader]
    if one.what == "high-watermark":
        about = [broker for broker in followers if still(history, gates, one.topic_partition, broker)]
    else:
        about = _about(one, followers, state)
    rules = [still(history, gates, one.topic_partition, broker) for broker in about]
    return rules[0] if rules and all(rules) else ""


def _about(one: Unsettled, followers: list[int], state: Leadership) -> list[int]:
    """Followers that keep the partition from settling."""
    match one.what:
        case "role" | "log-end":
            return [broker for broker in followers if broker == one.broker]
        case "isr":
            return [broker for broker in followers if broker not in state.isr]
        case _:
            return []


def _larger_than_fetch(
    died: FinishedRun, gates: Gates, one: Unsettled, assigned: tuple[int, ...], state: Leadership
) -> str:
    """The rule if all followers concerned wait at a record larger than a fetch; otherwise ""."""
    brokers = brokers_of(died.world)
    leader = partition_of(brokers[state.leader], one.topic_partition) if state.leader in brokers else None
    if gates.fetch_version >= FIRST_WITH_PROGRESS or leader is None or leader.log is None:
        return ""
    log = leader.log

    def stands_before_one(number: int) -> bool:
        partition = partition_of(brokers[number], one.topic_partition) if number in brokers else None
        if partition is None or partition.log is None or not log.log_start <= partition.log.log_end < log.log_end:
            return False
        most_bytes = brokers[number].broker.context.settings.replica_fetch_max_bytes
        return not log.read(partition.log.log_end, log.log_end, most_bytes, at_least_one=False)

    followers = [broker for broker in assigned if broker != state.leader]
    stand = [broker for broker in followers if stands_before_one(broker)]
    about = stand if one.what == "high-watermark" else _about(one, followers, state)
    return LARGER_THAN_FETCH if about and set(about) <= set(stand) else ""
