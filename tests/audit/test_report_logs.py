"""Logs in a report.

Every step that a page can follow, with plain batches grouped if there are many.
"""

from __future__ import annotations

from audit.report.report_logs import COLUMNS, PLAIN, STEPS_MAX, at_the_end, logs_of
from audit.report.report_timeline import LogStep, Operation, Replica, Timeline

T0 = ("t", 0)


def append(at_ms: float, base: int, epoch: int, digest: int, last: int | None = None) -> LogStep:
    return LogStep(at_ms, "append", base, base if last is None else last, epoch, digest)


def of(replicas: dict[str, Replica], operations: list[Operation] | None = None, end_ms: float = 1_000.0) -> dict:  # type: ignore[type-arg]
    return logs_of(Timeline(replicas={T0: replicas}, operations=operations or [], end_ms=end_ms), T0)


def test_contents_have_one_number_wherever_they_lie() -> None:
    """And another one if the epoch, or what was written, is another."""
    cut = [append(1, 0, 0, 11), append(2, 1, 0, 12), LogStep(9, "cut", 1), append(10, 1, 1, 13)]
    other = Replica(steps=[append(1.5, 0, 0, 11), append(3, 1, 1, 13)], high_watermarks=[(4.0, 1)])
    write = Operation("o:1", ["c"], 1, 0, 2.0, outcome="ok", digest=12, topic_partition=T0, lost=True)
    found = of({"broker-0": Replica(steps=cut), "broker-1": other}, [write])
    first, second = found["replicas"]
    assert first["steps"] == [[1, 0, 0, 0, 0, 1], [2, 0, 1, 1, 0, 2], [9, 1, 1, -1, -1, PLAIN], [10, 0, 1, 1, 1, 3]]
    assert second["steps"] == [[1.5, 0, 0, 0, 0, 1], [3, 0, 1, 1, 1, 3]]
    assert second["marks"] == [[4.0, 1]]
    assert found["values"] == {"2": "c"} and found["lost"] == [2] and not found["merged"]


def test_a_batch_states_how_much_was_written_with_it() -> None:
    writes = [Operation(f"o:{n}", [value], 1, 0, 2.0, outcome="ok", digest=7, topic_partition=T0, lost=True)
              for n, value in enumerate("abc")]  # fmt: skip
    found = of({"broker-0": Replica(steps=[append(1, 0, 0, 7, last=2)])}, writes)
    assert (found["values"], found["lost"]) == ({"1": "a and 2 more"}, [1])


def test_of_many_steps_plain_ones_are_merged_and_those_that_differ_stay() -> None:
    count = STEPS_MAX * 4
    long = [append(n * 1.0, n, 0, n) for n in range(count)]
    apart = [append(n * 1.0, n, 1 if n == count - 5 else 0, n) for n in range(count - 4)]
    marks = [(n * 1.0, n) for n in range(count)]
    found = of({"a": Replica(steps=long, high_watermarks=marks), "b": Replica(steps=apart)}, end_ms=float(count))
    steps = found["replicas"][0]["steps"]
    assert found["merged"] and len(steps) < 2 * COLUMNS and len(found["replicas"][0]["marks"]) <= COLUMNS + 1
    assert [n for base, last in ((s[2], s[3]) for s in steps) for n in range(base, last + 1)] == list(range(count))
    [differing] = [step for step in steps if step[5] != PLAIN]
    assert differing[2] == differing[3] == count - 5
    assert found["replicas"][0]["marks"][-1] == [count - 1, count - 1]


def test_nothing_is_merged_over_a_cut() -> None:
    steps = [append(n / 100, n, 0, n) for n in range(STEPS_MAX * 2)]
    steps.insert(10, LogStep(0.0905, "load", 10))
    found = of({"a": Replica(steps=steps)}, end_ms=1e6)
    assert [step[1:4] for step in found["replicas"][0]["steps"]] == [[0, 0, 9], [2, 10, -1], [0, 10, STEPS_MAX * 2 - 1]]


def test_a_log_as_it_ended() -> None:
    steps = [append(1, 0, 0, 1), append(2, 1, 0, 2), append(3, 2, 0, 3), LogStep(4, "cut", 2), append(5, 2, 1, 4)]
    replica = Replica(steps=steps, log_ends=[(5.0, 3)], high_watermarks=[(5.0, 2)])
    assert at_the_end(replica) == (3, 2, "0@0 1@2")
    assert at_the_end(Replica(steps=[*steps, LogStep(6, "create")], log_ends=[(6.0, 0)])) == (0, 0, "")
