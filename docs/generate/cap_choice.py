"""docs/cap-choice.md, from simulated runs of scenarios/cap-choice.yaml: its matrix.

The matrix is that of the sweep scenarios/sweeps/cap-choice.yaml. Every run is one choice of settings; each of its three
topics is one place where the leader can be. Rows whose outcome is the same are one row.
"""

from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from docs.generate.markdown_tables import notice, table
from emulator.judging.campaigns.sweeps import find_sweep
from emulator.runs.resolve import resolve
from emulator.runs.simulated import play
from emulator.scenario.load import load_scenario
from emulator.scenario.observations.recording_parsing import plain
from emulator.scenario.scenario_model import Scenario
from protocol.errors import ErrorCode

SCENARIO = "scenarios/cap-choice.yaml"
_SWEEP = find_sweep("cap-choice")
assert _SWEEP is not None and _SWEEP.space.kafka_version is not None, "it comes with faultline"
SPACE = _SWEEP.space
_VALUES = {axis.name: axis.values for axis in SPACE.axes}
SEED = SPACE.first_seed
ACKS = _VALUES["producer.acks"]
MIN_INSYNC = tuple(map(int, _VALUES["min.insync.replicas"]))
UNCLEAN = tuple(value == "true" for value in _VALUES["unclean.leader.election.enable"])
VERSION = _SWEEP.space.kafka_version
BLOCKING_VERSION = "2.6"
"""Last version in which a leader writes its ISR to ZooKeeper itself."""

SIDES = ("minority", "majority")

_HEAD = f"""# Consistency or availability

One availability zone of three is cut off. `acks`, `min.insync.replicas` and `unclean.leader.election.enable` decide
which side can write and read, and which records survive. The tables have every combination: scenario
[cap-choice](catalogue.md#cap-choice) on Kafka {VERSION}, seed {SEED}. These commands repeat one run, and the
[sweep](sweeps.md), which also has the time in which no client could write:

```
faultline sweep cap-choice
faultline run cap-choice --world sim --set producer.acks=1 --set min.insync.replicas=1
```

On each side a client writes to that side's broker and reads from it. It does so soon after the majority has elected
its leaders, and half a minute later. `minority 1` is the first record of the minority's client.

| column | meaning |
|---|---|
| writes | *yes* (acknowledged), *sent* (acks=0, outcome unknown), or the error |
| reads | *yes*: the client reads its side's records; *old*: only records from before the cut; or the error |
| lost | after the heal: acknowledged records, or records sent with acks=0, that the leader's log does not have |

No record of a failed write is in the leader's log.
"""

_PLACES = {
    "isolated-0": (
        "The leader is on the minority's side",
        "Three replicas in sync. The majority elects another leader; for a while there are two.",
    ),
    "majority-0": (
        "The leader is on the majority's side",
        "Three replicas in sync. The controller removes the isolated one from the ISR.",
    ),
    "alone-0": (
        "The leader is on the minority's side, and alone in sync",
        "Two replicas. The other one, on the majority's side, is down when the cut begins and starts during it.",
    ),
}

_BLOCKING = f"""## Up to {BLOCKING_VERSION}

The isolated leader has to write its ISR to ZooKeeper, which it cannot reach. From then on it responds to no client
([semantics 1.6](semantics.md#16-recording-an-isr-change)). If the result half a minute later differs, it follows after
the arrow. Leader on the minority's side, `min.insync.replicas` 1, no unclean election:
"""


class Choice(NamedTuple):
    acks: str
    min_insync: int
    unclean: bool


class Outcome(NamedTuple):
    """One topic of one run, as the cells of a row."""

    minority_writes: str
    minority_reads: str
    majority_writes: str
    majority_reads: str
    lost: str


def page(root: Path) -> str:
    path = root / SCENARIO
    scenario = load_scenario(path.read_text(encoding="utf-8"), path.name)
    choices = [Choice(*values) for values in product(ACKS, MIN_INSYNC, UNCLEAN)]
    outcomes = {choice: played(scenario, VERSION, choice) for choice in choices}
    parts = [notice(SCENARIO), _HEAD]
    for place, (title, text) in _PLACES.items():
        parts += [f"## {title}\n", f"{text}\n", _table({choice: o[place] for choice, o in outcomes.items()})]
    blocking = [Choice(acks, 1, False) for acks in ACKS]
    blocked = {choice: played(scenario, BLOCKING_VERSION, choice)["isolated-0"] for choice in blocking}
    return "\n".join([*parts, _BLOCKING, _table(blocked)])


