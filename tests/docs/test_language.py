"""The lint of the language: each rule rejects an offence and accepts plain English.

The baseline only shrinks.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.language import __main__ as command
from docs.language import baseline
from docs.language.language_rules import Offence, of_commit_subject, of_file_names, of_markdown, of_python


def rules(found: list[Offence]) -> list[str]:
    return [one.rule for one in found]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('"""What a broker has."""\n', ["first-lines"]),
        ('"""State of a broker."""\n', []),
        (f'"""{"x" * 91}"""\n', ["first-lines"]),
        ('def f() -> None:\n    """Whoever reads it waits."""\n', ["first-lines", "persons"]),
        ('X = 1\n"""Where it is."""\n', ["first-lines"]),
        ('raise ValueError("nobody answered")\n', ["persons"]),
        ('X = "allow.everyone.if.no.acl.found"\n', []),
        ('raise ValueError("broker 1: no answer; start it")\n', []),
        ("told = 1\n", ["names"]),
        ("def asked_for(said: int) -> None: ...\n", ["names", "names"]),
        ("class WhatIsSaid: ...\n", ["names"]),
        ("reported = 1\n", []),
    ],
)
def test_a_rule_of_python_sources(source: str, expected: list[str]) -> None:
    assert sorted(rules(list(of_python(source)))) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("A leader removes a follower.\n", []),
        (" ".join(["word"] * 26) + ".\n", ["sentences"]),
        (" ".join(["word"] * 20) + ".\n" + " ".join(["word"] * 20) + ".\n", []),
        ("- " + " ".join(["word"] * 20) + "\n- " + " ".join(["word"] * 20) + "\n", []),
        ("```\n" + " ".join(["word"] * 30) + "\n```\n", []),
        ("| " + " ".join(["word"] * 30) + " |\n", []),
        ("Nobody is told.\n", ["persons"]),
        ("`nobody`", ["persons"]),
    ],
)
def test_a_rule_of_pages(source: str, expected: list[str]) -> None:
    assert rules(list(of_markdown(source))) == expected


def test_file_names_are_unique_but_for_a_few() -> None:
    found = list(of_file_names(["a/words.py", "b/words.py", "a/__init__.py", "b/__init__.py", "b/other.py"]))
    assert [(path, one.rule) for path, one in found] == [("a/words.py", "file-names"), ("b/words.py", "file-names")]


@pytest.mark.parametrize(
    ("subject", "offences"),
    [("broker: bound the varint", 0), ("Bound the varint", 1), ("broker: " + "x" * 70, 1), ("B" * 80, 2)],
)
def test_a_commit_subject(subject: str, offences: int) -> None:
    assert len(list(of_commit_subject(subject))) == offences


def test_the_baseline_allows_what_is_known_and_notices_what_is_gone(tmp_path: Path) -> None:
    found = [("a.py", Offence("names", line, "x")) for line in (1, 2)]
    baseline.write(tmp_path / "known.json", baseline.counts_of(found))
    known = baseline.read(tmp_path / "known.json")
    assert known == {"a.py": {"names": 2}}
    assert baseline.more_than_known(found, known) == [] == baseline.fewer_than_known(found, known)
    more = [*found, ("a.py", Offence("names", 3, "x")), ("b.py", Offence("persons", 1, "y"))]
    assert len(baseline.more_than_known(more, known)) == 4
    assert baseline.fewer_than_known(found[:1], known) == ["a.py: names: 2 known, 1 found"]


def test_offences_below_given_paths_are_listed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    offence = Offence("first-lines", 3, "docstring begins with 'What'")
    monkeypatch.setattr(command, "offences", lambda root: [("a/b.py", offence), ("ab/c.py", offence)])
    assert command.main(["a"]) == 0
    assert capsys.readouterr().out == "a/b.py:3: first-lines: docstring begins with 'What'\n"
    assert command.main(["--unknown"]) == 2
