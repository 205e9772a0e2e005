"""Fates of single records."""

import pytest

from emulator.judging.crash_testing.crash_plan import resolved_for
from emulator.judging.explain.loss_explanation import Fates
from emulator.judging.explain.promise_rules import gates_of
from emulator.judging.explain.replica_logs import ReplicaLogs
from emulator.judging.explain.run_history import Followed, Led, LostTail, Stated, Written
from tests.emulator.judging.explain.traces import COPIED, TOPIC_PARTITION, C, committed, stated


def test_a_leader_that_leads_on_in_its_epoch_replaces_what_it_wrote_before() -> None:
    """Its power took the record.
    Unseen by the controller it is back in the same epoch, and writes another there.
    """
    tail = LostTail(8.0, 0, topic_partition=TOPIC_PARTITION, first=2, last=2)
    again = Written(9.0, 0, epoch=0, first=2, last=2, digest=8)
    history = committed(
        written={TOPIC_PARTITION: [C, again]},
        copied={TOPIC_PARTITION: [COPIED]},
        leaders={TOPIC_PARTITION: [Led(1.0, 0, epoch=0, log_end=0), Led(8.5, 0, epoch=0, log_end=2)]},
    )
    gates = gates_of(resolved_for("kip-966", "2.8"))
    fates = Fates(history, ReplicaLogs(gates, history, [tail])).replaced(TOPIC_PARTITION, 2)
    assert [fate.record for fate in fates] == [C]
    assert fates[0].by == Led(8.5, 0, epoch=0, log_end=2) and fates[0].gone == tail


def fates_of(states: list[Stated], **more: object) -> Fates:
    """Fates of `broker-0`'s records after three elections.
    broker-0 leads in epoch 1, broker-1 is elected in epoch 2 and leads, broker-0 is elected again in epoch 3. Later it
    loses its log.
    """
    history = committed(
        written={
            TOPIC_PARTITION: [
                Written(4, 0, epoch=1, first=2, last=2, digest=7),
                Written(15, 0, epoch=1, first=3, last=3, digest=8),
            ]
        },
        copied={},
        states={TOPIC_PARTITION: states},
        **{
            "leaders": {
                TOPIC_PARTITION: [
                    Led(1, 0, epoch=1, log_end=0),
                    Led(5, 1, epoch=2, log_end=2),
                    Led(30, 0, epoch=5, log_end=0),
                ]
            },
            **more,
        },
    )
    gates = gates_of(resolved_for("kip-966", "2.8"))
    return Fates(
        history,
        ReplicaLogs(gates, history, [LostTail(29, 0, topic_partition=TOPIC_PARTITION, first=0, last=3, disk=True)]),
    )


ELECTED_AGAIN = [stated(5, 1, 2, (0, 1), 1), stated(10, 0, 3, (0,), 2), stated(29.5, 0, 5, (0,), 4)]


def test_a_broker_elected_again_without_receiving_the_order_leads() -> None:
    """The partition holds what it wrote in its epoch of the past.
    So it does with what it writes from then on.
    """
    fates = fates_of(ELECTED_AGAIN)
    for offset, digest in ((2, 7), (3, 8)):
        [fate] = fates.of(TOPIC_PARTITION, offset, digest)
        assert fate.held == (3, 0)
        assert fate.by == Led(30, 0, epoch=5, log_end=0)
        assert isinstance(fate.gone, LostTail) and fate.gone.disk


@pytest.mark.parametrize(
    ("states", "more"),
    [
        ([stated(5, 1, 2, (0, 1), 1), stated(29.5, 0, 5, (0,), 4)], {}),  # it was not
        (ELECTED_AGAIN, {"followers": {TOPIC_PARTITION: [Followed(7, 0, leader=1, epoch=2)]}}),  # it led no more
        (ELECTED_AGAIN, {"lives": {"broker-0": [0.5, 8.0]}}),  # nor in this life
    ],
)
def test_otherwise_the_next_leader_went_without_it(states: list[Stated], more: dict[str, object]) -> None:
    [fate] = fates_of(states, **more).of(TOPIC_PARTITION, 2, 7)
    assert fate.by == Led(5, 1, epoch=2, log_end=2)
