"""Generated command lines over every command and option that is declared.

A line is usable but for some of its words. `command_line(number)` is the same line each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from random import Random
from typing import Any, Final, Literal, get_args, get_origin

from cyclopts import App

from emulator.cli.app import app

Words = tuple[str, ...]

PATHS: Final = (
    "", " ", ".", "..", "/proc", "~", "no-such", "no/such/folder", "folder", "empty", "text", "binary", "latin",
    "fifo", "loop",
    "dangling", "deep/" * 30, "n" * 300, "n" * 5000, "/proc/self/mem", "text/below", "o\udcff",
    "a\nb", "*", "[", "run-*", "-", "--", "-x", "\x1b[2J", "\u202e", "%s", "{0}", "run", "torn", "bare", "campaign",
    "observations.json", "scenario.yaml", "sweep.yaml", "server.properties", "three-az.yml", "own_check.py", "finds",
    "broken.yaml", "broken.json", "broken.properties", "broken.yml", "broken_check.py", "run/scenario.yaml", "runs",
    "run/events", "run/verdict.json", "run/events/broker-0.1.jsonl",
)  # fmt: skip
"""Paths, most of them of no use; those without a slash are in the folder of `input_folder`."""
NUMBERS: Final = (
    "0", "-1", "1", "2", "-0", "+1", "1_000", "1e3", "0x10", "1.5", "nan", "inf", "-inf", "1e400", "2147483647",
    "2147483648", "4294967296", "9223372036854775807", "9223372036854775808", "1" + "0" * 400, "\u0663", "1 ", "one",
)  # fmt: skip
TEXTS: Final = (
    "", " ", "a", "a b", "a=b", "=", "a=", "=b", "a==b", "min.insync.replicas=", "min.insync.replicas=nan", ",",
    "a,b", "..",
    "1..", "..1", "3..1", "1..1", "1..99999999999999999999", "t-0", "t-", "-0", "t-99999999999", "broker-0",
    "broker--1",
    "broker-*", "az-0", "leader:t-0", "active-controller", "->", "opened_by", "to", "50ms", "-50ms", "1e400ms", "5%",
    "nan%",
    "10kB", "all", "2.8", "9.9", "0.8.2", "2.8,2.6", "SELECT 1 FROM events", "SELECT", ";;", "local[*]", "local[x]",
    "spark://", "90s", "10m", "-1s", "infs", "1e400s", "sleep#1=nan", "sleep#0=1", "sleep#99=1", "x" * 300,
    "x" * 100_001, "\x07", "\x1b]0;x\x07", "\ufeff", "\U0001f980", "o\udcff", "a\0b", "'", '"', "\\", "$HOME", "0=0,1",
    "random-101@2.8", "az-isolated-leader@2.8", "az-isolated-leader@9.9", "az-isolated-laeder", "@", "a@", "random-1",
)  # fmt: skip
UNKNOWN: Final = ("--no-such", "--no-such=1", "-Z", "--", "---", "--json=maybe", "--help=1", "-", "no-such-word")

USABLE: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    ("run", "scenario"): ("scenario.yaml", "observations.json", "az-isolated-leader"),
    ("run", "--world"): ("sim", "network"),
    ("sim", "scenario"): ("scenario.yaml", "observations.json"),
    ("sim", "--seeds"): ("1..1", "1..2", "7..7"),
    ("sweep", "scenario"): ("scenario.yaml", "sweep.yaml"),
    ("sweep", "--seeds"): ("1..1",),
    ("sweep", "--set"): ("min.insync.replicas=1,2", "min.insync.replicas=1"),
    ("sweep", "--param"): ("sleep#1=0.1,0.2",),
    ("sweep", "--kafka-version"): ("2.8", "2.6,2.8"),
    ("sweep", "--measure"): ("isr_shrinks", "acknowledged"),
    ("advise", "files"): ("server.properties",),
    ("advise", "--fault"): ("az-0-is-cut-off-load",),
    ("advise", "--topology"): ("three-az", "three-az.yml"),
    ("advise", "--seeds"): ("1..1",),
    ("fuzz", "--runs"): ("1",),
    ("fuzz", "--for"): ("1s",),
    ("compare", "run_directory"): ("run", "observations.json"),
    ("compare", "goldens"): ("observations.json", "az-isolated-leader@2.8", "run"),
    ("audit", "runs"): ("run", "run-*", "torn", "runs"),
    ("audit", "--check"): ("own_check.py",),
    ("sql", "arguments"): ("run", "campaign", "SELECT count(*) FROM events"),
    ("explain", "run_directory"): ("run",),
    ("explain", "subject"): ("a", "0"),
    ("diff", "left"): ("run",),
    ("diff", "right"): ("run", "torn"),
    ("log", "--run"): ("run",),
    ("log", "node"): ("broker-0",),
    ("log", "--as-kafka"): ("broker-0",),
    ("report", "run_directory"): ("run", "campaign"),
    ("settings", "names"): ("server.properties", "min.insync.replicas", "producer.acks"),
    ("scenarios show", "scenario"): ("scenario.yaml", "az-isolated-leader", "observations.json"),
    ("scenarios check", "files"): ("scenario.yaml", "broken.yaml"),
    ("up", "topology"): ("three-az", "three-az.yml"),
    ("attach", "topology"): ("three-az", "three-az.yml"),
    ("topic create", "--assignment"): ("0,1",),
    ("delay", "places"): ("az-0", "50ms"),
    ("loss", "places"): ("az-0", "5%"),
    ("bandwidth", "places"): ("az-0", "10kB"),
    ("reset", "places"): ("az-0", "500ms"),
    ("reassign", "moves"): ("t-0=1,2",),
}
"""{(command, option or position): usable values} where its kind alone does not tell one."""
USABLE_NAMED: Final[dict[str, tuple[str, ...]]] = {
    "--kafka-version": ("2.8", "0.10.2"),
    "--set": ("min.insync.replicas=1", "unclean.leader.election.enable=true"),
    "--settings": ("server.properties", "broker-0:server.properties"),
    "--param": ("sleep#1=0.1",),
    "--out": ("out", "runs/out"),
    "--junit": ("junit.xml",),
    "--markdown": ("verdict.md",),
    "--csv": ("table.csv",),
    "--html": ("page.html",),
    "--golden": ("goldens",),
    "--partition": ("t-0", "0"),
    "--master": ("local[*]", "local[1]"),
    "--speed": ("5",),
    "places": ("az-0", "az-0 az-1"),
    "nodes": ("broker-0", "az-1", "broker-*"),
    "--only": ("Fetch",),
    "--acks": ("1", "all"),
    "--client-version": ("2.8",),
    "name": ("t",),
    "topic": ("t",),
    "values": ("a",),
    "broker": ("broker-0", "all"),
    "controller": ("controller-0",),
}
COSTLY: Final[dict[str, tuple[str, ...]]] = {
    "sim": ("--seeds",),
    "sweep": ("--seeds",),
    "advise": ("--fault", "--seeds"),
    "fuzz": ("--runs",),
}
"""Options that bound what a usable line of a command costs: mostly given."""


class Option:
    """One option or position of a command.

    `names`: as the command line has it; none: a position. `kinds`: the types that its declaration names."""

    def __init__(self, command: str, names: Words, name: str, kinds: Words, words: Words, required: bool) -> None:
        self.names, self.kinds, self.words, self.required = names, kinds, words, required
        self.key = names[0] if names else name
        self.flag = kinds == ("bool",)
        self.usable = (
            USABLE.get((command, self.key))
            or (tuple(_usable_of(kinds)) if "int" in kinds else ())
            or USABLE_NAMED.get(self.key)
            or words
            or tuple(_usable_of(kinds))
            or ("a",)
        )


@cache
def commands() -> dict[str, tuple[Option, ...]]:
    """{its words: its options and positions}, of every command that the command line declares."""
    return {" ".join(words): tuple(_options(" ".join(words), inner)) for words, inner in command_apps()}


def command_apps(of: App = app, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], App]]:
    """(Its words, what it is declared as) of every command."""
    for name in of:
        if name.startswith("-"):
            continue
        inner = of[name]
        if inner.default_command is not None:
            yield (*words, name), inner
        yield from command_apps(inner, (*words, name))


def _options(command: str, inner: App) -> Iterator[Option]:
    for argument in inner.assemble_argument_collection():
        if not argument.parse or argument.children:
            continue
        names = tuple(name for name in argument.names if name.startswith("-"))
        kinds = tuple(dict.fromkeys(_kinds(argument.hint)))
        words = tuple(map(str, _words(argument.hint)))
        name = argument.names[0] if argument.names else argument.field_info.name
        yield Option(command, names, name.lower(), kinds, words, argument.required)


def _kinds(hint: Any) -> Iterator[str]:
    if get_args(hint) and get_origin(hint) is not Literal:
        for one in get_args(hint):
            yield from _kinds(one)
    elif isinstance(hint, type) and hint is not type(None):
        yield hint.__name__


def _words(hint: Any) -> Iterator[Any]:
    if get_origin(hint) is Literal:
        yield from get_args(hint)
    else:
        for one in get_args(hint):
            yield from _words(one)


def _usable_of(kinds: Words) -> Iterator[str]:
    for kind, values in (("int", ("1", "0")), ("float", ("1", "0.5")), ("Path", ("run", "text"))):
        if kind in kinds:
            yield from values


def command_line(number: int) -> list[str]:
    """A command's words with one to three faults; of each tenth number none."""
    chance = Random(number)
    names = sorted(commands())
    command = names[number % len(names)] if chance.random() < 0.8 else chance.choice(names)
    parts = [_given(chance, option) for option in commands()[command] if _is_given(chance, command, option)]
    faults = 0 if number % 10 == 0 else chance.choice((1, 1, 1, 2, 3))
    for _ in range(faults):
        chance.choice(FAULTS)(chance, command, parts)
    return [*command.split(), *(word for part in parts for word in part)]


