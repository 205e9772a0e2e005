"""Fields that must match are compared, others are not: by generation over all recordings.

The fields that must match are written down here a second time, from the recordings' README and independently of
`comparable`, as a walk over a file's leaves.
"""

import copy
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from emulator.scenario.observations.comparable import Comparable, comparable
from emulator.scenario.observations.observation_model import Observations
from emulator.scenario.observations.recording_comparison import SHORT_LIVED_S, compare, compare_reduced, nearest
from emulator.scenario.observations.recording_files import load
from emulator.scenario.observations.recording_parsing import Malformed, from_document

pytestmark = pytest.mark.slow

GOLDEN = Path(__file__).parents[3] / "golden"
FILES = sorted(
    path.relative_to(GOLDEN).as_posix()
    for path in GOLDEN.glob("*/*.json")
    if not path.parent.name.startswith("kraft-")  # test_compare_kraft_recordings
)
EXHAUSTIVE = {
    "az-isolated-leader@2.6/1.json",
    "kip101-case2-compressed@0.10.2/1.json",
    "retry-idempotent@2.8/1.json",
}

CONCURRENT = 51
"""CONCURRENT_TRANSACTIONS: the request is repeated, and how often is a race."""

Path_ = tuple[str | int, ...]


@cache
def recording(name: str) -> Observations:
    return load(GOLDEN / name)


def leaves(value: Any, path: Path_) -> Iterator[Path_]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))
    else:
        yield path


def is_repeated(o: Observations, index: int) -> bool:
    """Whether the entry is a request that the answer behind it has repeated."""
    answer = o.timeline[index + 1] if index + 1 < len(o.timeline) else {}
    return bool(o.timeline[index].get("repeat")) and CONCURRENT in answer.get("errors", {}).values()


def judged_leaves(o: Observations) -> Iterator[tuple[Path_, bool]]:
    """(path, whether it must match)."""
    for index, entry in enumerate(o.timeline):
        offset_counts = entry.get("error") in (0, 7, 20) or entry.get("saw") in ("fetch", "offset-fetch")
        if is_repeated(o, index) or is_repeated(o, index - 1):
            continue
        for path in leaves(entry, ("timeline", index)):
            free = path[2] in ("t", "took_s") or path[-1] == "high_watermark_checkpoint"
            free = free or ("saw" in entry and path[2] == "offset" and not offset_counts)
            yield path, not free
    for section in ("partition_states", "controllers"):
        for index, entry in enumerate(getattr(o, section)):
            for path in leaves(entry, (section, index)):
                yield path, path[2] != "t"
    for index, entry in enumerate(o.truncations):
        for key in entry:
            counts = entry["effective"] is not False or key == "effective"
            yield ("truncations", index, key), counts and key != "clock"
    for section in ("live_brokers", "views_by_broker", "role_changes", "isr_changes"):
        for index, entry in enumerate(getattr(o, section)):
            for path in leaves(entry, (section, index)):
                yield path, False


def lists(o: Observations) -> Iterator[Path_]:
    """Paths of all lists whose elements must match."""

    def below(value: Any, path: Path_) -> Iterator[Path_]:
        if isinstance(value, list):
            yield path
        inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, item in inside:
            yield from below(item, (*path, key))

    for section in ("timeline", "partition_states", "controllers"):
        yield from below(getattr(o, section), (section,))


def kind(o: Observations, path: Path_) -> tuple[object, ...]:
    """A leaf's kind: its path without numbers, in which kind of entry."""
    entry = getattr(o, str(path[0]))[path[1]] if len(path) > 1 else {}
    values = (entry.get("do"), entry.get("saw"), entry.get("effective"))
    return (*values, *(part for part in path if isinstance(part, str) and not part.startswith("broker-")))


def sampled(o: Observations, paths: list[Path_], name: str) -> list[Path_]:
    """All of them, or of each kind the first, one in the middle and the last.

    Of the many random schedules only the one in the middle.
    """
    if name in EXHAUSTIVE:
        return paths
    kinds: dict[tuple[object, ...], list[Path_]] = {}
    for path in paths:
        kinds.setdefault(kind(o, path), []).append(path)
    places = (0.5,) if name.startswith("random-") else (0.0, 0.5, 1.0)
    return [p for group in kinds.values() for p in dict.fromkeys(group[int(at * (len(group) - 1))] for at in places)]


