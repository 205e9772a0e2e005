"""Rules that allow an unsettled end, from pasts written by hand.
Each has one that it must reject.
"""

import pytest

from emulator.judging.explain.promise_rules import BEHIND_ITS_SUCCESSOR, EMPTY_EPOCH
from emulator.judging.explain.run_history import Followed, History, Led, Settled, Stated, Stopped, Term
from emulator.judging.explain.settled_partitions import Unsettled
from emulator.judging.explain.stopped import (
    EARLIER_LIFE,
    HALF_WAY,
    UNKNOWN_REGISTRATION,
    still,
    unknown_registration,
    unseen,
)
from emulator.judging.explain.stuck import (
    decided_behind,
    deleted_unseen,
    exit_rule,
    first_state_unknown,
    repeats_epoch_request,
)
from protocol.gates import gates_for
from protocol.ids import BrokerId, ControllerEpoch, LeaderEpoch
from protocol.kinds import ExitKind, IgnoredReason
from protocol.znodes import Leadership
from tests.emulator.judging.explain.traces import TOPIC_PARTITION, stated
from tests.ids import brokers

# --- a broker that ended ---


@pytest.mark.parametrize("kind", ["", *ExitKind])
@pytest.mark.parametrize("version", ["1.0", "2.8"])
def test_an_end_is_allowed_by_its_kind(version: str, kind: str) -> None:
    """Other texts do not matter.
    A follower that is ahead of its leader ends in old versions only.
    """
    rules: dict[str, str] = {
        ExitKind.STILL_REGISTERED: "11.10",
        ExitKind.REGISTRATION_EXPIRED: "11.10",
        ExitKind.NO_SESSION_SERVICE: "4.2",
        ExitKind.LOG_DIRECTORIES_FAILED: "3 (KIP-112)",
    }
    if gates_for(version).out_of_range_exits:
        rules[ExitKind.AHEAD_OF_LEADER] = "2.3"
    allowed = exit_rule(gates_for(version), kind)
    assert allowed.startswith(rules[kind]) if kind in rules else allowed == ""


# --- a replica that stands still ---


@pytest.mark.parametrize(
    ("version", "roles", "allowed"),
    [
        ("1.1", ((0, 3),), True),
        ("2.8", ((0, 3),), True),
        ("1.0", ((0, 3),), False),  # the order waits for the next session
        ("1.1", ((0, 3), (0, 5)), True),  # the same leader: nothing is begun, whatever the epoch
        ("2.0.1", ((0, 3), (0, 4)), True),
        ("2.0.1", ((0, 3), (0, 5)), False),
        ("2.1", ((0, 3), (0, 4)), False),
        ("1.1", ((0, 3), (2, 4)), False),  # another leader
        ("1.1", ((0, 3), (2, 4), (0, 5)), False),
    ],
)
def test_a_replica_left_half_way_follows_no_leader_until_an_order_starts_its_fetcher(
    version: str, roles: tuple[tuple[int, int], ...], allowed: bool
) -> None:
    """KAFKA-9307 (semantics 1.7).
    Also a later order leaves the fetcher alone where its era says so.
    """
    history = History(stopped={(TOPIC_PARTITION, 1): Stopped(5.0, "half-way", "", roles)})
    assert still(history, gates_for(version, version), TOPIC_PARTITION, 1) == (HALF_WAY if allowed else "")


@pytest.mark.parametrize(
    ("version", "how", "allowed"),
    [
        ("2.4", IgnoredReason.NEWER_REGISTRATION, True),
        ("2.5", IgnoredReason.NEWER_REGISTRATION, False),
        ("2.4", IgnoredReason.HALF_WAY, False),
    ],
)
def test_metadata_for_an_unknown_registration_stay_old(version: str, how: str, allowed: bool) -> None:
    """KAFKA-9839: UpdateMetadata fails like the LeaderAndIsr before it, and is not repeated."""
    history = History(stopped={(TOPIC_PARTITION, 1): Stopped(5.0, how, "", ((0, 3),))})
    rule = UNKNOWN_REGISTRATION if allowed else ""
    assert unknown_registration(history, gates_for(version, version), TOPIC_PARTITION, 1) == rule
    assert unknown_registration(history, gates_for(version, version), TOPIC_PARTITION, 2) == "", "not its neighbour"


BOUNCED = {"broker-1": [1.0, 20.0]}
"""Its second life began at 20."""