def _is_given(chance: Random, command: str, option: Option) -> bool:
    if not option.names:
        return option.required or chance.random() < 0.8
    if option.key in COSTLY.get(command, ()):
        return chance.random() < 0.97
    return option.required or chance.random() < 0.15


def _given(chance: Random, option: Option, value: str | None = None) -> list[str]:
    if option.flag and value is None:
        return [chance.choice(option.names)]
    word = chance.choice(option.usable) if value is None else value
    if not option.names:
        return [word]
    name = chance.choice(option.names)
    return [f"{name}={word}"] if name.startswith("--") and chance.random() < 0.7 else [name, word]


def hostile_value(chance: Random, option: Option) -> str:
    """A value that is likely to be none of that option's."""
    of_kind: Sequence[str] = TEXTS
    if "Path" in option.kinds or any(value in PATHS for value in option.usable):
        of_kind = PATHS
    elif "int" in option.kinds or "float" in option.kinds:
        of_kind = NUMBERS
    return chance.choice(of_kind if chance.random() < 0.8 else chance.choice((PATHS, NUMBERS, TEXTS)))


Parts = list[list[str]]


def _hostile(chance: Random, command: str, parts: Parts) -> None:
    """One option has another value."""
    options = commands()[command]
    if not options:
        return
    option = chance.choice(options)
    part = _given(chance, option, hostile_value(chance, option))
    at = next((at for at, one in enumerate(parts) if option.names and one[0].split("=")[0] in option.names), None)
    if at is not None:
        parts[at] = part
    elif option.names or not parts:
        parts.append(part)
    else:
        positions = [at for at, one in enumerate(parts) if not one[0].startswith("-")] or [0]
        parts[chance.choice(positions)] = part