def altered(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return value + "'"
        case None:
            return True
    raise AssertionError(value)


def holder(o: Observations, path: Path_) -> Any:
    inside: Any = getattr(o, str(path[0]))
    for part in path[1:-1]:
        inside = inside[part]
    return inside


def both_ways(o: Observations, original: Comparable) -> list[list[Any]]:
    """Differences with the altered one as run and as recording; unreadable counts as reported."""
    try:
        changed = comparable(o)
    except (KeyError, TypeError) as error:
        pytest.fail(f"cannot be reduced: {error!r}")
    return [compare_reduced(changed, original), compare_reduced(original, changed)]


@pytest.mark.parametrize("name", FILES)
def test_a_recording_equals_itself(name: str) -> None:
    assert compare(recording(name), copy.deepcopy(recording(name))) == []


@pytest.mark.parametrize("name", FILES)
def test_altering_a_leaf_is_reported_if_and_only_if_it_must_match(name: str) -> None:
    o = copy.deepcopy(recording(name))
    original = comparable(recording(name))
    judged = dict(judged_leaves(o))
    for path in sampled(o, list(judged), name):
        inside, last = holder(o, path), path[-1]
        before = inside[last]
        inside[last] = altered(before)
        for differences in both_ways(o, original):
            assert bool(differences) == judged[path], f"{path}: {before!r} -> {inside[last]!r}: {differences}"
        inside[last] = before
    assert comparable(o) == original, "the walk left something altered"


def edits(items: list[Any]) -> Iterator[tuple[str, list[Any]]]:
    """One element less, one twice, two neighbours swapped: at the start, middle and end."""

    def bare(item: Any) -> Any:
        return {k: v for k, v in item.items() if k != "t"} if isinstance(item, dict) else item

    for at in sorted({0, len(items) // 2, len(items) - 1} & set(range(len(items)))):
        yield f"without {at}", items[:at] + items[at + 1 :]
        yield f"{at} twice", [*items[:at], items[at], *items[at:]]
        if at + 1 < len(items) and bare(items[at]) != bare(items[at + 1]):
            yield f"{at} swapped", [*items[:at], items[at + 1], items[at], *items[at + 2 :]]


@pytest.mark.parametrize("name", FILES)
def test_removing_doubling_or_swapping_entries_is_reported(name: str) -> None:
    o = copy.deepcopy(recording(name))
    original = comparable(recording(name))
    for path in sampled(o, list(lists(o)), name):
        inside: Any = o
        for part in path:
            inside = getattr(o, str(part)) if inside is o else inside[part]
        before = list(inside)
        for what, items in edits(before):
            inside[:] = items
            try:
                from_document({f: getattr(o, f) for f in o.__struct_fields__}, name)
            except Malformed:
                continue  # reported on reading: a record without its value, say
            as_run = compare_reduced(comparable(o), original)
            assert as_run, f"{path} {what}"
        inside[:] = before
    assert comparable(o) == original, "the walk left something altered"


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith("/2.json") and "random" not in name])
def test_two_outcomes_of_one_race_differ(name: str) -> None:
    one, two = recording(name.replace("/2.json", "/1.json")), recording(name)
    assert compare(two, one) and compare(one, two)
    assert nearest(two, {"1": one, "2": two}) == ("2", [])


def edited(name: str, change: Callable[[Observations], None]) -> Observations:
    o = copy.deepcopy(recording(name))
    change(o)
    return o


BOTH = "az-isolated-leader-and-controller@2.8/1.json"


def test_a_short_lived_state_may_be_missing_from_a_recording_but_not_from_a_run() -> None:
    """The sole state of [2, 1] without a leader lasted 60 ms."""
    with_state = recording(BOTH)
    without = edited(BOTH, lambda o: o.partition_states.pop(1))
    assert recording(BOTH).partition_states[1]["leader"] == -1
    assert compare(with_state, without) == []
    missing = compare(without, with_state)
    assert [d.where for d in missing] == ["partition_states[1]"]


def test_a_long_lived_state_may_not_be_missing_from_a_recording() -> None:
    def hold_it(o: Observations) -> None:
        o.partition_states[2]["t"] = o.partition_states[1]["t"] + SHORT_LIVED_S

    without = edited(BOTH, lambda o: o.partition_states.pop(1))
    assert [d.where for d in compare(edited(BOTH, hold_it), without)] == ["partition_states[1]"]


def test_a_state_may_not_be_extra_at_the_end() -> None:
    short = edited(BOTH, lambda o: o.partition_states.pop())
    assert [str(d) for d in compare(recording(BOTH), short)] == [
        "partition_states[4] (state of t-0; place is the run's): expected nothing, "
        'saw {"leader":0,"leader_epoch":3,"isr":[2,1,0],"controller_epoch":2,"zk_version":4}'
    ]


LEADER = "az-isolated-leader@2.6/1.json"


def attempts(o: Observations) -> list[dict[str, Any]]:
    return [entry for entry in o.timeline if entry.get("saw") == "attempt"]


def test_one_extra_entry_is_one_line() -> None:
    """No cascade: the later attempts still find their pairs."""

    def once_more(o: Observations) -> None:
        again = {**attempts(o)[2], "attempt": 2, "offset": 9}
        o.timeline.insert(o.timeline.index(attempts(o)[2]) + 1, again)

    assert [str(d) for d in compare(edited(LEADER, once_more), recording(LEADER))] == [
        "timeline[19] (attempt 2 of c at broker-0, acks 1; place is the run's): expected nothing, "
        'saw {"saw":"attempt","broker":0,"value":"c","acks":1,"attempt":2,"error":0,"offset":9}'
    ]


def test_a_missing_record_is_one_line() -> None:
    def forget(o: Observations) -> None:
        end = [entry for entry in o.timeline if entry.get("saw") == "snapshot"][-1]
        del end["replicas"]["broker-2"]["log"][0]

    assert [str(d) for d in compare(edited(LEADER, forget), recording(LEADER))] == [
        "timeline[47].replicas.broker-2.log[0] (snapshot 'after heal'): expected [0,0,\"a\"], saw nothing"
    ]


def test_an_error_instead_of_success_is_one_line() -> None:
    def refuse(o: Observations) -> None:
        attempts(o)[-1].update(error=6, offset=-1)

    assert [str(d) for d in compare(recording(LEADER), edited(LEADER, refuse))] == [
        'timeline[39].error (attempt 1 of x at broker-0, acks 1): expected 6, saw "TimeoutError"'
    ]


def test_a_wait_not_reached_is_one_line() -> None:
    def give_up(o: Observations) -> None:
        next(e for e in o.timeline if e.get("saw") == "reached")["saw"] = "not-reached"

    assert [str(d) for d in compare(edited(LEADER, give_up), recording(LEADER))] == [
        'timeline[14].saw (wait until \'new leader\'): expected "reached", saw "not-reached"'
    ]


def test_another_script_is_another_scenario() -> None:
    def skip_a_pause(o: Observations) -> None:
        o.timeline.remove(next(e for e in o.timeline if e.get("do") == "pause"))

    assert [str(d) for d in compare(edited(LEADER, skip_a_pause), recording(LEADER))] == [
        'timeline[9] (script: pause): expected {"do":"pause","s":2.5}, saw nothing'
    ]


def test_a_recording_of_another_version_is_not_the_runs() -> None:
    newer = edited(LEADER, lambda o: setattr(o, "kafka", "2.8.2"))
    assert [str(d) for d in compare(newer, recording(LEADER))] == [
        'kafka (another scenario or version: not this run\'s recording): expected "2.6", saw "2.8"'
    ]


def test_partitions_other_than_the_first_are_extra() -> None:
    def second_partition(o: Observations) -> None:
        for entry in o.partition_states:
            entry["partition"] = "t-0"
        o.partition_states.append({**o.partition_states[0], "partition": "t-1"})

    differences = compare(edited(LEADER, second_partition), recording(LEADER))
    assert [(d.where, d.about) for d in differences] == [("partition_states[3]", "state of t-1; place is the run's")]


def test_while_there_is_no_controller_the_list_may_have_none() -> None:
    """The recordings' list skips it.

    In random-101@2.8 the timeline shows null, the list goes on with epoch 3.
    """

    def say_none(o: Observations) -> None:
        o.controllers.append({"t": 20.0, "controller": None, "epoch": 1})

    assert compare(edited(LEADER, say_none), recording(LEADER)) == []


def test_true_is_not_one() -> None:
    def truth(o: Observations) -> None:
        attempts(o)[0]["attempt"] = True

    assert [d.where for d in compare(edited(LEADER, truth), recording(LEADER))] == ["timeline[7].attempt"]