@pytest.mark.parametrize(
    ("version", "named", "at_ms", "allowed"),
    [
        ("2.1", [2.0], 30.0, True),
        ("0.10.2", [2.0], 30.0, True),
        ("2.2", [2.0], 30.0, False),  # orders name the life they are for
        ("2.1", [2.0, 21.0], 30.0, False),  # the controller has seen it come
        ("2.1", [2.0, 40.0], 30.0, True),  # too late
        ("2.1", [2.0], 10.0, False),  # it was stopped in its first life
    ],
)
def test_an_order_for_an_earlier_life_stops_a_replica_of_the_next(
    version: str, named: list[float], at_ms: float, allowed: bool
) -> None:
    """KAFKA-7235, semantics 8."""
    history = History(
        stopped={(TOPIC_PARTITION, 1): Stopped(at_ms, "removed", "", ((0, 3),))},
        lives=BOUNCED,
        terms=[Term(0.5, "broker-3", 1)],
        named={("broker-3", 1): named},
    )
    assert still(history, gates_for(version, version), TOPIC_PARTITION, 1) == (EARLIER_LIFE if allowed else "")


@pytest.mark.parametrize(("version", "named", "rule"), [("2.1", 2.0, "8"), ("2.1", 21.0, "2.2"), ("2.2", 2.0, "2.2")])
def test_a_fenced_replica_of_an_unseen_incarnation_waits_for_the_last_ones_order(
    version: str, named: float, rule: str
) -> None:
    """KAFKA-7235, semantics 8. One that the controller saw come will be told."""
    history = History(
        stopped={(TOPIC_PARTITION, 1): Stopped(30.0, "failed", "FENCED_LEADER_EPOCH", ((0, 3),))},
        lives=BOUNCED,
        terms=[Term(0.5, "broker-3", 1)],
        named={("broker-3", 1): [named]},
    )
    assert still(history, gates_for(version, version), TOPIC_PARTITION, 1).startswith(rule)


def test_a_new_controller_has_seen_all_brokers() -> None:
    history = History(lives=BOUNCED, terms=[Term(0.5, "broker-3", 1)], named={("broker-3", 1): [2.0]})
    assert unseen(history, 1)
    assert not unseen(History(lives=BOUNCED, terms=[*history.terms, Term(25.0, "broker-0", 2)]), 1)
    assert not unseen(History(lives={"broker-1": [20.0]}, terms=history.terms), 1), "it has not bounced"


@pytest.mark.parametrize(
    ("version", "reason", "rule"),
    [("2.6", "FENCED_LEADER_EPOCH", "2.2"), ("2.6", "offsets", "2.4"), ("1.1", "offsets", "2.4")],
)
def test_a_fetcher_fails_for_a_reason(version: str, reason: str, rule: str) -> None:
    history = History(stopped={(TOPIC_PARTITION, 1): Stopped(5.0, "failed", reason, ((0, 3),))})
    assert still(history, gates_for(version, version), TOPIC_PARTITION, 1).startswith(rule + ":")
    assert still(history, gates_for(version, version), TOPIC_PARTITION, 2) == "", "not its neighbour"


def test_a_replica_removed_for_no_reason_has_none() -> None:
    history = History(stopped={(TOPIC_PARTITION, 1): Stopped(5.0, "removed", "", ((0, 3),))})
    for version in ("1.1", "2.8"):
        assert still(history, gates_for(version, version), TOPIC_PARTITION, 1) == ""


# --- a partition that nobody was told of ---

FIRST = Leadership(BrokerId(0), LeaderEpoch(0), brokers(0), ControllerEpoch(1), 0)


def past(**changed: object) -> History:
    """The controller of epoch 1 was away from the session service when the state was written."""
    fields: dict[str, object] = {
        "states": {TOPIC_PARTITION: [stated(10.0, 0, 0, (0,), 0)]},
        "terms": [Term(1.0, "broker-3", 1)],
        "away": {"broker-3": [(12.0, 900.0)]},
    }
    return History(**{**fields, **changed})  # type: ignore[arg-type]


def test_no_broker_receives_a_first_state_whose_writer_got_no_response() -> None:
    """Semantics 4.2."""
    assert first_state_unknown(past(), TOPIC_PARTITION, FIRST, 6_000.0).startswith("4.2")
    before = {"broker-3": [(9.0, 11.0)]}
    assert first_state_unknown(past(away=before), TOPIC_PARTITION, FIRST, 6_000.0).startswith("4.2"), (
        "asked before it was lost, done after"
    )


@pytest.mark.parametrize(
    "changed",
    [
        {"away": {}},
        {"away": {"broker-3": [(2.0, 9.0)]}},  # it was back
        {"away": {"broker-3": [(6_011.0, 7_000.0)]}},  # it had its answer, or had given up
        {"away": {"broker-2": [(12.0, 900.0)]}},
        {"created": {(TOPIC_PARTITION, 1)}},  # it was told
        {"leaders": {TOPIC_PARTITION: [Led(20.0, 0, epoch=0, log_end=0)]}},
        {"followers": {TOPIC_PARTITION: [Followed(20.0, 1, leader=0, epoch=0)]}},
        {"terms": [Term(1.0, "broker-3", 1), Term(5_000.0, "broker-2", 2)]},  # the next has read it
        {"terms": []},
    ],
)
def test_otherwise_a_controller_has_what_it_wrote(changed: dict[str, object]) -> None:
    assert first_state_unknown(past(**changed), TOPIC_PARTITION, FIRST, 6_000.0) == ""