def _twice(chance: Random, command: str, parts: Parts) -> None:
    if parts:
        parts.insert(chance.randrange(len(parts) + 1), chance.choice(parts))


def _missing(chance: Random, command: str, parts: Parts) -> None:
    if parts:
        parts.pop(chance.randrange(len(parts)))


def _shuffled(chance: Random, command: str, parts: Parts) -> None:
    chance.shuffle(parts)


def _split(chance: Random, command: str, parts: Parts) -> None:
    """An option without its value, or with half of it."""
    if parts:
        part = chance.choice(parts)
        part[-1] = part[-1][: chance.randrange(len(part[-1]) + 1)]


def _unknown(chance: Random, command: str, parts: Parts) -> None:
    parts.insert(chance.randrange(len(parts) + 1), [chance.choice(UNKNOWN)])


def _more(chance: Random, command: str, parts: Parts) -> None:
    """A word more, or many."""
    word = chance.choice(chance.choice((PATHS, NUMBERS, TEXTS)))
    parts.append([word] * chance.choice((1, 1, 1, 2, 300)))


FAULTS: Final[tuple[Callable[[Random, str, Parts], None], ...]] = (
    _hostile, _hostile, _hostile, _hostile, _twice, _missing, _shuffled, _split, _unknown, _more,
)  # fmt: skip


def plain(words: Sequence[str]) -> bool:
    """Whether a process can be given these words."""
    return not any("\0" in word for word in words)

