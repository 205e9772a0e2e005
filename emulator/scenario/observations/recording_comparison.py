"""A run against a recording: every forbidden difference.

The rules are those of the recordings' README, "What must match". Two allowances follow from how the
recordings were made. They were sampled every 50 ms, so a run may hold a state that was too short-lived to be
sampled (never at the start or the end, never in another order). And a run's script must be the recording's:
otherwise it is another scenario, which is reported as such.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise

from emulator.scenario.observations.alignment import NOTHING, Difference, leaf_differences, pairs
from emulator.scenario.observations.comparable import Comparable, Item, comparable, same, token
from emulator.scenario.observations.observation_model import Observations

SHORT_LIVED_S = 1.0
"""Maximum life of a state that a recording may lack: 20 samples.

Such states last as long as a controller's two writes.
"""

UNSAMPLED_S = 0.1
"""Two samples."""

IDENTITY = {
    "attempt": ("broker", "value", "acks", "attempt"),
    "fetch": ("broker",),
    "metadata": ("broker",),
    "list-offsets": ("broker",),
    "quorum": ("controller",),
    "snapshot": ("label",),
    "reached": ("until",),
}
"""Kind of `saw` -> the keys that identify an entry, as opposed to its results."""


def compare(observed: Observations, recording: Observations) -> list[Difference]:
    """Every difference, in the order script, results, states, controllers, truncations.

    Empty: the run equals the recording. Both as read (`reading.parse`) or converted (`reading.plain`).
    """
    return compare_reduced(comparable(observed), comparable(recording))


def nearest(observed: Observations, recordings: Mapping[str, Observations]) -> tuple[str, list[Difference]]:
    """The recording with the fewest differences (the first of several) and these.

    `recordings` is not empty.
    """
    assert recordings, "nothing to compare with"
    run = comparable(observed)
    best: tuple[str, list[Difference]] | None = None
    for name, recording in recordings.items():
        differences = compare_reduced(run, comparable(recording))
        if best is None or len(differences) < len(best[1]):
            best = (name, differences)
        if not differences:
            break
    assert best is not None
    return best


def compare_reduced(run: Comparable, recording: Comparable) -> list[Difference]:
    """The same on reduced observations, for comparing one recording many times."""
    found: list[Difference] = []
    for where, expected, seen in (
        ("scenario", recording.scenario, run.scenario),
        ("kafka", recording.version, run.version),
        ("mode", recording.plane, run.plane),
    ):
        if expected != seen:
            found.append(Difference(where, expected, seen, "another scenario or version: not this run's recording"))
    found.extend(_timeline(recording.timeline, run.timeline))
    states = (*recording.states, *run.states) if recording.metadata_log_read else ()
    for partition in dict.fromkeys(states):
        of_states = _ordered if recording.plane else _sampled
        found.extend(
            of_states(recording.states.get(partition, []), run.states.get(partition, []), f"state of {partition}")
        )
    found.extend(_sampled(recording.controllers, _controllers(recording.controllers, run.controllers), "controller"))
    if recording.metadata_log_read:
        found.extend(_ordered(recording.registrations, run.registrations, "registration of a broker"))
    for key in dict.fromkeys((*recording.truncations, *run.truncations)):
        about = "effective truncation of {} on {}".format(*reversed(key))
        found.extend(_ordered(recording.truncations.get(key, []), run.truncations.get(key, []), about))
    return found


def _timeline(expected: list[Item], seen: list[Item]) -> Iterator[Difference]:
    """Differences of results, paired within each step if the scripts agree, else over the whole."""
    if _script(expected) == _script(seen):
        for left, right in zip(by_step(expected), by_step(seen), strict=True):
            yield from _results(left, right)
    else:
        yield from _results(expected, seen)


def _script(items: list[Item]) -> list[object]:
    return [item.token for item in items if "do" in item.entry]


def by_step(items: list[Item]) -> list[list[Item]]:
    """Entries by step, cut before every `do`.

    First the entries before any step, then each step with its results.
    """
    steps: list[list[Item]] = [[]]
    for item in items:
        if "do" in item.entry:
            steps.append([])
        steps[-1].append(item)
    return steps


def _results(expected: list[Item], seen: list[Item]) -> Iterator[Difference]:
    if _equal(expected, seen):
        return
    for left, right in pairs(expected, seen, identity=_identity, alike=_alike):
        if left is not None and right is not None:
            yield from _entry(left, right)
        elif left is not None:
            yield Difference(left.place, left.entry, NOTHING, _about(left.entry))
        elif right is not None:
            about = f"{_about(right.entry)}; place is the run's"
            yield Difference(right.place, NOTHING, right.entry, about)


def _identity(item: Item) -> object:
    entry = item.entry
    if "do" in entry:
        return item.token
    kind = _kind(item)
    keys = IDENTITY.get(kind, ()) if isinstance(kind, str) else ()
    return (token(kind), *(token(entry.get(key)) for key in keys), token(entry.get("partition")))


def _token(item: Item) -> object:
    return item.token


def _equal(expected: list[Item], seen: list[Item]) -> bool:
    return [item.token for item in expected] == [item.token for item in seen]


def _alike(left: Item, right: Item) -> bool:
    if "do" in left.entry or "do" in right.entry:
        return left.entry.get("do") == right.entry.get("do")
    return _kind(left) == _kind(right)


def _kind(item: Item) -> object:
    """A wait reached and a wait not reached are about the same thing."""
    kind = item.entry.get("saw")
    return "reached" if kind == "not-reached" else kind


def _entry(left: Item, right: Item) -> Iterator[Difference]:
    for difference in leaf_differences(left.place, left.entry, right.entry, _about(left.entry)):
        # An offset counts with some errors only. Where it is on one side, the errors differ: one line is
        # enough.
        one_sided = NOTHING in (difference.expected, difference.seen)
        if one_sided and difference.where == f"{left.place}.offset" and not _same_error(left, right):
            continue
        yield difference


def _same_error(left: Item, right: Item) -> bool:
    return same(left.entry.get("error"), right.entry.get("error"))


def _about(entry: dict[str, object]) -> str:
    if "do" in entry:
        return f"script: {entry['do']}"
    kind = entry.get("saw")
    match kind:
        case "attempt":
            which = f"attempt {entry['attempt']} of {entry['value']}"
            return f"{which} at broker-{entry['broker']}, acks {entry['acks']}"
        case "fetch" | "metadata" | "list-offsets":
            return f"{kind} from broker-{entry['broker']}"
        case "quorum":
            return f"quorum as controller {entry['controller']} sees it"
        case "snapshot":
            return f"snapshot {entry['label']!r}"
        case "reached" | "not-reached":
            return f"wait until {entry['until']!r}"
        case _:
            return str(kind)


def _ordered(expected: list[Item], seen: list[Item], about: str) -> Iterator[Difference]:
    for left, right in pairs(expected, seen, identity=_token, alike=lambda _a, _b: True):
        yield from _pair(left, right, about)


def _sampled(expected: list[Item], seen: list[Item], about: str) -> Iterator[Difference]:
    """Differences of sampled lists.

    `expected` must be all in `seen`, in order, with the same first and last; between them `seen` may hold states that
    lasted less than SHORT_LIVED_S.
    """
    if _equal(expected, seen):
        return
    recorded = {item.token for item in expected}
    may_be_missing = {
        item.place
        for item, then in pairwise(seen[1:])
        if item.token not in recorded and _lasted_less(item, then, SHORT_LIVED_S)
    }
    for left, right in pairs(expected, seen, identity=_token, alike=lambda _a, _b: True):
        if left is None and right is not None and right.place in may_be_missing:
            continue
        yield from _pair(left, right, about)


def _controllers(expected: list[Item], seen: list[Item]) -> list[Item]:
    """`seen` without entries that sampling could not see.

    Up to 2.0 `/controller` names a new controller some milliseconds before `/controller_epoch` counts it (semantics
    4.1). If it has been controller before, the entry in between repeats an older one, and pairing could confuse them.
    An entry that was sampled all the same stays.
    """
    sampled = {item.token for item, _ in _uncounted(expected)}
    unsampled = {
        item.place
        for item, then in _uncounted(seen)
        if item.token not in sampled and _lasted_less(item, then, UNSAMPLED_S)
    }
    return [item for item in seen if item.place not in unsampled]


def _uncounted(items: list[Item]) -> Iterator[tuple[Item, Item]]:
    """Entries with the epoch of the controller before, each with its successor.

    The successor has the same controller with the next epoch.
    """
    for before, item, then in zip(items, items[1:], items[2:], strict=False):
        epoch = item.entry["epoch"]
        again = {**item.entry, "epoch": epoch + 1} if isinstance(epoch, int) else None
        if same(before.entry["epoch"], epoch) and again is not None and same(again, then.entry):
            yield item, then


def _lasted_less(item: Item, then: Item, than_s: float) -> bool:
    if isinstance(item.t, int | float) and isinstance(then.t, int | float):
        return 0 <= then.t - item.t < than_s
    return False


def _pair(left: Item | None, right: Item | None, about: str) -> Iterator[Difference]:
    if left is not None and right is not None:
        yield from leaf_differences(left.place, left.entry, right.entry, about)
    elif left is not None:
        yield Difference(left.place, left.entry, NOTHING, about)
    elif right is not None:
        yield Difference(right.place, NOTHING, right.entry, f"{about}; place is the run's")
