"""What became of single records."""

from emulator.judging.crash_testing.fates import Fates
from emulator.judging.crash_testing.history import Led, LostTail, Written
from emulator.judging.crash_testing.plan import resolved_for
from emulator.judging.crash_testing.replica_logs import ReplicaLogs
from emulator.judging.crash_testing.rules import gates_of
from tests.emulator.judging.crash_testing.traces import COPIED, TOPIC_PARTITION, C, committed


def test_who_leads_on_in_its_epoch_replaces_what_it_wrote_before() -> None:
    """Its power took the record; unseen by the controller it is back in the same epoch, and writes another there."""
    tail = LostTail(8.0, 0, TOPIC_PARTITION, 2, 2)
    again = Written(9.0, 0, 0, 2, 2, 8)
    history = committed(
        written={TOPIC_PARTITION: [C, again]},
        copied={TOPIC_PARTITION: [COPIED]},
        leaders={TOPIC_PARTITION: [Led(1.0, 0, 0, 0), Led(8.5, 0, 0, 2)]},
    )
    gates = gates_of(resolved_for("kip-966", "2.8"))
    fates = Fates(history, ReplicaLogs(gates, history, [tail])).replaced(TOPIC_PARTITION, 2)
    assert [fate.record for fate in fates] == [C]
    assert fates[0].by == Led(8.5, 0, 0, 2) and fates[0].gone == tail