def test_a_state_that_was_written_again_is_known() -> None:
    assert (
        first_state_unknown(
            past(), TOPIC_PARTITION, Leadership(BrokerId(0), LeaderEpoch(1), brokers(0), ControllerEpoch(1), 1), 6_000.0
        )
        == ""
    )


# --- a replica that asks for ever ---

OUT = Leadership(BrokerId(1), LeaderEpoch(3), brokers(1), ControllerEpoch(1), 4)
"""broker-0 is not in sync."""
SAME = [Settled(at_ms, 0, leader=1, to=4, epoch=1, answered=True) for at_ms in (10.0, 11.0, 12.0, 13.0, 14.0)]


@pytest.mark.parametrize(
    ("version", "led", "answers", "what", "allowed"),
    [
        ("2.3", Led(5, 0, epoch=2, log_end=4), SAME, "isr", True),
        ("2.6", Led(5, 0, epoch=2, log_end=4), SAME, "isr", False),  # mended
        ("2.3", Led(5, 1, epoch=2, log_end=4), SAME, "isr", False),  # it never led
        ("2.3", Led(5, 0, epoch=2, log_end=3), SAME, "isr", False),  # and wrote something
        ("2.3", Led(5, 0, epoch=2, log_end=4), SAME[1:], "isr", False),  # not often enough to tell
        (
            "2.3",
            Led(5, 0, epoch=2, log_end=4),
            [*SAME, Settled(15.0, 0, leader=1, to=6, epoch=3, answered=True)],
            "isr",
            False,
        ),  # it was told something else
        ("2.3", Led(5, 0, epoch=2, log_end=4), SAME, "settings", False),
    ],
)
def test_an_epoch_unknown_to_its_leader_makes_a_replica_repeat_its_request(
    version: str, led: Led, answers: list[Settled], what: str, allowed: bool
) -> None:
    """KAFKA-10706."""
    history = History(leaders={TOPIC_PARTITION: [led]}, settled={TOPIC_PARTITION: answers})
    one = Unsettled(what, "", TOPIC_PARTITION)
    assert repeats_epoch_request(history, gates_for(version), one, (0, 1), OUT) == (EMPTY_EPOCH if allowed else "")


# --- a partition of which a controller of the past decided ---


@pytest.mark.parametrize(
    ("version", "states", "allowed"),
    [
        ("2.0.1", [stated(1, 0, 0, (0, 1), 0), stated(30, 1, 1, (1,), 1)], True),
        ("2.1", [stated(1, 0, 0, (0, 1), 0), stated(30, 1, 1, (1,), 1)], False),  # mended
        ("2.0.1", [stated(1, 0, 0, (0, 1), 0), stated(19, 1, 1, (1,), 1)], False),  # its successor has read it
        ("2.0.1", [stated(1, 0, 0, (0, 1), 0), stated(30, 0, 0, (0,), 1)], False),  # its leader's
        ("2.0.1", [stated(30, 1, 1, (1,), 1)], False),
        ("2.0.1", [], False),
    ],
)
def test_decisions_of_a_past_controller_are_not_sent(version: str, states: list[Stated], allowed: bool) -> None:
    """KAFKA-6082."""
    history = History(states={TOPIC_PARTITION: states}, terms=[Term(0.5, "broker-1", 1), Term(20, "broker-2", 2)])
    assert decided_behind(history, gates_for(version), TOPIC_PARTITION) == (BEHIND_ITS_SUCCESSOR if allowed else "")


# --- a cluster without a controller ---


@pytest.mark.parametrize(
    ("version", "changes", "allowed"),
    [
        ("2.8", [(1.0, "created"), (50.0, "deleted"), (52.0, "created"), (53.0, "deleted")], True),
        ("1.0", [(52.0, "created"), (53.0, "deleted")], False),  # whoever looks elects
        ("2.8", [(52.0, "created"), (900.0, "deleted")], False),  # all have looked, and hear of it
        ("2.8", [(52.0, "created"), (53.0, "deleted"), (54.0, "created")], False),
        ("2.8", [(52.0, "changed"), (53.0, "deleted")], False),
        ("2.8", [], False),
    ],
)
def test_a_controller_that_is_gone_before_anybody_looked_has_no_successor(
    version: str, changes: list[tuple[float, str]], allowed: bool
) -> None:
    reported = deleted_unseen(History(controller_znode=changes), gates_for(version))
    assert reported.startswith("4.2") is allowed
