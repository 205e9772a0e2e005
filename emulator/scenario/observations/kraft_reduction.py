"""Parts of a KRaft cluster's observations that must match a recording.

tests/golden/README-kraft.md has the reasons. Epochs and offsets of the quorum are races. So are broker epochs, which
are offsets; the order of a broker's registrations stands for them. The controller in a broker's metadata is a random
live broker.
"""

import re
from collections.abc import Iterator
from typing import Final

from emulator.scenario.observations.observation_model import Entry, Observations

METADATA: Final = ("saw", "broker", "leader", "leader_epoch", "isr", "partition")
ELECTED: Final = re.compile(r"\((\d+), (-?\d+), ")
"""(partition, error code, ... of an answer to elect-preferred."""


def is_compared(entry: Entry) -> bool:
    """Whether a timeline's entry must match.

    Whether a cluster settles in time while cut apart is a race.
    """
    return (entry.get("saw"), entry.get("until")) != ("not-reached", "settle")


def kraft_entry(entry: Entry) -> Entry:
    """The parts of a timeline's entry that must match."""
    match entry.get("saw"):
        case "metadata" if entry.get("error"):
            return {key: entry[key] for key in ("saw", "broker", "error", "partition") if key in entry}
        case "metadata":
            return {key: entry[key] for key in METADATA if key in entry}
        case "quorum":
            return {"saw": "quorum", "controller": entry["controller"], "leads": not entry.get("error")}
        case "elect-preferred":
            errors = [list(map(int, one)) for one in ELECTED.findall(entry["answer"])]
            return {"saw": "elect-preferred", "errors": errors}
        case _:
            return entry


def kraft_state(entry: Entry) -> Entry:
    """A partition's state without its place in the metadata log."""
    return {key: value for key, value in entry.items() if key not in ("offset", "epoch")}


def registrations(observations: Observations) -> Iterator[tuple[int, Entry]]:
    """Changes of brokers' registrations.

    Those before the first topic come first, by broker, then the others in order. Brokers that start together register
    in any order.
    """
    entries = list(enumerate(observations.broker_registrations or ()))
    states = observations.partition_states
    begins = states[0]["offset"] if states else 0
    early = [one for one in entries if one[1]["offset"] < begins]
    counts: dict[int, int] = {}
    for index, entry in (*sorted(early, key=lambda one: one[1]["broker"]), *entries[len(early) :]):
        broker = entry["broker"]
        counts[broker] = counts.get(broker, 0) + (entry["what"] == "registered")
        fenced = {"fenced": entry["fenced"]} if "fenced" in entry else {}
        yield index, {"broker": broker, "what": entry["what"], **fenced, "registration": counts[broker]}
