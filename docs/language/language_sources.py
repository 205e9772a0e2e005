"""Texts of the repository that the language rules apply to."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

from docs.generate.readme import README
from docs.language.language_rules import Offence, of_commit_subject, of_file_names, of_markdown, of_python

SINCE: str = "e018798"
"""Subjects of older commits follow no rule."""
OF_DATA = frozenset(
    ("docs/catalogue.md", "docs/events.md", "docs/protocol.md", "docs/settings.md", "docs/settings-for-promises.md")
)
"""Generated pages whose sentences are mostly lists of names and values."""
OWN_WORDS = frozenset(("docs/language/language_rules.py", "tests/docs/test_language.py"))
"""Sources that have to name the words that are not allowed."""
TIMEOUT_S = 60.0


def offences(root: Path) -> Iterator[tuple[str, Offence]]:
    """(path, offence) of all tracked Python files and of the pages in docs/."""
    paths = _git(root, "ls-files", "--cached", "--others", "--exclude-standard", "*.py", "*.md")
    modules = [path for path in paths if path.endswith(".py") and path not in OWN_WORDS]
    for path in modules:
        yield from ((path, one) for one in of_python((root / path).read_text(encoding="utf-8")))
    yield from of_file_names(path for path in modules if not path.startswith("tests/"))
    for path in paths:
        prose = path == README or (path.startswith("docs/") and path not in OF_DATA)
        if path.endswith(".md") and prose:
            yield from ((path, one) for one in of_markdown((root / path).read_text(encoding="utf-8")))


def commit_offences(root: Path) -> list[str]:
    """A line for each new commit whose subject breaks a rule; none without the history."""
    if not _git(root, "rev-parse", "--verify", "--quiet", f"{SINCE}^{{commit}}", may_fail=True):
        return []
    lines = _git(root, "log", "--no-merges", "--format=%h %s", f"{SINCE}..HEAD")
    return [
        f"commit {short}: {one.text}"
        for short, _, subject in (line.partition(" ") for line in lines)
        for one in of_commit_subject(subject)
    ]


def _git(root: Path, *words: str, may_fail: bool = False) -> list[str]:
    done = subprocess.run(
        ["git", *words], cwd=root, capture_output=True, encoding="utf-8", timeout=TIMEOUT_S, check=not may_fail
    )
    return done.stdout.splitlines() if done.returncode == 0 else []
