"""Invariants of states and controllers under any order of broker and session events."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from controller.settings import ControllerSettings
from protocol.ids import BrokerId
from protocol.messages.leadership_messages import ControlledShutdownRequest
from protocol.znodes import PREFERRED_REPLICA_ELECTION, decode_controller_epoch, encode_partitions
from tests.controller.cluster import Cluster

BROKERS = 4
TOPICS = {"t": ((0, 1, 2), (1, 2, 3), (3, 0)), "u": ((2, 3),)}
PARTITIONS = [(topic, number) for topic, assignments in TOPICS.items() for number in range(len(assignments))]

STEPS = st.tuples(
    st.sampled_from(["die", "start", "isolate", "expire", "rejoin", "join", "leave", "prefer", "shut-down", "wait"]),
    st.integers(0, BROKERS - 1),
    st.sampled_from(PARTITIONS),
)


def do(c: Cluster, step: str, broker: int, partition: tuple[str, int]) -> None:
    """One step, if it makes sense now."""
    node = c.brokers[broker]
    state = c.state(partition)
    registered = f"/brokers/ids/{broker}" in c.service.znodes
    leader = c.brokers.get(state.leader)
    can_write = leader is not None and leader.alive and leader.within_reach
    match step:
        case "die" if node.alive and node.within_reach:
            c.die(broker)
        case "start" if not node.alive:
            c.start(broker)
        case "isolate" if node.alive and node.within_reach:
            c.isolate(broker)
        case "expire" if not node.within_reach and registered:
            c.expire(broker)
        case "rejoin" if not node.within_reach:
            c.rejoin(broker, expired=not registered)
        case "join" if can_write and broker not in state.isr and registered:
            if broker in TOPICS[partition[0]][partition[1]]:
                c.leader_writes_isr(*state.isr, broker, partition=partition)
        case "leave" if can_write and broker != state.leader and broker in state.isr:
            c.leader_writes_isr(*(m for m in state.isr if m != broker), partition=partition)
        case "prefer":
            c.service.put(PREFERRED_REPLICA_ELECTION, encode_partitions([partition]))
            c.settle()
        case "shut-down" if c.controller_of() >= 0:
            c.shut_down(c.controller_of(), ControlledShutdownRequest(BrokerId(broker)))
        case "wait":
            c.advance(31_000)


def check(c: Cluster, unclean: bool) -> None:
    registered = {int(name) for name in c.service.children("/brokers/ids")}
    epoch = decode_controller_epoch(c.service.znodes["/controller_epoch"].data)
    within = [b for b in c.active() if c.brokers[b].within_reach]
    assert len(within) <= 1
    holder = c.controller_of()
    if holder >= 0 and c.brokers[holder].within_reach:
        assert within == [holder]
        assert c.brokers[holder].controller.controller_epoch == epoch
    for partition in PARTITIONS:
        history = c.states(partition)
        for before, after in itertools.pairwise(history):
            assert after[4] == before[4] + 1, history
            assert after[1] - before[1] in (0, 1), history
            assert after[3] >= before[3], history
            if after[0] != before[0]:
                assert after[1] == before[1] + 1, history
            if not unclean and after[0] >= 0:
                assert after[0] in before[2], f"an unclean leader: {history}"
        leader, _, isr, _, _ = history[-1]
        assert leader == -1 or leader in isr, history
        shutting_down = {b for b in range(BROKERS) if b in _shutting_down(c)}
        idle = holder >= 0 and c.brokers[holder].within_reach and not c.brokers[holder].controller.busy_with
        if idle and set(isr) & (registered - shutting_down):
            assert leader in registered, f"{partition} has no leader although {isr} and {registered} meet: {history}"


def _shutting_down(c: Cluster) -> set[BrokerId]:
    holder = c.controller_of()
    return c.brokers[holder].controller._context.state.shutting_down if holder >= 0 else set()


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["0.8.2", "0.10.2", "0.11", "1.0", "1.1", "2.0.1", "2.1", "2.2", "2.3", "2.6", "2.8"]),
    st.booleans(),
    st.lists(STEPS, max_size=25),
)
def test_states_stay_sound(version: str, unclean: bool, steps: list[tuple[str, int, tuple[str, int]]]) -> None:
    chosen = ControllerSettings(auto_leader_rebalance_enable=False, unclean_leader_election_enable=unclean)
    c = Cluster(BROKERS, version, chosen)
    c.start(*range(BROKERS))
    for topic, assignments in TOPICS.items():
        c.create_topic(topic, *assignments)
    for step, broker, partition in steps:
        do(c, step, broker, partition)
        check(c, unclean)
    assert not any(node.exited for node in c.brokers.values())
