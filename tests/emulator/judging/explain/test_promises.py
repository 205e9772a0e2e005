"""Broken promises, from truths written by hand."""

from typing import Any

import msgspec
import pytest

from emulator.judging.explain.broken_promises import Broken, broken_promises, broken_recoveries
from emulator.judging.explain.history_builder import history_of
from emulator.judging.explain.recoveries import Recovery
from emulator.judging.explain.run_history import History, Stated
from emulator.judging.oracle.truth import Batch, LeaderView, Truth
from protocol.events import ZnodeChanged
from protocol.ids import BrokerId, ControllerEpoch, LeaderEpoch
from protocol.znodes import Leadership, encode_state, state_path
from tests.emulator.judging.explain.traces import TOPIC_PARTITION, rules, stated
from tests.emulator.judging.oracle.truths import PLACE, healthy, of_group, write
from tests.ids import brokers


def found(*states: Stated) -> list[str]:
    return [broken.what for broken in broken_promises(Truth(), History(states={TOPIC_PARTITION: list(states)}))]


# --- states ---


def test_an_election_within_the_isr_is_sound() -> None:
    assert found(stated(1, 0, 0, (0, 1), 0), stated(2, -1, 1, (1,), 1), stated(3, 1, 2, (1,), 2)) == []


def test_a_leader_from_outside_the_isr_is_found() -> None:
    """Semantics 4.2: only where unclean election is on."""
    states = [stated(1, 0, 0, (0,), 0), stated(2, -1, 1, (0,), 1), stated(3, 1, 2, (1,), 2)]
    assert found(*states) == ["election"]
    history = History(states={TOPIC_PARTITION: states})
    broken = Broken("election", "", TOPIC_PARTITION)
    assert rules("clean-election-waits", "2.8", history).allowing(broken) == ""
    assert rules("unclean-election", "2.8", history).allowing(broken).startswith("4.2")


@pytest.mark.parametrize(
    "after",
    [
        stated(2, 1, 0, (0, 1), 1),  # another leader in the same epoch
        stated(2, 0, 0, (0, 1), 2),  # a version left out
    ],
)
def test_states_follow_one_another(after: Stated) -> None:
    assert found(stated(1, 0, 0, (0, 1), 0), after) == ["state"]


def test_an_epoch_that_falls_is_found() -> None:
    assert "state" in found(stated(1, 0, 3, (0, 1), 0), stated(2, 0, 2, (0, 1), 1))


def test_a_transaction_that_two_servers_committed_differently_is_found() -> None:
    def change(node: str, at_ms: float, isr: tuple[int, ...]) -> Any:
        data = encode_state(Leadership(BrokerId(0), LeaderEpoch(0), brokers(*isr), ControllerEpoch(1))).decode()
        return (node, 1, 1, "", at_ms, ZnodeChanged(state_path(*TOPIC_PARTITION), "changed", 1, 7, data))

    same = history_of([change("session-0", 1.0, (0, 1)), change("session-1", 2.0, (0, 1))])
    assert same.contradictions == [] and len(same.states[TOPIC_PARTITION]) == 1
    assert len(history_of([change("session-0", 1.0, (0, 1)), change("session-1", 2.0, (0,))]).contradictions) == 1


# --- recoveries ---

LOG = [Batch(n, n, 0, 100 + n) for n in range(4)]


@pytest.mark.parametrize(
    ("power", "recovered", "broken"),
    [
        (False, LOG, 0),
        (False, LOG[:3], 1),
        (True, LOG[:3], 0),
        (True, [], 0),
        (True, LOG[1:], 1),
        (None, [], 0),  # its disk is another
        (None, LOG[:1], 1),
    ],
)
def test_a_kill_loses_nothing_and_a_power_loss_leaves_a_prefix(
    power: bool | None, recovered: list[Batch], broken: int
) -> None:
    """Semantics 3."""
    one = Recovery(1.0, "broker-0", TOPIC_PARTITION, bool(power), LOG, recovered, power is None)
    assert len(list(broken_recoveries([one]))) == broken


# --- what no death excuses ---


@pytest.mark.parametrize(("least", "kinds"), [(2, ["acknowledged-below-min-insync"]), (1, [])])
def test_a_lone_leader_acknowledges_for_all_only_where_it_is_enough(least: int, kinds: list[str]) -> None:
    truth = healthy()
    for replica in truth.logs[PLACE].values():
        replica.append(Batch(3, 3, 0, write("d", 3).digest))
    truth.leader_views = [LeaderView(PLACE, "broker-0", 1, least, 3, 0)]
    truth.writes = [msgspec.structs.replace(write("d", 3), broker=0, ended=1)]
    assert [broken.what for broken in broken_promises(truth, History())] == kinds


@pytest.mark.parametrize(("offset", "kinds"), [(4, ["group-ahead-of-log"]), (3, [])])
def test_a_group_that_commits_what_was_never_written(offset: int, kinds: list[str]) -> None:
    """The final leader has lost c, which excuses 3 and no more."""
    truth = healthy()
    truth.writes.pop()
    truth.reads.pop()
    for replica in truth.logs[PLACE].values():
        replica.pop()
    truth.of_groups = [of_group("commit", offset, begun=0)]
    assert [broken.what for broken in broken_promises(truth, History())] == kinds
