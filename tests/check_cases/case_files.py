"""Reads the cases of the checks, `*.txt` beside this file. README.md explains the form."""

from __future__ import annotations

import inspect
import re
import shlex
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from protocol import events as e
from tests.audit.trace import Trace, dual_leader, healthy

FOLDER = Path(__file__).parent
JUDGES = {"=": ("spark", "oracle"), "spark=": ("spark",), "oracle=": ("oracle",), "follow=": ("follow",)}
BEGINNINGS = {"run": Trace, "healthy": healthy, "dual-leader": dual_leader}
VERDICTS = ("held", "violated", "unknown", "skipped")


class Expectation(msgspec.Struct, frozen=True, kw_only=True):
    """A line behind "=": of `check` its verdict, count and evidence, or one `field`."""

    check: str
    verdict: str = ""
    count: int | None = None
    evidence: tuple[dict[str, str], ...] = ()
    field: str = ""
    value: str = ""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A history and what each judge says of it."""

    name: str
    statements: tuple[str, ...]
    expected: dict[str, list[Expectation]]

    def trace(self) -> Trace:
        return _trace(self.statements)


def cases() -> Iterator[Case]:
    """Those of all files."""
    for path in sorted(FOLDER.glob("*.txt")):
        yield from read_cases(path.read_text())


def read_cases(text: str) -> Iterator[Case]:
    """The cases of a file."""
    histories: dict[str, tuple[str, ...]] = {}
    for block in re.split(r"\n(?=\S)", f"\n{text}"):
        name, *lines = [line for line in block.strip().splitlines() if line.strip() and line.strip()[0] != "#"] or [""]
        expected: dict[str, list[Expectation]] = {judge: [] for judges in JUDGES.values() for judge in judges}
        history = ""
        for mark, _, rest in (line.strip().partition(" ") for line in lines):
            if mark in JUDGES:
                for judge in JUDGES[mark]:
                    expected[judge] += _expectations(rest)
            else:
                history += f" {mark} {rest}"
        statements = [one for word in history.split(";") for one in histories.get(word.strip(), (word.strip(),))]
        if name.startswith("let "):
            histories[name.removeprefix("let ")] = tuple(statements)
        elif name:
            assert any(expected.values()), f"{name}: nothing is expected"
            yield Case(name=name, statements=tuple(statements), expected=expected)


def _expectations(text: str) -> Iterator[Expectation]:
    words, _, found = text.partition(": ")
    order = words.split()
    place = next((at for at, word in enumerate(order) if word in VERDICTS), 0)
    if not place:
        check, _, field = order[0].partition(".")
        yield Expectation(check=check, field=field, value=text.partition(" ")[2])
        return
    count = int(order[place + 1]) if order[place + 1 :] else None
    evidence = tuple(dict(_pair(pair) for pair in shlex.split(one)) for one in found.split(" / ")) if found else ()
    for check in order[:place]:
        yield Expectation(check=check, verdict=order[place], count=count, evidence=evidence)


def _pair(word: str) -> tuple[str, str]:
    name, _, value = word.partition("=")
    return name, value


def surprises(expected: list[Expectation], checks: Mapping[str, Any]) -> list[str]:
    """Differences from the expectations. A violation of a check that has none is one, too."""
    named = {one.check for one in expected}
    found = [
        f"{name} is violated" for name, check in checks.items() if name not in named and check.verdict == "violated"
    ]
    for one in expected:
        check = checks[one.check]
        if one.field:
            text = as_text(getattr(check, one.field))
            if one.value not in text if one.field == "reason" else one.value != text:
                found.append(f"{one.check}.{one.field} is {text}")
            continue
        if check.verdict != one.verdict or one.count not in (None, check.count):
            found.append(f"{one.check} is {check.verdict} {check.count}")
        if len(one.evidence) > len(check.evidence) or not all(map(_is, one.evidence, check.evidence)):
            found.append(f"{one.check} has found {check.evidence}")
    return found


def _is(wanted: dict[str, str], found: Mapping[str, Any]) -> bool:
    """Whether `found` has these values, as far as it has the fields; of `text` a part."""
    known = {name: as_text(found[name]) for name in wanted if name in found}
    return all(wanted[name] in text if name == "text" else wanted[name] == text for name, text in known.items())


def as_text(value: object) -> str:
    """A value of a verdict, as cases write it."""
    if isinstance(value, Mapping):
        return " ".join(f"{name}:{one}" for name, one in value.items()) or "none"
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


# --- histories ---


def _trace(statements: tuple[str, ...]) -> Trace:
    trace: Trace | None = None
    named: dict[str, str] = {}
    for statement in statements:
        verb, *words = shlex.split(statement)
        operation = ""
        if words and verb.endswith(":"):
            operation, (verb, *words) = verb[:-1], words
        if verb in BEGINNINGS:
            trace = _called(BEGINNINGS[verb], words, named)
            continue
        trace = Trace() if trace is None else trace
        if verb == "each":
            verb, values, *words = words
            at, words = words[0], words[1:]
            for offset, value in enumerate(values, int(at.removeprefix("at="))):
                _called(getattr(trace, verb), [value, f"at={offset}", *words], named)
            continue
        if verb == "emit":
            node, event, *fields = words
            trace.emit(node, _called(e.EVENTS[event], fields, named))
            continue
        result = _called(getattr(trace, verb.replace("-", "_")), words, named)
        if operation:
            named[operation] = result
    assert trace is not None
    return trace


def _called(function: Any, words: list[str], named: Mapping[str, str]) -> Any:
    """`function` with words as its arguments: values in order, or NAME=VALUE."""
    types = _types(function)
    if "brokers" in types and len(words) > 1:  # as many as there are words
        return function(*map(int, words))
    positional: list[Any] = []
    given: dict[str, Any] = {}
    order = iter(types.items())
    for word in words:
        name, equals, value = word.partition("=")
        if equals and name in types:
            given[name] = _value(types[name], named.get(value, value))
        else:
            positional.append(_value(next(order)[1], named.get(word, word)))
    return function(*positional, **given)


def _types(function: Any) -> dict[str, Any]:
    if inspect.isclass(function) and issubclass(function, msgspec.Struct):
        return {field.name: field.type for field in msgspec.structs.fields(function)}
    hints = typing.get_type_hints(function.__init__ if inspect.isclass(function) else function)
    hints.pop("return", None)
    return hints


def _value(kind: Any, text: str) -> Any:
    if kind == tuple[int, ...]:
        return tuple(map(int, filter(None, text.split(","))))
    if kind is bool:
        return {"yes": True, "no": False}[text]
    for one in typing.get_args(kind) or (kind,):
        if one is not type(None):
            return one(text)
    raise AssertionError(f"{text}: of no type")
