"""Rules of plain technical English; each takes a text and returns its offences.

docs/developing.md lists the rules for people. A rule finds what a pattern can find; it does not judge style.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import Final, NamedTuple

FIRST_LINE_MAX: Final = 90
SENTENCE_WORDS_MAX: Final = 25
SUBJECT_MAX: Final = 72
QUESTION_WORDS: Final = (
    "What", "Who", "Whose", "Whom", "Whoever", "Where", "Wherever", "How", "Whatever", "Which", "When", "Why",
)  # fmt: skip
PERSONS: Final = re.compile(
    r"(?<!\.)\b(whoever|whomever|somebody|nobody|everybody|anybody|someone|anyone|everyone)\b(?!\.\w)", re.IGNORECASE
)
"""Words for persons, unless they are a part of a dotted name, as in Kafka's settings."""
PERSON_NAMES: Final = frozenset(
    ("whoever", "somebody", "nobody", "everybody", "told", "asked", "asks", "said", "heard")
)
"""Words of identifiers; a protocol's own names have none of them."""
MAY_REPEAT: Final = frozenset(("__init__.py", "__main__.py", "errors.py", "settings.py", "conftest.py"))
_QUESTION: Final = re.compile(rf"({'|'.join(QUESTION_WORDS)})\b")
_SUBJECT: Final = re.compile(r"[a-z][a-z0-9-]*: \S.*")


class Offence(NamedTuple):
    """`rule`: its name. `line`: in its file, from 1. `text`: what is wrong and what to write instead."""

    rule: str
    line: int
    text: str


def of_python(source: str) -> Iterator[Offence]:
    """Offences in docstrings, identifiers and other texts of a module. Raises SyntaxError."""
    tree = ast.parse(source)
    docstrings = {id(node): node for node in _docstrings(tree)}
    for docstring in docstrings.values():
        yield from _of_docstring(docstring)
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str() as text, lineno=line) if id(node) not in docstrings:
                for word in PERSONS.findall(text):
                    yield Offence("persons", line, f"text: {word!r} is a person; name the client, broker or caller")
        for name in _defined(node):
            for word in PERSON_NAMES.intersection(name.lower().strip("_").split("_")):
                line = getattr(node, "lineno", 1)
                yield Offence("names", line, f"identifier {name!r}: {word!r} is no noun of the field; name the concept")


def of_markdown(source: str) -> Iterator[Offence]:
    """Offences in the prose of a page: tables, code and headings are not prose."""
    for line, paragraph in _paragraphs(source):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", paragraph)
        for word in PERSONS.findall(plain):
            yield Offence("persons", line, f"{word!r} is a person; name the client, broker or caller")
        for sentence in re.split(r"(?<=[.!?])\s+", re.sub(r"`[^`]*`", "x", plain)):
            words = len(sentence.split())
            if words > SENTENCE_WORDS_MAX:
                start = " ".join(sentence.split()[:6])
                yield Offence("sentences", line, f"'{start} ...' has {words} words; at most {SENTENCE_WORDS_MAX}")


def of_file_names(paths: Iterable[str]) -> Iterator[tuple[str, Offence]]:
    """(path, offence) of modules whose name another module has."""
    paths = sorted(paths)
    names = Counter(PurePath(path).name for path in paths)
    for path in paths:
        name = PurePath(path).name
        if names[name] > 1 and name not in MAY_REPEAT:
            yield path, Offence("file-names", 1, f"{names[name]} files are called {name}; name this one's subject")


def of_commit_subject(subject: str) -> Iterator[Offence]:
    """Offences of the first line of a commit message."""
    if len(subject) > SUBJECT_MAX:
        yield Offence("commits", 1, f"{subject!r} has {len(subject)} characters; at most {SUBJECT_MAX}")
    if not _SUBJECT.fullmatch(subject):
        yield Offence("commits", 1, f"{subject!r}: expected `room: imperative summary`")


def _docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    """Docstrings, and the texts that document a field or a constant from below."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in node.body:
                match statement:
                    case ast.Expr(value=ast.Constant(value=str()) as text):
                        yield text


def _of_docstring(node: ast.Constant) -> Iterator[Offence]:
    text = str(node.value)
    first = text.strip().split("\n", 1)[0]
    if match := _QUESTION.match(first):
        yield Offence("first-lines", node.lineno, f"docstring begins with {match[1]!r}; a noun phrase or an imperative")
    if len(first) > FIRST_LINE_MAX:
        long = f"docstring's first line has {len(first)} characters; at most {FIRST_LINE_MAX}"
        yield Offence("first-lines", node.lineno, long)
    for word in PERSONS.findall(text):
        yield Offence("persons", node.lineno, f"docstring: {word!r} is a person; name the client, broker or caller")


def _defined(node: ast.AST) -> tuple[str, ...]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return (re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name),)
        case ast.arg(arg=name):
            return (name,)
        case ast.Name(id=name, ctx=ast.Store()):
            return (name,)
        case _:
            return ()


def _paragraphs(source: str) -> Iterator[tuple[int, str]]:
    """(line, text) of each paragraph and list entry."""
    lines: list[str] = []
    begun, fenced = 0, False
    for number, line in enumerate((*source.split("\n"), ""), start=1):
        stripped = line.strip()
        if stripped.startswith("```"):
            fenced = not fenced
        starts = re.match(r"([-*]|\d+\.) ", stripped) is not None
        prose = bool(stripped) and not fenced and not stripped.startswith(("#", "|", "```", "<", "!["))
        if lines and (starts or not prose):
            yield begun, " ".join(lines)
            lines = []
        if prose:
            begun = begun if lines else number
            lines.append(stripped)
