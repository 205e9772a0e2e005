"""Parts of observations about transactions that must match a recording.

tests/golden/README-kraft.md, Transactions, has the rules.

Producer ids are compared up to renaming. A Prepare state and its Complete state are both right. Of a repeated request
the answers before the last are races, except those of init-producer-id: a rule decides whether it waits for an abort
(51), and whether the broker has producer ids (14).
"""

from typing import Any, Final

from emulator.scenario.observations.observation_model import Entry, Observations
from emulator.scenario.observations.producer_numbers import ProducerNumbers

Indexed = list[tuple[int, Entry]]
RACES: Final = frozenset((14, 15, 16, 51))
DECIDED: Final = frozenset((14, 51))
"""Answers of init-producer-id that are no race."""
UNRECORDED: Final = ("controller_epoch", "zk_version")
"""Parts of a partition's state that these recordings do not have."""
PREPARED: Final = {"PrepareCommit": "CompleteCommit", "PrepareAbort": "CompleteAbort"}


def is_transactional(observations: Observations) -> bool:
    """Whether the script is about transactions."""
    return any(entry.get("do") == "internal-topics" for entry in observations.timeline)


def transaction_entries(timeline: Indexed) -> Indexed:
    """The entries that must match, with producer numbers in the place of ids."""
    numbers = ProducerNumbers()
    found: Indexed = []
    index = 0
    while index < len(timeline):
        place, entry = timeline[index]
        if entry.get("repeat") and index + 1 < len(timeline) and _is_race(entry, timeline[index + 1][1]):
            index += 2
            continue
        found.append((place, numbers.renamed(_described(entry))))
        index += 1
    return found


def _is_race(entry: Entry, saw: Entry) -> bool:
    """Whether the answer to a repeated request is one that is tried again, and depends on time."""
    errors = list(saw["errors"].values()) if saw.get("errors") else [saw.get("error")]
    if entry["do"] == "init-producer-id" and set(errors) <= DECIDED:
        return False
    return any(error in RACES for error in errors if not isinstance(error, str))


def _described(entry: Entry) -> Entry:
    if entry.get("saw") == "partition-state":
        return {key: value for key, value in entry.items() if key not in UNRECORDED}
    state: Any = entry.get("state")
    if entry.get("saw") != "describe-transaction" or (state not in PREPARED and state not in PREPARED.values()):
        return entry
    return {**entry, "state": PREPARED.get(state, state), "partitions": []}
