"""Changes of whole lines and files: missing, repeated, moved, or another node's."""

from __future__ import annotations

from protocol.chance import Chance
from verification.changed_run import GONE, KEPT, OPEN, Change, Files, described, name_of_one, pick

# --- lines that are gone: numbers tell, or the end that a life owes ---


def dropped(files: Files, chance: Chance) -> Change:
    """Some lines of one file."""
    name, place = pick(chance, files)
    count = 1 + chance.below(min(5, len(files[name]) - place))
    what = ", ".join(described(name, line) for line in files[name][place : place + count])
    del files[name][place : place + count]
    return Change("dropped", what, GONE, files)


def dropped_everywhere(files: Files, chance: Chance) -> Change:
    """All lines of an event."""
    event = files[(picked := pick(chance, files))[0]][picked[1]]["event"]
    for name, lines in files.items():
        files[name] = [line for line in lines if line["event"] != event]
    return Change("dropped everywhere", event, GONE, files)


def cut_tail(files: Files, chance: Chance) -> Change:
    """Whole lines at a file's end."""
    name = name_of_one(chance, files)
    keep = chance.below(len(files[name]))
    del files[name][keep:]
    return Change("cut tail", f"{name} after {keep} lines", GONE, files)


def torn(files: Files, chance: Chance) -> Change:
    """Remove the last bytes of a file; a line end alone is no loss of evidence."""
    name = name_of_one(chance, files)
    count = 1 + chance.below(60)
    return Change("torn", f"{name}, {count} bytes", KEPT if count == 1 else GONE, files, {name: count})


def removed(files: Files, chance: Chance) -> Change:
    """A file."""
    name = name_of_one(chance, files)
    del files[name]
    return Change("removed", name, GONE, files)


# --- lines that are there again, or elsewhere ---


def doubled(files: Files, chance: Chance) -> Change:
    """One line, twice."""
    name, place = pick(chance, files)
    files[name].insert(chance.below(len(files[name]) + 1), dict(files[name][place]))
    return Change("doubled", described(name, files[name][place]), GONE, files)


def moved(files: Files, chance: Chance) -> Change:
    """Lines stand elsewhere in their file: their numbers tell their order."""
    name = name_of_one(chance, files)
    line = files[name].pop(chance.below(len(files[name])))
    files[name].insert(chance.below(len(files[name]) + 1), line)
    return Change("moved", described(name, line), KEPT, files)


def renumbered(files: Files, chance: Chance) -> Change | None:
    """One line gets another line's number, or an unused one."""
    name, place = pick(chance, files)
    line, was = files[name][place], files[name][place]["seq"]
    line["seq"] = chance.below(len(files[name]) + 5)
    if line["seq"] == was:
        return None
    return Change("renumbered", f"{described(name, line)}, was {was}", GONE, files)


def exchanged(files: Files, chance: Chance) -> Change | None:
    """Two lines of an incarnation exchange their numbers.

    The clock reveals it, except within one moment.
    """
    name = name_of_one(chance, files)
    a, b = (files[name][chance.below(len(files[name]))] for _ in range(2))
    if a is b:
        return None
    a["seq"], b["seq"] = b["seq"], a["seq"]
    taken = OPEN if a["at_ms"] == b["at_ms"] else GONE
    return Change("exchanged", f"{described(name, a)} and {described(name, b)}", taken, files)


def swapped_with_the_next(files: Files, chance: Chance) -> Change | None:
    """A number is missing and another there twice, as many lines as before."""
    name, place = pick(chance, files)
    if place + 1 >= len(files[name]):
        return None
    what = described(name, files[name][place])
    files[name][place] = dict(files[name][place + 1])
    return Change("replaced by the next", what, GONE, files)


# --- lines that others would have written ---


def of_another_run(files: Files, chance: Chance) -> Change:
    """A line more, or one of those there, is of another run."""
    name, place = pick(chance, files)
    line = files[name][place]
    if chance.below(2):
        line = dict(line)
        line["seq"] = len(files[name]) + 1
        files[name].append(line)
    line["run"] = "another"
    return Change("of another run", described(name, line), GONE, files)


def of_another_life(files: Files, chance: Chance) -> Change:
    """A line, or all of a file, say another node or incarnation."""
    name, place = pick(chance, files)
    some = files[name] if chance.below(2) else [files[name][place]]
    field, value = (("node", "broker-9"), ("node", "client-0x"), ("incarnation", 7))[chance.below(3)]
    for line in some:
        line[field] = value
    return Change("of another life", f"{name}, {len(some)} lines: {field} {value}", GONE, files)


def renamed(files: Files, chance: Chance) -> Change:
    """A file is named after another node; with it, or without, its lines."""
    name = name_of_one(chance, files)
    lines = files.pop(name)
    if chance.below(2):
        for line in lines:
            line["node"] = "broker-9"
    _, incarnation, suffix = name.split(".", 2)
    files[f"broker-9.{incarnation}.{suffix}"] = lines
    return Change("renamed", f"{name} to broker-9", GONE, files)


def exchanged_files(files: Files, chance: Chance) -> Change | None:
    """Two files have each other's name."""
    a, b = name_of_one(chance, files), name_of_one(chance, files)
    if a == b:
        return None
    files[a], files[b] = files[b], files[a]
    return Change("exchanged files", f"{a} and {b}", GONE, files)
