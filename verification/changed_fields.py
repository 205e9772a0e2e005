"""Changes of lines' content: a missing field, and events that contradict one another."""

from __future__ import annotations

from typing import Final

from protocol.chance import Chance
from protocol.events import FIELDS
from protocol.events.event_parsing import ENVELOPE_NEEDED, NEEDED
from verification.changed_run import GONE, KEPT, OPEN, READ, Change, Files, Line, described, name_of_one, pick

MINUTES_MS: Final = 180_000.0


# --- fields ---


def without_field(files: Files, chance: Chance) -> Change:
    """A field is null, or missing.

    No check notices a field that no table has; later fields have defaults.
    """
    name, place = pick(chance, files)
    line = files[name][place]
    field = sorted(line)[chance.below(len(line))]
    what = f"{described(name, line)}: {field}"
    needed = field in ENVELOPE_NEEDED or field in ("format", "event") or field in NEEDED[line["event"]]
    taken = (GONE if needed else OPEN) if field in READ else KEPT
    if chance.below(2):
        line[field] = None
    else:
        del line[field]
    return Change("without a field", what, taken, files)


def of_another_type(files: Files, chance: Chance) -> Change | None:
    """A text where a number belongs, or a truth."""
    name, place = pick(chance, files)
    line = files[name][place]
    fields = [field for field in sorted(line) if FIELDS[field] is not str]
    field = fields[chance.below(len(fields))]
    line[field] = "x"
    return Change("of another type", f"{described(name, line)}: {field}", GONE if field in READ else KEPT, files)


# --- contradictions with complete numbers ---


def ended_twice(files: Files, chance: Chance) -> Change:
    """An operation, with numbers that go on."""
    name, place = pick(chance, files, lambda line: line["event"] == "operation_ended")
    _insert(files[name], place + 1, dict(files[name][place]))
    return Change("ended twice", described(name, files[name][place]), GONE, files)


def denied(files: Files, chance: Chance) -> Change:
    """A produce failed, and its attempt was answered: it was done."""
    name, place = pick(chance, files, lambda line: line.get("kind") == "produce" and line.get("outcome") == "ok")
    files[name][place]["outcome"] = "failed"
    return Change("denied", described(name, files[name][place]), GONE, files)


def clock_back(files: Files, chance: Chance) -> Change | None:
    """Of one line, to before the line before it."""
    name = name_of_one(chance, files)
    place = 1 + chance.below(len(files[name]) - 1)
    line, before = files[name][place], files[name][place - 1]
    line["at_ms"] = before["at_ms"] - 1.0 - chance.below(int(MINUTES_MS))
    return Change("clock back", described(name, line), GONE, files)


def clock_shifted(files: Files, chance: Chance) -> Change:
    """Of a whole file: only between nodes."""
    name = name_of_one(chance, files)
    by_ms = float(chance.below(2 * int(MINUTES_MS))) - MINUTES_MS
    for line in files[name]:
        line["at_ms"] += by_ms
    return Change("clock shifted", f"{name} by {by_ms:.0f} ms", OPEN, files)


def loaded_longer(files: Files, chance: Chance) -> Change:
    """A log is found longer than anything that was appended to it."""
    name, place = pick(chance, files, lambda line: line["event"] == "log_loaded")
    files[name][place]["log_end"] += 1_000
    return Change("loaded longer", described(name, files[name][place]), GONE, files)


def dropped_and_renumbered(files: Files, chance: Chance) -> Change:
    """Lines of one event are removed and the others renumbered.

    Other events imply some of these, so their absence is noticed: start and end of an incarnation, an operation's
    beginning, a fault of the scenario, the role of a leader that continues to append. No other event implies the rest.
    """
    name, place = pick(chance, files)
    line = files[name][place]
    del files[name][place]
    for later in files[name][place:]:
        later["seq"] -= 1
    owed = {
        "node_started": True,
        "node_stopped": True,
        "fault_asked": True,
        "fault_in_force": True,
        "operation_invoked": any(
            other["event"] == "operation_ended" and other["operation"] == line["operation"] for other in files[name]
        )
        if line["event"] == "operation_invoked"
        else False,
        "role_changed": line.get("role") == "leader" and _appends_as_leader(files[name], line),
        "batch_appended": _followed(files[name], line),
    }
    return Change("dropped and renumbered", described(name, line), GONE if owed.get(line["event"]) else OPEN, files)


def offset_twice(files: Files, chance: Chance) -> Change | None:
    """A batch of a log stands where the one before it is: sums of records agree."""
    name, place = pick(chance, files, lambda line: line["event"] == "batch_appended" and line["base_offset"] > 0)
    line = files[name][place]
    taken = GONE if _followed(files[name], line) else OPEN
    line["base_offset"] -= 1
    line["last_offset"] -= 1
    return Change("offset twice", described(name, line), taken, files)


def _insert(lines: list[Line], place: int, line: Line) -> None:
    for later in lines[place:]:
        later["seq"] += 1
    line["seq"] += 1
    lines.insert(place, line)


def _same_log(a: Line, b: Line) -> bool:
    return (a.get("topic"), a.get("partition")) == (b.get("topic"), b.get("partition"))


def _followed(lines: list[Line], batch: Line) -> bool:
    """Whether a later batch of the incarnation continues here, without any truncation."""
    return (
        batch["event"] == "batch_appended"
        and any(
            line["event"] == "batch_appended" and _same_log(line, batch) and line["base_offset"] > batch["base_offset"]
            for line in lines
        )
        and not any(line["event"] == "log_truncated" and line["effective"] and _same_log(line, batch) for line in lines)
    )


def _appends_as_leader(lines: list[Line], role: Line) -> bool:
    """In a leader epoch of which nothing else tells that it leads."""
    of_epoch = [
        line for line in lines if _same_log(line, role) and line.get("leader_epoch") == role["leader_epoch"]
    ]
    return any(line["event"] == "batch_appended" and line["as_leader"] for line in of_epoch) and not any(
        line["event"] == "role_changed" and line["role"] == "leader" for line in of_epoch
    )