def played(scenario: Scenario, version: str, choice: Choice) -> dict[str, Outcome]:
    """{partition: its outcome} of one run."""
    settings = {
        "producer.acks": choice.acks,
        "min.insync.replicas": choice.min_insync,
        "unclean.leader.election.enable": choice.unclean,
    }
    run = play(resolve(scenario, version, settings), SEED)
    timeline = plain(run.observations).timeline
    final = {name: state.leader for name, state in run.player.seen.states.items()}
    return {place: _outcome(place, final[place], list(_of(place, timeline))) for place in _PLACES}


def _of(place: str, timeline: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    first = next(iter(_PLACES))
    return (entry for entry in timeline if "saw" in entry and entry.get("partition", first) == place)


def _outcome(place: str, leader: int, entries: list[dict[str, Any]]) -> Outcome:
    attempts = [e for e in entries if e["saw"] == "attempt" and e["value"] != "before"]
    fetches = [e for e in entries if e["saw"] == "fetch"]
    (snapshot,) = [e for e in entries if e["saw"] == "snapshot"]
    log = [record[-1] for record in snapshot["replicas"][f"broker-{leader}"]["log"]]
    taken = [e["value"] for e in attempts if e["error"] == 0]
    sides = {}
    for side in SIDES:
        own = [e for e in attempts if e["value"].startswith(side)]
        sides[side] = (_looks(map(_write, own)), _looks(_read(e, side) for e in fetches if _same_side(e, own)))
    lost = [value for value in taken if value not in log]
    assert all(e["value"] in taken for e in attempts if e["value"] in log), "no record of a failed write is in the log"
    return Outcome(*sides["minority"], *sides["majority"], _values(lost))


def _same_side(fetch: dict[str, Any], own: list[dict[str, Any]]) -> bool:
    return bool(fetch["broker"] == own[0]["broker"])


def _write(attempt: dict[str, Any]) -> str:
    if attempt["error"] == 0:
        return "sent" if attempt["acks"] == 0 else "yes"
    return _error(attempt["error"])


def _read(fetch: dict[str, Any], side: str) -> str:
    if fetch["error"] != 0:
        return _error(fetch["error"])
    return "yes" if any(record[-1].startswith(side) for record in fetch["records"]) else "old"


def _error(error: int | str) -> str:
    if error == "TimeoutError":
        return "no answer"
    return ErrorCode(error).name if isinstance(error, int) else error


def _looks(found: Iterable[str]) -> str:
    """Both looks in one word if they are alike."""
    first, second = found
    return first if first == second else f"{first} → {second}"


def _values(values: list[str]) -> str:
    """`minority 1, 2; majority 1`."""
    words = []
    for side in SIDES:
        numbers = [value.removeprefix(side).strip() for value in values if value.startswith(side)]
        words += [f"{side} {', '.join(numbers)}"] if numbers else []
    return "; ".join(words) or "nothing"


_COLUMNS = ("acks", "min. in sync", "unclean election", "minority writes", "minority reads", "majority writes",
            "majority reads", "lost")  # fmt: skip


def _table(outcomes: dict[Choice, Outcome]) -> str:
    return table(_COLUMNS, rows(outcomes))


def rows(outcomes: dict[Choice, Outcome]) -> Iterator[tuple[str, ...]]:
    """Rows of outcomes.

    Choices of one acks with the same outcome are one row, if they are all combinations of their settings.
    """
    for acks in ACKS:
        of_acks = {choice: outcome for choice, outcome in outcomes.items() if choice.acks == acks}
        for outcome in dict.fromkeys(of_acks.values()):
            uncleans: dict[int, list[str]] = {}
            for choice, found in of_acks.items():
                if found == outcome:
                    uncleans.setdefault(choice.min_insync, []).append("yes" if choice.unclean else "no")
            alike: dict[str, list[str]] = {}
            for min_insync, elections in uncleans.items():
                alike.setdefault(" or ".join(elections), []).append(str(min_insync))
            for elections_text, numbers in alike.items():
                yield (acks, ", ".join(numbers), elections_text, *outcome)
